"""Judging a decoder: what it does to the distribution of whole pictures, computed exactly on small
models, and the smallest case that shows it."""
