"""Judging a decoder: its exact distribution over whole pictures of small models.

If it differs from vanilla AR's, the smallest case shows it.
"""
