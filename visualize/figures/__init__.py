"""Figures of a race: what its step tables say, in plotly charts and sentences."""
