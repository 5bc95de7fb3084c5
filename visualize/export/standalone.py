"""Standalone: one HTML file that plays a recorded race with the board's own script, offline."""

from __future__ import annotations

import base64
import hashlib
import html
import json

from visualize.assets import markup, script, styles
from visualize.board.board import replay
from visualize.pictures.recorded_race import RecordedRace

# Styles that the board gets from the page, if it is part of the page.
_STYLES = """
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; padding: 28px; background: #ffffff; color-scheme: light;
  font-family: ui-sans-serif, system-ui, "Helvetica Neue", Arial, sans-serif; line-height: 1.5; }
body.dark { background: #0f1114; color-scheme: dark; }
#board { max-width: 1480px; margin: 0 auto; }
@media (max-width: 640px) { body { padding: 14px; } }
.embed body { padding: 8px; }
.embed #board { max-width: none; }
"""


def standalone(recording: RecordedRace) -> str:
    """Return the text of an HTML file that plays `recording`.

    The file has the race as data, never as markup: a visitor's text reaches the page through JSON
    and textContent. The file's security policy allows only the file's one script, and only images
    that are in the file or that the script makes.
    """
    code = f"(() => {{\n{script('standalone.js')}}})();\n"
    if "</script" in code.lower() or "<!--" in code:
        raise ValueError("the script would end early")
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'"
    )
    # In JSON, < occurs only in strings, where it can be escaped. So no string can end the element.
    race = json.dumps(replay(recording).wire()).replace("<", "\\u003c")
    # Half of a surrogate pair cannot be encoded, so a question mark replaces it.
    prompt = recording.trace.header.prompt.encode("utf-8", "replace").decode()
    title = html.escape(f"{prompt} · Photo Finish")
    return f"""<!doctype html>
<html lang="en" class="inside">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLES}{styles()}</style>
</head>
<body>
<main id="board">{markup()}</main>
<script type="application/json" id="race">{race}</script>
<script>{code}</script>
</body>
</html>
"""
