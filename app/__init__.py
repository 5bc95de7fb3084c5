"""The page and its settings. A folder imports only those named before it: `workers`, `models`,
`races`, `api`, `page`."""

import os

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
