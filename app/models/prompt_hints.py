"""The names that the embedded model was trained on: their lists, prompts of them, and a hint for
prompts of which it draws something else."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from random import Random
from typing import Any

from engine.models.supply.card import WEIGHTS
from engine.race import MAX_PROMPT
from engine.reader.reader import describe, reader_of
from engine.reader.scene import Layout, Scene

KINDS = ("glyphs", "grounds", "places")  # the lists of names in world.json
LISTED = "What it knows is listed under Lanes and options."
PLACED = 0.5  # of the surprises of one thing have a place
EQUAL = 0.2  # of those of several have one thing several times
EXAMPLES = (
    "cat and dog on green grass",
    "astronaut above rocket on night stars",
    "two penguins and a fish on snow",
    "red apple on sky clouds",
)


@functools.cache
def vocabulary(model: str) -> dict[str, Any]:
    """The model's lists of names, by kind; nothing where they are not known."""
    if model != "embedded":
        return {}
    return json.loads((WEIGHTS / "world.json").read_text("utf-8"))


def hint(prompt: str, model: str) -> str:
    """A note on what the model draws where that is not what the prompt says, or nothing."""
    if not vocabulary(model):
        return ""
    reading = reader_of(WEIGHTS).read(prompt)
    if not reading.named:
        return (
            "The prompt names nothing that this model can draw, so it draws"
            f" “{describe(reading.scene)}”. {LISTED}"
        )
    return f"This model {reading}." if str(reading) else ""


def typed_hint(form: Mapping[str, Any]) -> str:
    """The hint of a form's fields, while somebody types; nothing while they cannot race."""
    prompt, model = form["prompt"], form["model"]
    if not isinstance(prompt, str) or not prompt.strip() or len(prompt) > MAX_PROMPT:
        return ""
    return hint(prompt, model) if isinstance(model, str) else ""


def word_groups(vocabulary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The names that a prompt can have, under headings: with each its emoji, if it is a thing's,
    and all that it is called in any language, in one text to search."""
    names = reader_of(WEIGHTS).names
    emoji, called = {name: text for text, (_, name) in names.emoji.items()}, names.called()
    headings = {
        **{title: ("glyphs", things) for title, things in vocabulary["groups"].items()},
        **{kind: (kind, vocabulary[kind]) for kind in KINDS[1:]},
    }
    return [
        {
            "title": title,
            "kind": kind,
            "words": [[name, emoji.get(name, ""), "|".join(called[name])] for name in listed],
        }
        for title, (kind, listed) in headings.items()
    ]


def surprise(vocabulary: Mapping[str, Any], random: Random) -> str:
    """A prompt of names that the model knows: things of any layout on a ground, at times the same
    one several times, or one at a place. Needs a vocabulary with all three."""
    layout = random.choice(list(Layout))
    count = len(layout.squares)
    things = random.choices(vocabulary["glyphs"], k=1 if random.random() < EQUAL else count)
    things *= count // len(things)
    placed = layout is Layout.ONE and random.random() < PLACED
    place = random.choice(vocabulary["places"]) if placed else "centre"
    ground = random.choice(vocabulary["grounds"])
    return describe(Scene(layout, tuple(things), ground, place))
