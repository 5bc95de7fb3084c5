"""The page and its settings.

A folder imports only those named before it: `workers`, `models`, `races`, `api`, `page`.
"""

import os
import tempfile

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
# The proxies whose X-Forwarded-For the server believes: the last address in it that is none of
# theirs is the visitor's. A Space's have private addresses, and append to what a visitor may have
# forged.
if "SPACE_ID" in os.environ:
    private = "127.0.0.1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,fc00::/7"
    os.environ.setdefault("FORWARDED_ALLOW_IPS", private)

# gradio reads it when it is imported, and ends in a traceback where it is no number
_port = os.environ.get("GRADIO_SERVER_PORT", "7860")
if not (_port.isdecimal() and int(_port) < 2**16):
    raise SystemExit(
        f"Photo Finish cannot start: GRADIO_SERVER_PORT={_port!r:.40} is no port, a number from 0"
        " to 65535."
    )

# So is the temporary folder, without which it ends in a traceback, too.
try:
    tempfile.gettempdir()
except FileNotFoundError:
    raise SystemExit(
        "Photo Finish cannot start: it can write into no temporary folder, where it keeps what"
        " visitors upload. Name a folder that it may write into: TMPDIR=/folder."
    ) from None
if _folder := os.environ.get("GRADIO_TEMP_DIR"):
    try:
        os.makedirs(_folder, exist_ok=True)
        _writes = os.access(_folder, os.W_OK | os.X_OK)
    except OSError:
        _writes = False
    if not _writes:
        raise SystemExit(
            f"Photo Finish cannot start: it cannot write into GRADIO_TEMP_DIR={_folder!r:.80},"
            " where it keeps what visitors upload. Name another folder, or none."
        )
