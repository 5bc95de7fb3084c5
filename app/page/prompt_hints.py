"""The words that the embedded model was trained on: a guide to them, and a hint for prompts with
others."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WEIGHTS = Path(__file__).parents[2] / "weights"
FILLERS = frozenset(["a", "an", "and", "at", "in", "of", "on", "the", "with", "to", "is"])
EXAMPLES = (
    "red apple on sky clouds",
    "octopus on blue water",
    "rocket on night stars",
    "cactus on yellow sand",
)


@functools.cache
def vocabulary(model: str) -> dict[str, Any]:
    """The model's lists of names, by kind; nothing where they are not known."""
    if model != "embedded":
        return {}
    return json.loads((WEIGHTS / "world.json").read_text("utf-8"))


def known_words(vocabulary: Mapping[str, Any]) -> frozenset[str]:
    lists = [names for names in vocabulary.values() if isinstance(names, list)]
    return frozenset(word for names in lists for name in names for word in _words(str(name)))


def hint(prompt: str, known: frozenset[str]) -> str:
    """A note on the words of a prompt that the model does not know, or nothing."""
    words = [word for word in _words(prompt) if word not in FILLERS]
    unknown = [word for word in words if word not in known]
    if not known or (words and not unknown):
        return ""
    if len(unknown) == len(words):
        return (
            "The model knows no word of this prompt and draws what it likes. It knows scenes like"
            f" “{EXAMPLES[0]}”."
        )
    quoted = ", ".join(f"“{word[:40]}”" for word in unknown[:5])
    return f"The model has never seen {quoted}; it draws what it understands."


def guide(vocabulary: Mapping[str, Any]) -> str:
    """The vocabulary as Markdown, or nothing."""
    lists = [
        f"**{kind.capitalize()}:** {', '.join(names)}"
        for kind, names in vocabulary.items()
        if isinstance(names, list)
    ]
    advice = f"Ask for one of its glyphs, on a ground, at a place: *{EXAMPLES[0]} at the top left*."
    return "\n\n".join([advice, *lists]) if lists else ""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
