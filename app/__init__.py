"""The page and its settings.

The folders, in order, are `workers`, `models`, `races`, `api` and `page`. Each imports only from
the folders before it in this list.
"""

import os
import tempfile

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
# How many calls gradio lets pass before it sums up the last 10,000 for its monitoring page, which
# is off here. The sums take 6 to 22 ms.
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(2**63))
# The proxies whose X-Forwarded-For header the server believes: the visitor's address is the last
# one in it that is not a proxy's. A Space's proxies have private addresses, and append to a header
# that a visitor may have forged.
if "SPACE_ID" in os.environ:
    private = "127.0.0.1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,fc00::/7"
    os.environ.setdefault("FORWARDED_ALLOW_IPS", private)

# gradio reads the port when imported, and ends in a traceback if it is not a number
_port = os.environ.get("GRADIO_SERVER_PORT", "7860")
if not (_port.isdecimal() and int(_port) < 2**16):
    raise SystemExit(
        f"Photo Finish cannot start: GRADIO_SERVER_PORT={_port!r:.40} is no port, a number from 0"
        " to 65535."
    )

# gradio also ends in a traceback if there is no temporary folder.
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
