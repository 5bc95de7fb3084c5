"""The models that can race here, and their weights in memory."""
