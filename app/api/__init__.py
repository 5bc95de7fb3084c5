"""The calls for programs, and the server that answers them and the page."""
