"""Draws pictures and figures from the engine's records. It does not use gradio."""
