"""The page: layout, event handlers, settings from the environment."""
