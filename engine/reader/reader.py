"""Reads a prompt as a scene of the embedded model; says how it was read and what is left out."""

from __future__ import annotations

import functools
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from engine.reader.colours import (
    REACH,
    RELATIONS,
    back,
    called,
    find_colours,
    hue,
    leave_said,
    oklab,
    owners,
    recoloured,
)
from engine.reader.denials import deny
from engine.reader.names import PLAIN, Kind, fold, once, phrase
from engine.reader.prompt import Word, read_words
from engine.reader.scene import Layout, Scene
from engine.reader.scene_names import SceneNames
from engine.reader.words import KINDS, PAIRS, PEOPLE, SCENERY, WEARING, WORN

MOST = 4  # things in a scene
CONTRAST = 0.25  # least distance in Oklab of a ground from things that stand out
CHOICES = 6  # least number of grounds to choose from

_LAYOUTS = {2: Layout.PAIR, 3: Layout.THREE, 4: Layout.FOUR}
_NAMED = (Kind.THING, Kind.GROUND, Kind.PLACE)
_LEFT = (Kind.UNKNOWN, Kind.SIZE, *PLAIN)


@dataclass(frozen=True, slots=True)
class Reading:
    """A prompt, read as a scene.

    Attributes:
        left_out: the parts of the prompt that are not drawn, in order.
        named: whether the prompt names a thing, ground or place that the model knows.
        sure: whether every name is spelt correctly, and neither a thing nor the ground was made up.
    """

    scene: Scene
    left_out: tuple[str, ...] = ()
    named: bool = True
    sure: bool = True

    def __str__(self) -> str:
        """Return in words how the prompt is read; "" if it is drawn as typed."""
        missing = f"; not drawn: {', '.join(self.left_out)}" if self.left_out else ""
        if not self.named:
            return f"names nothing for this model to draw; draws: {describe(self.scene)}"
        return "" if self.sure and not missing else f"reads: {describe(self.scene)}{missing}"


@dataclass(slots=True)
class Group:
    """A thing with its colour and count; `at` is the index of its word in the prompt."""

    at: int
    name: str
    count: int = 1
    colour: str = ""

    def __str__(self) -> str:
        return called(self.name, self.colour)


def describe(scene: Scene) -> str:
    """Return a scene in words: "huge red cat on green grass", "cat above bicycle on snow"."""
    named = map(called, scene.things, scene.colours)
    if scene.layout is Layout.STACK:
        things = " above ".join(named)
    else:
        counts = [(name, len(list(same))) for name, same in groupby(named)]
        parts = [f"{count} × {name}" if count > 1 else name for name, count in counts]
        things = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    where = "" if scene.place == "centre" else f" at the {scene.place}"
    return f"{scene.size} {things} on {scene.ground}{where}".lstrip()


class SceneReader:
    """Reads prompts as scenes of the names in `world`.

    `world` is the content of world.json. Its lists "glyphs", "grounds" and "places" have the names
    of things, grounds and places. "colours" has the mean colour of each thing and ground.
    "coloured" lists the things that take a colour, and "sizes" lists the sizes. If one of these two
    lists is missing, that list counts as empty.
    """

    def __init__(self, world: Mapping[str, Any]) -> None:
        """Index the names. Raises KeyError if a required list is missing."""
        self.names = SceneNames(world)
        self._things: Sequence[str] = world["glyphs"]
        self._grounds: Sequence[str] = world["grounds"]
        self._coloured = frozenset(world.get("coloured", ()))
        self._sizes = frozenset(world.get("sizes", ()))
        self._lab = {
            name: oklab(world["colours"][name]) for name in (*self._things, *self._grounds)
        }

    def read(self, prompt: str) -> Reading:
        """Read the first things of a prompt, at most MOST, and its first ground.

        If the prompt names no thing, the scene has the thing that SCENERY gives for the ground. If
        there is no such thing, or the prompt denies it, the prompt's checksum chooses a thing. If
        the prompt names no ground, the checksum chooses a ground from which the things stand out.
        """
        words = read_words(self.names, prompt)
        find_colours(self.names, words)
        denied = {word.name for word in deny(self.names, words)}
        _find_activities(words)
        _find_kinds(words)
        leave_said(words)
        owned = list(owners(words))
        groups = _count(words)
        size, drawn = self._dress(words, groups, owned)
        omissions: dict[float, str] = {
            i: word.text for i, word in enumerate(words) if word.kind in _LEFT and i not in drawn
        }
        grounds = [i for i, word in enumerate(words) if word.kind is Kind.GROUND]
        places = [i for i, word in enumerate(words) if word.kind is Kind.PLACE]
        number = zlib.crc32(phrase(prompt).encode("utf-8", "replace"))
        named = any(word.kind in _NAMED for word in words)
        sure = all(word.sure for i, word in enumerate(words) if word.kind in _NAMED or i in drawn)
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
        omissions |= _trim(groups, words)
        layout, shown = _arrange(groups, relation, at)
        things = tuple(group.name for group in shown)
        colours = tuple(group.colour for group in shown)
        place = words[places.pop(0)].name if places and layout is Layout.ONE else "centre"
        omissions |= {i: words[i].text for i in (*grounds[1:], *places)}
        if not ground:
            allowed = [each for each in self._grounds if each not in denied] or self._grounds
            ground, sure = self._contrasting(shown, allowed, number), False
        left_out = once(omissions[i] for i in sorted(omissions))
        scene = Scene(layout, things, ground, place, colours, size)
        return Reading(scene, left_out, named, sure)

    def _dress(
        self, words: list[Word], groups: list[Group], owned: Sequence[tuple[int, int]]
    ) -> tuple[str, set[int]]:
        """Give each group the first of its colours in the prompt that the group's thing can take.

        `owned` are the pairs that `owners` yields. Returns the size of the thing, or "" if there
        are several things or the prompt gives no size that the model has. Also returns the indices
        of the colours and sizes that are drawn.
        """
        alone = [group.count for group in groups] == [1]
        at = {group.at: group for group in groups}
        attributes: dict[tuple[int, bool], str] = {}
        drawn = set()
        for i, owner in owned:
            is_size, value = words[i].kind is Kind.SIZE, hue(words[i])
            key = owner, is_size
            if key not in attributes and (
                (alone and value in self._sizes) if is_size else self._recolour(at[owner], value)
            ):
                attributes[key] = value
            if attributes.get(key) == value:
                drawn.add(i)
        return next((value for (_, is_size), value in attributes.items() if is_size), ""), drawn

    def _recolour(self, group: Group, colour: str) -> bool:
        """Give a group a colour if possible; return whether it was possible.

        It is possible if the group's thing takes a colour. It is also possible if the model knows
        the thing in that colour by a name of its own, such as "green apple"; the group then becomes
        that thing.
        """
        name, rest = recoloured(group.name, colour, self._things)
        if rest and name not in self._coloured:
            return False
        group.name, group.colour = name, rest
        return True

    def _contrasting(self, things: Sequence[Group], grounds: Sequence[str], number: int) -> str:
        """Return a ground whose mean colour is far from that of every thing.

        `number` chooses among the grounds that are far enough, or among the CHOICES farthest if
        fewer are far enough.
        """
        labs = [self._lab[thing.colour or thing.name] for thing in things]
        far = {ground: min(math.dist(self._lab[ground], lab) for lab in labs) for ground in grounds}
        order = sorted(grounds, key=lambda ground: -far[ground])
        enough = sum(distance >= CONTRAST for distance in far.values())
        return order[number % max(enough, min(CHOICES, len(order)))]


@functools.cache
def reader_of(weights: Path) -> SceneReader:
    """Return the reader for a folder of weights; building it takes a second, once."""
    return SceneReader(json.loads((weights / "world.json").read_text("utf-8")))


def _find_activities(words: list[Word]) -> None:
    """Replace a person by the thing that shows the person's activity: "a woman surfing".

    An activity of no person is a thing itself if the prompt names no other thing. Otherwise it is
    an unknown word, and so is left out.
    """
    alone = not any(word.kind is Kind.THING for word in words)
    for i, word in enumerate(words):
        before = back(words, i)
        person = before >= 0 and words[before].kind is Kind.THING and words[before].name in PEOPLE
        if word.kind is Kind.THING and word.name == "bicycle" and before > 0:
            rider = back(words, before)
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
    """Let a noun that only describes the next noun stand for no thing of its own.

    If both nouns mean the same thing, as in "city skyline", the first becomes a word without
    meaning. If the first is in KINDS, it becomes an unknown word, and so is left out.
    """
    for i, (word, behind) in enumerate(pairwise(words)):
        of = behind.text == "of" and i + 2 < len(words)
        behind = words[i + 2] if of else behind
        if not word.kind is behind.kind is Kind.THING or behind.gap or word.text == behind.text:
            continue
        if word.value == behind.value:  # "city skyline", "bowl of ramen"
            words[i] = replace(word, kind=Kind.GLUE)
        elif not of and fold(word.text) in KINDS and not {word.name, behind.name} <= PEOPLE:
            words[i] = replace(word, kind=Kind.UNKNOWN)


def _count(words: list[Word]) -> list[Group]:
    """Return the things with their counts, and change the count words in `words`.

    A count belongs to the thing after it ("two cats"). If no thing follows, a count in digits
    ("cat 3"), or in letters that are not ASCII, belongs to the thing before it. A count that
    belongs to a thing becomes a word without meaning, as does any count of 1. Every other count
    becomes an unknown word, and so is left out.
    """
    groups = {i: Group(i, word.name) for i, word in enumerate(words) if word.kind is Kind.THING}
    for i, word in enumerate(words):
        if word.kind is not Kind.COUNT:
            continue
        at, end = i + 1, min(len(words), i + REACH)
        while at < end and words[at].kind in (Kind.GLUE, *_LEFT) and not words[at].gap:
            at += 1
        if at not in groups or words[at].gap:
            at = back(words, i)
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
    """Return the relation between the things, and the index of the group just before its object.

    The relation is ABOVE, BELOW or RIGHT: the groups up to that index are above, below or right of
    the groups after it. In "a cat above a dog" the object is the dog. Chinese puts the word for the
    relation last ("A, B above"); the object is then the last group. If no relation is found, the
    things are side by side, and the result is (Kind.LINK, 0).
    """
    for i, (group, behind) in enumerate(pairwise(groups)):
        for at in range(group.at + 1, behind.at):
            word = words[at]
            if fold(word.text) in WEARING and behind.name in WORN:
                return Kind.BELOW, i
            if word.kind in RELATIONS and _reaches(words, at, behind.at):
                return word.kind, i
    last = groups[-1].at + 1  # Chinese: "A, B above"
    if last < len(words) and words[last].kind in RELATIONS and not words[last].text.isascii():
        return words[last].kind, len(groups) - 2
    return Kind.LINK, 0


def _reaches(words: list[Word], at: int, thing: int) -> bool:
    """Return whether the thing at index `thing` is the object of the relation at index `at`.

    It is if only counts, colours, sizes, unknown words and words without meaning stand between the
    two. The exception is a word without meaning that comes after an unknown word. Then the unknown
    word is the object: in "a cat on the roof of a house" that is "roof", not the house.
    """
    unknown = False
    for word in words[at + 1 : thing]:
        if word.kind not in (Kind.GLUE, Kind.COUNT, *_LEFT) or (unknown and word.kind is Kind.GLUE):
            return False
        unknown = unknown or word.kind is Kind.UNKNOWN
    return True


def _sides(words: list[Word], places: list[int], groups: list[Group]) -> Kind | None:
    """Return the relation of two things that each have a place, or None.

    An example is "a cat on the left, a dog on the right".
    """
    if len(groups) != 2 or len(places) != 2:
        return None
    return {
        ("left", "right"): Kind.LINK,
        ("right", "left"): Kind.RIGHT,
        ("top", "bottom"): Kind.ABOVE,
        ("bottom", "top"): Kind.BELOW,
    }.get((words[places[0]].name, words[places[1]].name))


def _trim(groups: list[Group], words: list[Word]) -> dict[float, str]:
    """Remove things until at most MOST are left.

    First the groups after the first MOST are removed, then things of whichever group has the
    largest count. Returns the words for what was removed, such as "2 × cat", by their place in the
    prompt.
    """
    dropped: dict[float, str] = {group.at + 0.5: words[group.at].text for group in groups[MOST:]}
    fewer: dict[str, tuple[int, int]] = {}  # by thing: where it is first named, number removed
    del groups[MOST:]
    much = sum(group.count for group in groups) - MOST
    while much > 0:
        largest = max(groups, key=lambda group: group.count)
        others = max((group.count for group in groups if group is not largest), default=0)
        less = min(much, largest.count - max(others, 1)) or 1
        largest.count -= less
        much -= less
        at, before = fewer.get(str(largest), (largest.at, 0))
        fewer[str(largest)] = at, before + less
    return dropped | {at + 0.5: f"{count} × {name}" for name, (at, count) in fewer.items()}


def _arrange(groups: list[Group], relation: Kind, at: int) -> tuple[Layout, list[Group]]:
    """Return the layout and its things in reading order.

    `at` is the index of the group just before the relation's object, as in `_relation`.
    """
    if relation in (Kind.BELOW, Kind.RIGHT):
        groups = groups[at + 1 :] + groups[: at + 1]
    things = [group for group in groups for _ in range(group.count)]
    if len(things) == 1:
        return Layout.ONE, things
    stacked = relation in (Kind.ABOVE, Kind.BELOW) and len(things) == 2
    return Layout.STACK if stacked else _LAYOUTS[len(things)], things
