"""Turns records into pixels and figures. Knows the engine's records, never gradio."""
