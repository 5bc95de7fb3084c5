"""The word lists of `words.toml`, which explains each of them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))

THINGS: dict[str, str] = _LISTS["things"]
GROUNDS: dict[str, str] = _LISTS["grounds"]
COLOURS: dict[str, str] = _LISTS["colours"]
NOUN_COLOURS: dict[str, str] = _LISTS["noun_colours"]
SIZES: dict[str, str] = _LISTS["sizes"]
PLACES: dict[str, str] = _LISTS["places"]
ACTIVITIES: dict[str, str] = _LISTS["activities"]
SCENERY: dict[str, str] = _LISTS["scenery"]
COUNTS: dict[int, str] = {int(number): words for number, words in _LISTS["counts"].items()}

ABOVE: str = _LISTS["above"]
BELOW: str = _LISTS["below"]
RIGHT: str = _LISTS["right"]
LINK: str = _LISTS["link"]
GLUE: str = _LISTS["glue"]
DENIAL: str = _LISTS["denial"]
DENIAL_BEHIND: str = _LISTS["denial_behind"]
BACKDROP: str = _LISTS["backdrop"]
COUNTERS: str = _LISTS["counters"]

PARTS: frozenset[str] = frozenset(_LISTS["parts"])
SHADES: frozenset[str] = frozenset(_LISTS["shades"])
COPULAS: frozenset[str] = frozenset(_LISTS["copulas"])
ANDS: frozenset[str] = frozenset(_LISTS["ands"])
ATTRIBUTIVE: frozenset[str] = frozenset(_LISTS["attributive"])
PEOPLE: frozenset[str] = frozenset(_LISTS["people"])
WORN: frozenset[str] = frozenset(_LISTS["worn"])
WEARING: frozenset[str] = frozenset(_LISTS["wearing"])
PAIRS: frozenset[str] = frozenset(_LISTS["pairs"])
ALTERNATIVES: frozenset[str] = frozenset(_LISTS["alternatives"])
KINDS: frozenset[str] = frozenset(_LISTS["kinds"])
ELSEWHERE: frozenset[str] = frozenset(_LISTS["elsewhere"])
OTHERS: tuple[str, ...] = tuple(_LISTS["others"])
