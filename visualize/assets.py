"""The board's files: one markup, one style sheet, one script, for the page and for the file that
needs no server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

STATIC = Path(__file__).parent.parent / "static"
# In this order: a file may call at once only what stands in those before it.
SCRIPTS = (
    "records.js",
    "layers.js",
    "draw.js",
    "panels.js",
    "why.js",
    "token.js",
    "chapters.js",
    "talk.js",
    "controls.js",
    "board.js",
)
STYLES = ("board.css", "token.css", "talk.css")


def markup() -> str:
    return (STATIC / "board.html").read_text("utf-8")


def styles() -> str:
    """The rules of the element `#board` and what is in it."""
    return f"#board {{\n{_pasted(STYLES)}\n}}\n"


def script() -> str:
    """The script up to `mountBoard`; whoever uses it calls that."""
    return _pasted(SCRIPTS)


def _pasted(names: Sequence[str]) -> str:
    return "\n".join((STATIC / name).read_text("utf-8") for name in names)
