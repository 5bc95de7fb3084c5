"""Judges decoders by their exact distributions over whole pictures of small models.

If a distribution differs from vanilla AR's, the verdict gives the smallest case that differs.
"""
