"""The board: a race as the page receives it, one snapshot and then updates."""
