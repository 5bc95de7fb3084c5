"""The board: a race as the page is sent it, one snapshot and then updates."""
