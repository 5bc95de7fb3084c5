"""`photo-finish check`: whether races run correctly on this machine, and how fast."""
