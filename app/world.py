"""The embedded model's world: the words it was trained on, for examples and for an honest hint."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

WORLD = Path(__file__).parent.parent / "weights" / "world.json"
FILLERS = frozenset(["a", "an", "and", "at", "in", "of", "on", "the", "with", "to", "is"])
EXAMPLES = ("red apple on sky clouds", "octopus on blue gradient", "rocket on yellow stripes", "cactus on grass")


@cache
def words() -> frozenset[str]:
    """Every word of every caption that the model may have seen; empty where that is not known."""
    if not WORLD.exists():
        return frozenset()
    lists = [entries for entries in json.loads(WORLD.read_text()).values() if isinstance(entries, list)]
    return frozenset(word for entries in lists for entry in entries for word in _split(str(entry)))


def hint(prompt: str) -> str:
    """What the visitor should know about a prompt that is not, or only in part, of the model's world; else nothing."""
    asked = [word for word in _split(prompt) if word not in FILLERS]
    strange = [word for word in asked if word not in words()]
    if not words() or (asked and not strange):
        return ""
    if len(strange) == len(asked):
        return f"The model knows no word of this prompt and draws what it likes. It knows scenes like “{EXAMPLES[0]}”."
    named = ", ".join(f"“{word[:40]}”" for word in strange[:5])
    return f"The model has never seen {named}; it draws what it understands."


def _split(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
