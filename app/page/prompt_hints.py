"""The words that the embedded model was trained on: their lists, prompts of them, and a hint for
prompts with others."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

WEIGHTS = Path(__file__).parents[2] / "weights"
FILLERS = frozenset(["a", "an", "and", "at", "in", "of", "on", "the", "with", "to", "is"])
SCENE = ("glyphs", "grounds", "places")  # what a prompt is made of
PLACED = 0.3  # of the surprises have a place
EXAMPLES = (
    "red apple on sky clouds",
    "panda on green grass",
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
    names = (name for names in lists(vocabulary).values() for name in names)
    return frozenset(word for name in names for word in _words(str(name)))


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


def lists(vocabulary: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names that a prompt can have, by kind."""
    return {kind: names for kind, names in vocabulary.items() if isinstance(names, list)}


def surprise(vocabulary: Mapping[str, Any], random: Random) -> str:
    """A prompt of names that the model knows: a glyph on a ground, at times at a place. Needs a
    vocabulary with all three."""
    glyph, ground, place = (random.choice(vocabulary[kind]) for kind in SCENE)
    return f"{glyph} on {ground}" + (f" at the {place}" if random.random() < PLACED else "")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
