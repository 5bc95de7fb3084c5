"""Reads a prompt as a scene of the embedded model, and says how and what is left out."""

from __future__ import annotations

import functools
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine.reader.denials import deny
from engine.reader.names import Kind, fold, once, phrase
from engine.reader.prompt import Word, read_words
from engine.reader.scene import Layout, Scene
from engine.reader.scene_names import SceneNames
from engine.reader.words import KINDS, PAIRS, PEOPLE, SCENERY, WEARING, WORN

MOST = 4  # things in a scene
REACH = 12  # words between those that belong together
CONTRAST = 0.25  # in Oklab, of a ground that the things stand out from
CHOICES = 6  # at least so many grounds to choose from
COLOUR_THINGS = {"orange": "tangerine", "rosa": "rose"}  # things, unless before one or behind "on"

_LAYOUTS = {2: Layout.PAIR, 3: Layout.THREE, 4: Layout.FOUR}
_RELATIONS = (Kind.ABOVE, Kind.BELOW, Kind.RIGHT)
_JOINS = (*_RELATIONS, Kind.LINK)
_NAMED = (Kind.THING, Kind.GROUND, Kind.PLACE)
_ENDS = (Kind.PLACE, Kind.GROUND, Kind.DENIAL)  # of a colour behind "on"
_LEFT = (Kind.UNKNOWN, Kind.COLOUR)


@dataclass(frozen=True, slots=True)
class Reading:
    """A prompt as a scene. `left_out`: what it says that is not drawn, in its order; `named`: it
    names a thing, ground or place that the model knows; `sure`: every name is spelt as it is
    known, and neither a thing nor the ground was made up."""

    scene: Scene
    left_out: tuple[str, ...] = ()
    named: bool = True
    sure: bool = True

    def __str__(self) -> str:
        """For people: how the prompt is read, or nothing where it is drawn as typed."""
        missing = f"; not drawn: {', '.join(self.left_out)}" if self.left_out else ""
        if not self.named:
            return f"names nothing for this model to draw; draws: {describe(self.scene)}"
        return "" if self.sure and not missing else f"reads: {describe(self.scene)}{missing}"


@dataclass(slots=True)
class Group:
    """A thing with its count; `at` is its word's index in the prompt."""

    at: int
    name: str
    count: int = 1


def describe(scene: Scene) -> str:
    """A scene in words: "cat above bicycle on green grass"."""
    if scene.layout is Layout.STACK:
        things = " above ".join(scene.things)
    else:
        counts: list[tuple[str, int]] = []
        for thing in scene.things:
            if counts and counts[-1][0] == thing:
                counts[-1] = (thing, counts[-1][1] + 1)
            else:
                counts.append((thing, 1))
        parts = [f"{count} × {name}" if count > 1 else name for name, count in counts]
        things = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    where = "" if scene.place == "centre" else f" at the {scene.place}"
    return f"{things} on {scene.ground}{where}"


class SceneReader:
    """Reads prompts as scenes of the names in `world`: world.json, or lists by its keys and
    "colours", the mean colour of each thing and ground."""

    def __init__(self, world: Mapping[str, Any]) -> None:
        """Raises KeyError where a list is missing."""
        self.names = SceneNames(world)
        self._things: Sequence[str] = world["glyphs"]
        self._grounds: Sequence[str] = world["grounds"]
        self._lab = {
            name: oklab(world["colours"][name]) for name in (*self._things, *self._grounds)
        }

    def read(self, prompt: str) -> Reading:
        """The first things, MOST at most; of several grounds the first. What the
        prompt does not name is chosen by its checksum: the ground among those that the things
        stand out from."""
        words = read_words(self.names, prompt)
        _find_colours(words)
        denied = {word.name for word in deny(self.names, words)}
        _find_activities(words)
        _find_kinds(words)
        groups = _count(words)
        left: dict[float, str] = {
            i: word.text for i, word in enumerate(words) if word.kind in _LEFT
        }
        grounds = [i for i, word in enumerate(words) if word.kind is Kind.GROUND]
        places = [i for i, word in enumerate(words) if word.kind is Kind.PLACE]
        number = zlib.crc32(phrase(prompt).encode("utf-8", "replace"))
        named = any(word.kind in _NAMED for word in words)
        sure = all(word.sure for word in words if word.kind in _NAMED)
        ground = words[grounds[0]].name if grounds else ""
        if not groups:
            things = [thing for thing in self._things if thing not in denied] or self._things
            thing = SCENERY.get(ground, "")
            if thing not in things:
                thing, sure = things[number % len(things)], False
            groups = [Group(-1, thing)]
        relation, at = Kind.LINK, 0
        if len(groups) > 1:
            relation, at = _relation(words, groups)
            if (sides := _sides(words, places, groups)) is not None:
                relation, places = sides, []
        left |= _trim(groups, words)
        layout, things = _arrange(groups, relation, at)
        place = words[places.pop(0)].name if places and layout is Layout.ONE else "centre"
        left |= {i: words[i].text for i in (*grounds[1:], *places)}
        if not ground:
            allowed = [each for each in self._grounds if each not in denied] or self._grounds
            ground, sure = self._contrasting(things, allowed, number), False
        left_out = once(left[i] for i in sorted(left))
        return Reading(Scene(layout, things, ground, place), left_out, named, sure)

    def _contrasting(self, things: Sequence[str], grounds: Sequence[str], number: int) -> str:
        """Of the grounds one whose mean colour is far from that of every thing."""
        far = {
            ground: min(math.dist(self._lab[ground], self._lab[thing]) for thing in things)
            for ground in grounds
        }
        order = sorted(grounds, key=lambda ground: -far[ground])
        enough = sum(distance >= CONTRAST for distance in far.values())
        return order[number % max(enough, min(CHOICES, len(order)))]


@functools.cache
def reader_of(weights: Path) -> SceneReader:
    """The reader of a folder of weights, built once: it takes a second."""
    return SceneReader(json.loads((weights / "world.json").read_text("utf-8")))


def _find_colours(words: list[Word]) -> None:
    """A colour is a ground behind "on" where nothing follows that it could be the colour of, and
    before "background"; "orange" is a thing where it stands alone."""
    for i, word in enumerate(words):
        behind = words[i + 1] if i + 1 < len(words) and not words[i + 1].gap else None
        before = _back(words, i)
        if word.kind is Kind.BACKDROP:
            found = before >= 0 and words[before].kind is Kind.GROUND
            words[i] = replace(word, kind=Kind.GLUE if found else Kind.UNKNOWN)
        if word.kind is not Kind.COLOUR:
            continue
        thing = COLOUR_THINGS.get(fold(word.text).removesuffix("s"))
        on = before >= 0 and words[before].kind is Kind.ABOVE
        if (behind and behind.kind is Kind.BACKDROP) or (
            on and (behind is None or behind.kind in (*_JOINS, *_ENDS))
        ):
            words[i] = replace(word, kind=Kind.GROUND)
        elif thing and not (
            (behind and behind.kind is Kind.THING)
            or (i and words[i - 1].kind is Kind.THING and not word.gap)
        ):
            words[i] = replace(word, kind=Kind.THING, value=thing)


def _find_activities(words: list[Word]) -> None:
    """What a person does is the thing that shows one doing it: "a woman surfing"."""
    alone = not any(word.kind is Kind.THING for word in words)
    for i, word in enumerate(words):
        before = _back(words, i)
        person = before >= 0 and words[before].kind is Kind.THING and words[before].name in PEOPLE
        if word.kind is Kind.THING and word.name == "bicycle" and before > 0:
            rider = _back(words, before)
            if (
                words[before].kind is Kind.ABOVE
                and rider >= 0
                and words[rider].kind is Kind.THING
                and words[rider].name in PEOPLE
            ):
                words[rider] = replace(words[rider], value="person biking")
                words[i] = replace(word, kind=Kind.GLUE)
        if word.kind is not Kind.ACTIVITY:
            continue
        if person:
            words[before] = replace(words[before], value=word.value)
            words[i] = replace(word, kind=Kind.GLUE)
        elif i + 1 < len(words) and words[i + 1].name in PEOPLE:
            words[i + 1] = replace(words[i + 1], value=word.value)
            words[i] = replace(word, kind=Kind.GLUE)
        else:
            words[i] = replace(word, kind=Kind.THING if alone else Kind.UNKNOWN)


def _find_kinds(words: list[Word]) -> None:
    """Leaves out nouns that say what kind of thing the next one is."""
    for i, (word, behind) in enumerate(pairwise(words)):
        of = behind.text == "of" and i + 2 < len(words)
        behind = words[i + 2] if of else behind
        if not word.kind is behind.kind is Kind.THING or behind.gap or word.text == behind.text:
            continue
        if word.value == behind.value:  # "city skyline", "bowl of ramen"
            words[i] = replace(word, kind=Kind.GLUE)
        elif not of and fold(word.text) in KINDS and not {word.name, behind.name} <= PEOPLE:
            words[i] = replace(word, kind=Kind.UNKNOWN)


def _back(words: list[Word], at: int) -> int:
    """The index of the word before `at` that says something, or -1."""
    at -= 1
    first = max(0, at - REACH)
    while at >= first and words[at].kind is Kind.GLUE:
        at -= 1
    return at if at >= first else -1


def _count(words: list[Word]) -> list[Group]:
    """The things with their counts, which stand before them or, in digits and in Japanese, behind
    them; a count of nothing is left out."""
    groups = {i: Group(i, word.name) for i, word in enumerate(words) if word.kind is Kind.THING}
    for i, word in enumerate(words):
        if word.kind is not Kind.COUNT:
            continue
        at, end = i + 1, min(len(words), i + REACH)
        while at < end and words[at].kind in (Kind.GLUE, *_LEFT) and not words[at].gap:
            at += 1
        if at not in groups or words[at].gap:
            at = _back(words, i)
            if word.text.isascii() and not word.text.isdecimal():
                at = -1
        if at in groups:
            pair = word.text.lower().startswith("pair") and groups[at].name in PAIRS
            groups[at].count = 1 if pair else max(1, int(word.value))
            words[i] = replace(word, kind=Kind.GLUE)
        else:
            words[i] = replace(word, kind=Kind.GLUE if word.value == 1 else Kind.UNKNOWN)
    return list(groups.values())


def _relation(words: list[Word], groups: list[Group]) -> tuple[Kind, int]:
    """How things are placed that are not side by side, and the index of the last group before the
    word that says so."""
    for i, (group, behind) in enumerate(pairwise(groups)):
        for at in range(group.at + 1, behind.at):
            word = words[at]
            if fold(word.text) in WEARING and behind.name in WORN:
                return Kind.BELOW, i
            if word.kind in _RELATIONS and _reaches(words, at, behind.at):
                return word.kind, i
    last = groups[-1].at + 1  # Chinese: "A, B above"
    if last < len(words) and words[last].kind in _RELATIONS and not words[last].text.isascii():
        return words[last].kind, len(groups) - 2
    return Kind.LINK, 0


def _reaches(words: list[Word], at: int, thing: int) -> bool:
    """Whether a relation's object is this thing, not an unknown word or a ground before it."""
    unknown = False
    for word in words[at + 1 : thing]:
        if word.kind not in (Kind.GLUE, Kind.COUNT, *_LEFT) or (unknown and word.kind is Kind.GLUE):
            return False
        unknown = unknown or word.kind is Kind.UNKNOWN
    return True


def _sides(words: list[Word], places: list[int], groups: list[Group]) -> Kind | None:
    """How two things stand of which each has its place: "a cat on the left, a dog on the right"."""
    if len(groups) != 2 or len(places) != 2:
        return None
    return {
        ("left", "right"): Kind.LINK,
        ("right", "left"): Kind.RIGHT,
        ("top", "bottom"): Kind.ABOVE,
        ("bottom", "top"): Kind.BELOW,
    }.get((words[places[0]].name, words[places[1]].name))


def _trim(groups: list[Group], words: list[Word]) -> dict[float, str]:
    """Takes what is more than MOST from the largest count, then the last things; returns what, by
    where the prompt says it: "2 × cat"."""
    dropped: dict[float, str] = {group.at + 0.5: words[group.at].text for group in groups[MOST:]}
    fewer: dict[str, tuple[int, int]] = {}  # of each thing where it is first named, and how many
    del groups[MOST:]
    much = sum(group.count for group in groups) - MOST
    while much > 0:
        largest = max(groups, key=lambda group: group.count)
        others = max((group.count for group in groups if group is not largest), default=0)
        less = min(much, largest.count - max(others, 1)) or 1
        largest.count -= less
        much -= less
        at, before = fewer.get(largest.name, (largest.at, 0))
        fewer[largest.name] = at, before + less
    return dropped | {at + 0.5: f"{count} × {name}" for name, (at, count) in fewer.items()}


def _arrange(groups: list[Group], relation: Kind, at: int) -> tuple[Layout, tuple[str, ...]]:
    """The layout and its things in reading order; `at` is the last group before the relation."""
    if relation in (Kind.BELOW, Kind.RIGHT):
        groups = groups[at + 1 :] + groups[: at + 1]
    things = tuple(group.name for group in groups for _ in range(group.count))
    if len(things) == 1:
        return Layout.ONE, things
    stacked = relation in (Kind.ABOVE, Kind.BELOW) and len(things) == 2
    return Layout.STACK if stacked else _LAYOUTS[len(things)], things


def oklab(rgb: Sequence[float]) -> tuple[float, float, float]:
    """Oklab of an sRGB colour of 0 to 255 (Ottosson 2020)."""
    parts = [part / 255 for part in rgb]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )
