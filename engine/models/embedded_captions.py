"""Reads a prompt as a caption of the embedded model: names of a glyph, a ground and a place that it
was trained on, in that order. Words that it has never seen would leave it with blobs."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

# What people call, in a word, what the model has another name for.
SYNONYMS = {
    "red apple": "apple",
    "soccer ball": "ball",
    "honeybee": "bee",
    "beer mug": "beer",
    "bicycle": "bike",
    "sailboat": "boat",
    "rabbit": "bunny",
    "hamburger": "burger",
    "birthday cake": "cake",
    "automobile": "car",
    "cherries": "cherry",
    "hot beverage": "coffee tea",
    "gem stone": "diamond",
    "sauropod": "dinosaur",
    "doughnut": "donut",
    "sunflower": "flower",
    "wrapped gift": "gift present",
    "sunglasses": "glasses",
    "wine glass": "glass wine",
    "top hat": "hat",
    "red heart": "heart",
    "hippopotamus": "hippo",
    "cat": "kitten",
    "lady beetle": "ladybug",
    "telephone": "phone",
    "airplane": "plane",
    "ringed planet": "planet saturn",
    "jack-o-lantern": "pumpkin",
    "dog": "puppy",
    "rhinoceros": "rhino",
    "ewe": "sheep",
    "locomotive": "train",
    "deciduous tree": "tree",
    "delivery truck": "truck",
    "television": "tv",
    "flying saucer": "ufo",
    "yellow sand": "beach desert",
    "green grass": "field forest garden meadow",
    "blue water": "ocean sea",
    "sky clouds": "sky",
    "night stars": "space",
    "grey": "gray",
    "centre": "center",
}
_QUALIFIED = re.compile(r" (?:of|on|with) .*")  # "glass of milk": what precedes is the noun


class Kind(Enum):
    """The lists of names in world.json."""

    GLYPH = "glyphs"
    GROUND = "grounds"
    PLACE = "places"


@dataclass(frozen=True, slots=True)
class Caption:
    """What the model is asked for; no ground or place leaves it to the model. `named`: the prompt
    named the glyph."""

    glyph: str
    ground: str = ""
    place: str = ""
    named: bool = True

    def __str__(self) -> str:
        ground = f" on {self.ground}" if self.ground else ""
        return self.glyph + ground + (f" at the {self.place}" if self.place else "")


class CaptionReader:
    """Reads prompts as captions of the names in `world`: world.json, or lists by its keys."""

    def __init__(self, world: Mapping[str, Sequence[str]]) -> None:
        """Raises KeyError where a list is missing."""
        self._lists = {kind: tuple(world[kind.value]) for kind in Kind}
        kinds = {name: kind for kind, names in self._lists.items() for name in names}
        self._names = {tuple(words(name)): (kind, name) for name, kind in kinds.items()}
        short = [(word, name) for name in kinds for word in SYNONYMS.get(name, "").split()]
        short += [(noun(name), name) for name in self._lists[Kind.GLYPH]]
        short += [(word, name) for name in self._lists[Kind.GROUND] for word in words(name)]
        for word, name in short:  # the first of a word stands
            self._names.setdefault((word,), (kinds[name], name))
        self._longest = max(map(len, self._names))

    def read(self, prompt: str) -> Caption:
        """Of several glyphs the first, and of nouns in a row the last, as in "fire dragon"; of
        several grounds and places the last, as in "a red cat on green grass". Where the prompt
        names no glyph, its checksum chooses one, and a ground if it names nothing at all."""
        found: dict[Kind, str] = {}
        glyph_end = None
        for begin, end, kind, name in self._matches(words(prompt)):
            if kind is not Kind.GLYPH:
                found[kind] = name
            elif kind not in found or begin == glyph_end:
                found[kind], glyph_end = name, end
        number = zlib.crc32(prompt.strip().lower().encode("utf-8", "replace"))
        glyphs, grounds = self._lists[Kind.GLYPH], self._lists[Kind.GROUND]
        if not found:
            found[Kind.GROUND] = grounds[number // len(glyphs) % len(grounds)]
        return Caption(
            found.get(Kind.GLYPH, glyphs[number % len(glyphs)]),
            found.get(Kind.GROUND, ""),
            found.get(Kind.PLACE, ""),
            named=Kind.GLYPH in found,
        )

    def _matches(self, prompt: list[str]) -> list[tuple[int, int, Kind, str]]:
        """The names in a prompt's words with where they begin and end, the longest at each word."""
        found, at = [], 0
        while at < len(prompt):
            for end in range(min(len(prompt), at + self._longest), at, -1):
                if match := self._match(prompt[at:end]):
                    found.append((at, end, *match))
                    at = end
                    break
            else:
                at += 1
        return found

    def _match(self, part: list[str]) -> tuple[Kind, str] | None:
        """What these words name, in the singular if not as they stand."""
        *before, last = part
        forms = (last, last.removesuffix("s"), last.removesuffix("es"))
        return next(
            (self._names[key] for form in forms if (key := (*before, form)) in self._names), None
        )


def noun(name: str) -> str:
    """A glyph's name in a word: "tree" of "palm tree", "glass" of "glass of milk"."""
    return words(_QUALIFIED.sub("", name))[-1]


def words(text: str) -> list[str]:
    """A text's words in lower case; an emoji is its name's."""
    spelt = (
        f" {unicodedata.name(character, '')} "
        if unicodedata.category(character) == "So"
        else character
        for character in text
    )
    return re.findall(r"\w+", "".join(spelt).lower())
