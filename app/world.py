"""The model's world: the words it was trained on, for an honest hint about a prompt beyond them."""

from __future__ import annotations

import re
from typing import Any

FILLERS = frozenset(["a", "an", "and", "at", "in", "of", "on", "the", "with", "to", "is"])
EXAMPLES = (
    "red apple on sky clouds",
    "octopus on blue water",
    "rocket on night stars",
    "cactus on yellow sand",
)


def words(world: dict[str, Any]) -> frozenset[str]:
    """Every word of every list of names in a model's world."""
    lists = [names for names in world.values() if isinstance(names, list)]
    return frozenset(word for names in lists for name in names for word in _split(str(name)))


def hint(prompt: str, known: frozenset[str]) -> str:
    """What the visitor should know about a prompt that is not, or only in part, of the world;
    nothing else."""
    asked = [word for word in _split(prompt) if word not in FILLERS]
    strange = [word for word in asked if word not in known]
    if not known or (asked and not strange):
        return ""
    if len(strange) == len(asked):
        return (
            "The model knows no word of this prompt and draws what it likes. It knows scenes like"
            f" “{EXAMPLES[0]}”."
        )
    named = ", ".join(f"“{word[:40]}”" for word in strange[:5])
    return f"The model has never seen {named}; it draws what it understands."


def guide(world: dict[str, Any]) -> str:
    """What can be asked for, as Markdown; nothing where the model does not say."""
    lists = [
        f"**{kind.capitalize()}:** {', '.join(names)}"
        for kind, names in world.items()
        if isinstance(names, list)
    ]
    advice = f"Ask for one of its glyphs, on a ground, at a place: *{EXAMPLES[0]} at the top left*."
    return "\n\n".join([advice, *lists]) if lists else ""


def _split(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
