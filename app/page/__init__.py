"""What is on the page."""
