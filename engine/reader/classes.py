"""Reads a prompt as one of ImageNet's 1,000 classes, and says how and what is left out."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from engine.reader.class_names import INSTEAD, NAMES, WIDER, ClassNames
from engine.reader.names import Kind, fold
from engine.reader.prompt import Word, read_words
from engine.settings import SettingError

LISTED = "all are listed under Lanes and options, and in engine/reader/classes.toml"

_NUMBER = re.compile(r"\s*(?:class\s*)?#?\s*(\d+)\s*", re.IGNORECASE)
_NAMED = (Kind.THING, Kind.WIDER, Kind.YOUNG)
_SILENT = (Kind.GLUE, Kind.LINK, Kind.ABOVE, Kind.BELOW, Kind.RIGHT)  # say nothing by themselves
_NEAR = 3  # names, at most, where the prompt has none
_COMPARED = 8  # words of such a prompt, at most
_ALIKE = 80  # of 100, how alike a near name is


@dataclass(frozen=True, slots=True)
class ClassReading:
    """A prompt as the class of this `number`. `left_out`: what it says that is not drawn, in its
    order; `sure`: it has a name of that class, spelt as it is known.

    Raises ValueError where there is no such class."""

    number: int
    left_out: tuple[str, ...] = ()
    sure: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.number < len(NAMES):
            raise ValueError(f"classes are numbered 0 to {len(NAMES) - 1}, not {self.number}")

    @property
    def name(self) -> str:
        return NAMES[self.number]

    def __str__(self) -> str:
        """For people: how the prompt is read, or nothing where it is drawn as typed."""
        missing = f"; not drawn: {', '.join(self.left_out)}" if self.left_out else ""
        return "" if self.sure and not missing else f"reads: {self.name}{missing}"


@dataclass(frozen=True, slots=True)
class ClassName:
    """A class for a list that is searched: its name, an emoji or nothing, and all that it is called
    in any language, with the words that are wider: folded phrases."""

    number: int
    name: str
    emoji: str
    called: tuple[str, ...]


def read_class(prompt: str) -> ClassReading:
    """The first class that the prompt names, or has the number of: "207", "class 207". A wider word
    means the class among its kinds that the prompt names besides, else a typical one.

    Raises SettingError where it names none."""
    if match := _NUMBER.fullmatch(prompt):
        return ClassReading(_number(match[1]), sure=False)
    words = read_words(_names(), prompt)
    named = [i for i, word in enumerate(words) if word.kind in _NAMED]
    if not named:
        raise SettingError(_names_none(words))
    at = _contents(words, named)
    number = _meant(words[at])
    if words[at].kind is not Kind.THING:
        kinds = WIDER[words[at].name].kinds
        narrower = [i for i in named if words[i].kind is Kind.THING and words[i].value in kinds]
        if narrower:
            at, number = narrower[0], int(words[narrower[0]].value)
    left = tuple(word.text for word in words if _is_left_out(word, number))
    return ClassReading(number, left, words[at].kind is Kind.THING and words[at].sure)


@functools.cache
def class_names() -> tuple[ClassName, ...]:
    """Every class, by its number."""
    names = _names()
    emoji = {value: text for text, (kind, value) in names.emoji.items() if kind is Kind.THING}
    called = names.called()
    return tuple(
        ClassName(
            number,
            name,
            emoji.get(number, ""),
            (
                *called[number],
                *(key for word in WIDER if number in WIDER[word].kinds for key in called[word]),
            ),
        )
        for number, name in enumerate(NAMES)
    )


@functools.cache
def _names() -> ClassNames:
    """Built once: it takes a second."""
    return ClassNames()


def _number(digits: str) -> int:
    if len(digits) > 3:
        raise SettingError(f"ImageNet's classes are numbered 0 to {len(NAMES) - 1}: {LISTED}.")
    return int(digits)


def _contents(words: list[Word], named: list[int]) -> int:
    """The index of the first class, or of what it is full of: "a cup of espresso"."""
    at = named[0]
    for after in named[1:]:
        between = [word.text.lower() for word in words[at + 1 : after]]
        if between[:1] != ["of"] or any(
            word.kind is not Kind.GLUE for word in words[at + 1 : after]
        ):
            break
        at = after
    return at


def _meant(word: Word) -> int:
    """The class that a word means by itself."""
    return int(word.value) if word.kind is Kind.THING else WIDER[word.name].drawn


def _is_left_out(word: Word, number: int) -> bool:
    """Whether a word says something that the class of this number does not."""
    if word.kind is Kind.THING:
        return word.value != number
    if word.kind is Kind.WIDER:
        return number not in WIDER[word.name].kinds
    return word.kind not in _SILENT and (word.kind, word.value) != (Kind.COUNT, 1)


def _names_none(words: list[Word]) -> str:
    """The sentence on a prompt without a class."""
    typed = [fold(word.text) for word in words if word.kind is Kind.UNKNOWN][:_COMPARED]
    near = next((INSTEAD[word] for word in typed if word in INSTEAD), ()) or _alike(typed)
    such = f", such as {', '.join(near[:-1])}{' or ' * (len(near) > 1)}{near[-1]}" if near else ""
    return (
        "This model draws one of ImageNet's 1,000 classes, and the prompt names none"
        f"{such}: {LISTED}."
    )


def _alike(typed: list[str]) -> tuple[str, ...]:
    """The names most like one of these words."""
    found = [
        (score, name)
        for word in typed
        if len(word) > 2
        for name, score, _ in process.extract(
            word, NAMES, scorer=fuzz.WRatio, processor=fold, score_cutoff=_ALIKE, limit=_NEAR
        )
    ]
    return tuple(dict.fromkeys(name for _, name in sorted(found, key=lambda pair: -pair[0])))[:_NEAR]
