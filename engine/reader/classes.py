"""Reads a prompt as one of ImageNet's 1,000 classes; says how it was read and what is left out."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from engine.reader.class_names import INSTEAD, NAMES, WIDER, ClassNames
from engine.reader.denials import deny
from engine.reader.names import THINGS, Kind, fold, once
from engine.reader.prompt import Word, read_words
from engine.settings import SettingError

LISTED = "all are listed under Lanes and options, and in engine/reader/classes.toml"

_NUMBER = re.compile(r"\s*(?:class\s*)?#?\s*(\d+)\s*", re.IGNORECASE)
_SILENT = (Kind.GLUE, Kind.LINK, Kind.ABOVE, Kind.BELOW, Kind.RIGHT)  # say nothing by themselves
_NEAR = 3  # most names to suggest if the prompt names no class
_COMPARED = 8  # most words of a prompt that are compared with names
_ALIKE = 80  # least likeness of a suggested name, of 100


@dataclass(frozen=True, slots=True)
class ClassReading:
    """A prompt, read as the class with this `number`.

    `left_out` has the parts of the prompt that are not drawn, in order. `sure` is true if the
    prompt has a correctly spelt name of that class. Raises ValueError if no class has this number.
    """

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
        """Return in words how the prompt is read; "" if it is drawn as typed."""
        missing = f"; not drawn: {', '.join(self.left_out)}" if self.left_out else ""
        return "" if self.sure and not missing else f"reads: {self.name}{missing}"


@dataclass(frozen=True, slots=True)
class ClassName:
    """A class in the list that visitors search.

    `emoji` is "" if the class has none. `called` has phrases in the form that `fold` returns: the
    class's names in all languages, and the wider words that include the class.
    """

    number: int
    name: str
    emoji: str
    called: tuple[str, ...]


def read_class(prompt: str) -> ClassReading:
    """Return the class that a prompt names, or whose number it is: "207", "class 207".

    If a prompt names several classes, `_subject` chooses: usually the first. A wider word, such as
    "dog", stands for one of the classes that it includes: one that the prompt names too, or else a
    typical one. A class that the prompt excludes ("no pug") is not chosen. Raises SettingError if
    the prompt names no class.
    """
    if match := _NUMBER.fullmatch(prompt):
        return ClassReading(_number(match[1]), sure=False)
    words = read_words(_names(), prompt)
    denied = deny(_names(), words)
    named = [i for i, word in enumerate(words) if word.kind in THINGS]
    if not named:
        denied_texts = [word.text for word in denied]
        raise SettingError(_names_none([word for word in words if word.text not in denied_texts]))
    at = _subject(words, named)
    if words[at].kind is not Kind.THING:
        narrower = (i for i in named if words[i].kind is Kind.THING)
        at = next((i for i in narrower if _means(words[at], _meant(words[i]))), at)
    number = _meant(words[at])
    if words[at].kind is not Kind.THING:
        kinds = WIDER[words[at].name].kinds.difference(*map(_kinds, denied))
        number = number if number in kinds else min(kinds, default=number)
    omissions = once(word.text for word in words if _is_left_out(word, number))
    return ClassReading(number, omissions, words[at].kind is Kind.THING and words[at].sure)


@functools.cache
def class_names() -> tuple[ClassName, ...]:
    """Return all classes in the order of their numbers."""
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
    """Return the names of all classes; building them takes a second, once."""
    return ClassNames()


def _number(digits: str) -> int:
    if len(digits) > 3:
        raise SettingError(f"ImageNet's classes are numbered 0 to {len(NAMES) - 1}: {LISTED}.")
    return int(digits)


def _subject(words: list[Word], named: list[int]) -> int:
    """Return the index of the word for the class that the prompt is about.

    `named` has the indices of the words that name classes. The subject is the first of them, unless
    that word only describes the next one ("velvet sofa") or is joined to it by "of" ("cup of
    espresso"). Then the next one is the subject, under the same condition.
    """
    at = named[0]
    for after in named[1:]:
        between = words[at + 1 : after]
        if between:
            of = between[0].text.lower() == "of"
            goes_on = of and all(word.kind is Kind.GLUE for word in between)
        else:  # "golden retriever puppy" is no puppy that a golden retriever describes
            is_wider = words[after].kind is not Kind.THING and _means(
                words[after], _meant(words[at])
            )
            goes_on = words[after].sure and not is_wider
        if not goes_on or words[after].gap or not words[at].text.isascii():
            break
        at = after
    return at


def _meant(word: Word) -> int:
    """Return the class that a word means by itself; for a wider word, its typical class."""
    return int(word.value) if word.kind is Kind.THING else WIDER[word.name].drawn


def _kinds(word: Word) -> frozenset[int]:
    """Return the classes that a word names or, as a wider word, includes; most words have none."""
    if word.kind is Kind.THING:
        return frozenset([int(word.value)])
    return WIDER[word.name].kinds if word.kind in THINGS else frozenset()


def _means(word: Word, number: int) -> bool:
    """Return whether a word names the class `number`, or is a wider word that includes it."""
    return number in _kinds(word)


def _is_left_out(word: Word, number: int) -> bool:
    """Return whether a word says something that the class `number` does not express."""
    if word.kind in (Kind.THING, Kind.WIDER):
        return not _means(word, number)
    return word.kind not in _SILENT and (word.kind, word.value) != (Kind.COUNT, 1)


def _names_none(words: list[Word]) -> str:
    """Return the error message for a prompt whose `words` name no class."""
    typed = [fold(word.text) for word in words if word.kind is Kind.UNKNOWN][:_COMPARED]
    near = next((INSTEAD[word] for word in typed if word in INSTEAD), ()) or _alike(typed)
    such = f", such as {', '.join(near[:-1])}{' or ' * (len(near) > 1)}{near[-1]}" if near else ""
    return (
        "This model draws one of ImageNet's 1,000 classes, and the prompt names none"
        f"{such}: {LISTED}."
    )


def _alike(typed: list[str]) -> tuple[str, ...]:
    """Return the names of the classes that are most like any of the `typed` words."""
    scores: dict[str, float] = {}
    for word in typed:
        if len(word) > 2:
            for name, score, _ in process.extract(
                word, NAMES, scorer=fuzz.WRatio, processor=fold, score_cutoff=_ALIKE, limit=_NEAR
            ):
                scores[name] = max(score, scores.get(name, 0.0))
    return tuple(sorted(scores, key=lambda name: -scores[name])[:_NEAR])
