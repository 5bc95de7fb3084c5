"""Decides which colour words are grounds, and to which things colours and sizes belong.

A ground fills the scene around its things: "a cat on green". A COLOUR_BEHIND is a colour word that
describes the noun before it, as "rojo" does.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from engine.reader.names import HUES, PLAIN, Kind, Names, fold
from engine.reader.prompt import Word, is_elsewhere
from engine.reader.scene import COLOURS
from engine.reader.words import ANDS, ATTRIBUTIVE, COPULAS, NOUN_COLOURS, PARTS, SHADES

REACH = 12  # most words between two words that belong together
# Colours that are things, unless they describe a thing or follow "on".
COLOUR_THINGS = {"orange": "tangerine", "rosa": "rose"}
RELATIONS = (Kind.ABOVE, Kind.BELOW, Kind.RIGHT)
JOINS = (*RELATIONS, Kind.LINK)

TO_LMS = np.array(  # from linear sRGB to what the eye's long, middle and short cones see
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(  # from the cube roots of these to Oklab
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)

_ADJECTIVES = (*HUES, Kind.SIZE)
_OWNERS = (Kind.THING, Kind.GROUND)
_ENDS = (Kind.PLACE, Kind.GROUND, Kind.DENIAL)  # may follow a colour that is a ground after "on"


def called(thing: str, colour: str) -> str:
    """Return the words for a thing in a colour. A "red apple" in blue is a "blue apple"."""
    own, _, rest = thing.partition(" ")
    return f"{colour} {rest if own in COLOURS else thing}" if colour else thing


def recoloured(thing: str, colour: str, known: Container[str]) -> tuple[str, str]:
    """Return the thing and its colour, which is "" if the thing's own name has the colour.

    With "green apple" among the `known` things, an apple in green is ("green apple", "").
    """
    other = called(thing, colour)
    for name in (other, f"{colour} {other.split()[-1]}"):
        if name in known:
            return name, ""
    return thing, colour


def oklab(rgb: ArrayLike) -> np.ndarray:
    """Return Oklab [.., 3] of sRGB colours [.., 3] from 0 to 255 (Ottosson 2020)."""
    shares = np.asarray(rgb, float) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ TO_LMS.T) @ TO_LAB.T)


def hue(word: Word) -> str:
    """Return the colour that a word gives a thing: "sky blue" gives blue.

    Names without "sky" are unchanged.
    """
    return word.name.removeprefix("sky ")


def back(words: list[Word], at: int) -> int:
    """Return the index of the last word before `at` that has a meaning, or -1."""
    at -= 1
    first = max(0, at - REACH)
    while at >= first and words[at].kind is Kind.GLUE:
        at -= 1
    return at if at >= first else -1


def find_colours(names: Names, words: list[Word]) -> None:
    """Mark the colour words that stand for a ground or a thing, and the nouns that are colours.

    A colour before "background" stands for a ground, and so does a COLOUR_BEHIND after it ("fondo
    rojo"). A colour after "on" stands for a ground ("on green"), unless a word follows that the
    colour could describe ("on a green bed"). "orange" stands for a thing if it describes nothing.
    In other languages than English a noun such as "naranja" is a colour directly after a thing
    ("gato naranja"). "background" becomes a word without meaning if it has a ground, and an unknown
    word otherwise.
    """
    elsewhere = is_elsewhere(word.text for word in words)
    for i, word in enumerate(words):
        behind = words[i + 1] if i + 1 < len(words) and not words[i + 1].gap else None
        before = back(words, i)
        beside = i > 0 and words[i - 1].kind is Kind.THING and not word.gap
        if word.kind is Kind.BACKDROP:
            has_ground = before >= 0 and words[before].kind is Kind.GROUND
            if not has_ground and behind and behind.kind is Kind.COLOUR_BEHIND:
                words[i + 1] = replace(behind, kind=Kind.GROUND)
                has_ground = True
            words[i] = replace(word, kind=Kind.GLUE if has_ground else Kind.UNKNOWN)
        elif word.kind is Kind.THING and beside:
            colour = NOUN_COLOURS.get(fold(word.text).removesuffix("s"))
            if colour and (elsewhere or not names.is_english(words[i - 1].text)):
                words[i] = replace(word, kind=Kind.COLOUR_BEHIND, value=colour)
        if word.kind not in PLAIN:
            continue
        thing = COLOUR_THINGS.get(fold(word.text).removesuffix("s"))
        on = before >= 0 and words[before].kind is Kind.ABOVE
        ends = behind is None or (behind.kind in (*JOINS, *_ENDS) and not _has(behind, word))
        if _is_backdrop(words, i) or (on and ends):
            words[i] = replace(word, kind=Kind.GROUND)
        elif thing and not (beside or _is_said(words, i) or _describes(words, i)):
            words[i] = replace(word, kind=Kind.THING, value=thing)


def _is_backdrop(words: list[Word], at: int) -> bool:
    """Return whether "background" follows the word at `at`."""
    at += 1
    while at < len(words) and words[at].kind is Kind.GLUE and words[at].text in ATTRIBUTIVE:
        at += 1
    return at < len(words) and words[at].kind is Kind.BACKDROP and not words[at].gap


def _is_said(words: list[Word], at: int) -> bool:
    """Return whether a copula comes before the word at `at`: "the cat is red"."""
    return at > 0 and words[at - 1].text.casefold().split()[-1] in COPULAS


def _describes(words: list[Word], at: int) -> bool:
    """Return whether the word at `at` describes a thing after it."""
    owner = _behind(words, at)
    verb = any(word.text.endswith("ing") for word in words[at + 1 : owner])
    return owner >= 0 and words[owner].kind is Kind.THING and not verb


def owners(words: list[Word]) -> Iterator[tuple[int, int]]:
    """Yield the index of each colour or size that describes a thing, with the thing's index."""
    for i, word in enumerate(words):
        if word.kind in _ADJECTIVES:
            owner = _owner(words, i)
            if owner >= 0 and words[owner].kind is Kind.THING:
                yield i, owner


def leave_said(words: list[Word]) -> None:
    """Mark redundant words as words without meaning.

    A redundant word says how dark a colour is, or what colour a ground has anyway, or is "and"
    between two colours.
    """
    for i, word in enumerate(words):
        beside = (words[at] for at in (i - 1, i + 1) if 0 <= at < len(words))
        shade = fold(word.text) in SHADES and any(other.kind in HUES for other in beside)
        owner = _owner(words, i) if word.kind in HUES else -1
        if shade or _joins(words, i) or (owner >= 0 and _has(words[owner], word)):
            words[i] = replace(word, kind=Kind.GLUE)


def _has(ground: Word, colour: Word) -> bool:
    """Return whether the name of a ground begins with a colour, as "green grass" does."""
    return ground.kind is Kind.GROUND and ground.name.startswith(f"{hue(colour)} ")


def _owner(words: list[Word], at: int) -> int:
    """Return the index of the thing or ground that the colour or size at `at` describes, or -1."""
    word = words[at]
    if at + 1 < len(words) and fold(words[at + 1].text) in PARTS:
        return -1
    behind, before = _behind(words, at), _before(words, at)
    nearer = before == at - 1 and behind != at + 1 and fold(word.text).isascii()
    if word.kind is Kind.COLOUR_BEHIND or nearer or _is_said(words, at):
        return before if before >= 0 else behind
    return behind if behind >= 0 else before


def _behind(words: list[Word], at: int) -> int:
    """Return the index of the noun after `at` that the word at `at` describes, or -1.

    Between `at` and the noun there may be other words that describe the noun, joined by "and".
    """
    for i in range(at + 1, min(len(words), at + REACH)):
        word = words[i]
        if word.kind in _OWNERS:
            return -1 if word.gap and word.text[0].isalnum() else i
        if word.kind in (Kind.GLUE, Kind.LINK):
            unknown = words[i - 1].kind is Kind.UNKNOWN
            goes_on = not word.gap and (
                _joins(words, i)
                or (word.kind is Kind.GLUE and word.value != "")  # "tabby" in "red tabby cat"
                or (fold(word.text) in ATTRIBUTIVE and not (unknown and word.text == "の"))
            )
        elif word.kind in (*_ADJECTIVES, Kind.UNKNOWN, Kind.COUNT):
            goes_on = not (word.gap and at > 0 and words[at - 1].kind in JOINS)
        else:
            goes_on = False
        if not goes_on:
            return -1
    return -1


def _joins(words: list[Word], at: int) -> bool:
    """Return whether the word at `at` is "and" between two adjectives: "black and white cat"."""
    beside = words[max(0, at - 1) : at + 2 : 2]
    return fold(words[at].text) in ANDS and all(word.kind in _ADJECTIVES for word in beside)


def _before(words: list[Word], at: int) -> int:
    """Return the index of the noun before `at` that the word at `at` describes, or -1.

    Adjectives and words without meaning may stand between the noun and `at`. An unknown word may
    stand there only if the word at `at` is a COLOUR_BEHIND, such as "negro" in "gato peludo negro".
    Then there may be one unknown word, with only adjectives between that word and `at`.
    """
    ends = words[at].kind is not Kind.COLOUR_BEHIND
    for i in range(at - 1, max(-1, at - REACH), -1):
        word = words[i]
        if words[i + 1].gap:
            return -1
        if word.kind in _OWNERS:
            return i
        if word.kind in (Kind.UNKNOWN, Kind.GLUE) or word.text in COPULAS:
            if word.kind is Kind.UNKNOWN and ends:
                return -1
            ends = True
        elif word.kind not in _ADJECTIVES:
            return -1
    return -1
