"""The page: what is on it (`page`), what serves it (`serving`), and its settings."""

import os

# gradio reads it when it is imported, and ends in a traceback where it is no number
_port = os.environ.get("GRADIO_SERVER_PORT", "7860")
if not (_port.isdecimal() and int(_port) < 2**16):
    raise SystemExit(
        f"Photo Finish cannot start: GRADIO_SERVER_PORT={_port!r:.40} is no port, a number from 0"
        " to 65535."
    )
