"""The contents of the page."""
