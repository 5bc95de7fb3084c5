"""Judging a decoder: its exact distribution over whole pictures of small models.

If the distribution differs from vanilla AR's, the smallest case that shows this is given.
"""
