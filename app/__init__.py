"""The page: what is on it (`page`), what serves it (`serving`), and its settings."""
