"""The names of the embedded model's things, grounds and places, in many languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.reader import words as lists
from engine.reader.names import Kind, Names, phrase, phrases


class SceneNames(Names):
    """The names of the things, grounds and places in `world`.

    `world` has the lists "glyphs" (the things), "grounds" and "places". English names take
    precedence over names in other languages, and the lists of words.toml take precedence over the
    `emoji` package.
    """

    def __init__(self, world: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        grounds = {
            name: Kind.FLOOR if name in lists.COLOURS else Kind.GROUND for name in world["grounds"]
        }
        colours = {
            name: lists.COLOURS[name].split(";")
            for name, kind in grounds.items()
            if kind is Kind.FLOOR
        }
        drawn = grounds | dict.fromkeys(world["glyphs"], Kind.THING)
        words = {
            name: (lists.GROUNDS | lists.THINGS).get(name, "").partition(";") for name in drawn
        }
        places = dict.fromkeys(world["places"], Kind.PLACE)
        for name, (english, *_) in colours.items():
            self._add([phrase(name), *phrases(english)], Kind.COLOUR, name)
        for name, kind in (drawn | places).items():
            self._add([phrase(name)], kind, name)
        for name in places:
            self._add(phrases(lists.PLACES.get(name, "")), Kind.PLACE, name)
        for name, kind in drawn.items():
            self._add(phrases(words[name][0]), kind, name)
        self._add_joined()
        near = [key for key, (kind, _) in self._meanings.items() if kind is not Kind.PLACE]
        for name, activities in lists.ACTIVITIES.items():
            self._add(phrases(activities) if name in drawn else (), Kind.ACTIVITY, name)
        for name, (_, before, behind) in colours.items():
            self._add(phrases(before), Kind.COLOUR, name)
            self._add(phrases(behind), Kind.COLOUR_BEHIND, name)
        for name, kind in drawn.items():
            self._add(phrases(words[name][2]), kind, name)
        for name, sizes in lists.SIZES.items():
            self._add([name, *phrases(sizes)], Kind.SIZE, name)
        self._add_grammar()
        self._add(lists.OTHERS, Kind.UNKNOWN)
        self._add_languages({name: (Kind.THING, name) for name in world["glyphs"]})
        self._index(near)
