"""The models' knowledge of prompts: lists of names, prompts made of these names, and hints.

A hint says what a model draws if that differs from the prompt.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from random import Random
from typing import Any

from engine.models.supply.card import WEIGHTS, ModelCard, Prompts
from engine.race import MAX_PROMPT
from engine.reader.classes import ClassReading, class_names, read_class
from engine.reader.reader import Reading, describe, reader_of
from engine.reader.scene import COLOURS, Layout, Scene
from engine.settings import SettingError

KINDS = ("glyphs", "grounds", "places")  # the lists of names in world.json
LISTED = "listed under Lanes and options"
PLACED = 0.5  # share of the surprises with one thing that have a place
COLOURED = 0.3  # share of the things that can take a colour that have one
SIZED = 0.3  # share of the surprises with one thing that have a size
EQUAL = 0.2  # share of the surprises with several things that repeat one
EXAMPLES = (
    "red dragon and blue rabbit on white snow",  # what the page opens with
    "astronaut above rocket on night stars",
    "two penguins and a fish on snow",
    "tiny purple cat on yellow",
)
CLASSES = ("golden retriever", "macaw", "geyser", "lighthouse")


def examples(card: ModelCard | None) -> tuple[str, ...]:
    """Return prompts to try with a model; without a card, prompts for models that draw any text."""
    return CLASSES if card and card.prompts is Prompts.CLASSES else EXAMPLES


@functools.cache
def vocabulary(prompts: Prompts) -> dict[str, Any]:
    """Return the names for prompts that describe scenes, as lists by kind; {} for other prompts."""
    if prompts is not Prompts.SCENES:
        return {}
    return json.loads((WEIGHTS / "world.json").read_text("utf-8"))


def hint(prompt: str, prompts: Prompts) -> str:
    """Return a note on what the model draws if that differs from the prompt, else ""."""
    if prompts is Prompts.ANY:
        return ""
    if prompts is Prompts.CLASSES:
        try:
            read: Reading | ClassReading = read_class(prompt)
        except SettingError as error:
            return str(error)
    else:
        read = reader_of(WEIGHTS).read(prompt)
        if not read.named:
            return (
                "The prompt names nothing for this model to draw, so it draws"
                f" “{describe(read.scene)}”. The words it knows are {LISTED}."
            )
    return f"This model {read}." if str(read) else ""


def typed_hint(prompt: Any, card: ModelCard | None) -> str:
    """Return the hint for a prompt that is still being typed.

    Returns "" without a card, and for a prompt that is empty or too long to race.
    """
    if not isinstance(prompt, str) or not prompt.strip() or len(prompt) > MAX_PROMPT:
        return ""
    return hint(prompt, card.prompts) if card else ""


def word_groups(vocabulary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the names that a prompt can use, as one {title, kind, words} for each heading.

    A heading is a group of things, or another kind of word. Each of `words` is a list of three
    texts: the name, its emoji ("" if it has none), and the name in all languages with "|"
    between them. The page searches in the third text.
    """
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


def class_groups() -> list[dict[str, Any]]:
    """Return ImageNet's classes, in the same form as `word_groups`."""
    words = [[each.name, each.emoji, "|".join(each.called)] for each in class_names()]
    return [{"title": "classes of ImageNet", "kind": "classes", "words": words}]


def surprise(prompts: Prompts, random: Random) -> str:
    """Return a random prompt, made of names that a model for this kind of `prompts` knows."""
    if prompts is Prompts.CLASSES:
        return random.choice(class_names()).name
    return _scene(vocabulary(Prompts.SCENES), random)


def _scene(vocabulary: Mapping[str, Any], random: Random) -> str:
    """Return a random prompt: things on a ground, sometimes with a colour, count, place or size."""
    layout = random.choice(list(Layout))
    count = len(layout.squares)
    things = random.choices(vocabulary["glyphs"], k=1 if random.random() < EQUAL else count)
    takes = {*vocabulary.get("coloured", ())}
    colours = [
        random.choice(COLOURS) if thing in takes and random.random() < COLOURED else ""
        for thing in things
    ]
    times = count // len(things)
    placed, sized = (layout is Layout.ONE and random.random() < p for p in (PLACED, SIZED))
    place = random.choice(vocabulary["places"]) if placed else "centre"
    size = random.choice(vocabulary.get("sizes", [""])) if sized else ""
    ground = random.choice(vocabulary["grounds"])
    return describe(Scene(layout, (*things * times,), ground, place, (*colours * times,), size))
