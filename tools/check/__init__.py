"""`photo-finish check`: whether races run on this machine as they should, and how fast."""
