"""What serves the page."""
