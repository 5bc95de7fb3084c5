"""Races: asked for, in the queue, running, watched and kept."""
