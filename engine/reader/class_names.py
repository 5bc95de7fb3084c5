"""The names of ImageNet's classes in many languages, from the lists of `classes.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import emoji
from rapidfuzz.distance import OSA

from engine.reader import words as lists
from engine.reader.names import Kind, Meaning, Names, english, phrase, phrases

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("classes.toml").read_text("utf-8"))

CALLED: tuple[str, ...] = tuple(_LISTS["classes"].values())  # by number
NAMES: tuple[str, ...] = tuple(words.partition(",")[0] for words in CALLED)
OTHERS: tuple[str, ...] = tuple(phrases(_LISTS["others"]))


@dataclass(frozen=True, slots=True)
class Wider:
    """A word wider than any class, such as "dog".

    Attributes:
        drawn: the number of the class that is drawn if the prompt names none of `kinds`.
        kinds: the numbers of the classes that the word includes.
        also: synonyms of the word, separated by commas: first the English ones, then, after a
            semicolon, those of other languages; "" if there are none.
        young: words for the young of the animal that the word names, such as "puppy", written like
            `also`.
    """

    drawn: int
    kinds: frozenset[int]
    also: str
    young: str


def _wider(entry: dict[str, str]) -> Wider:
    drawn = NAMES.index(entry["draws"])
    kinds = frozenset(_numbers(entry.get("kinds", str(drawn))))
    return Wider(drawn, kinds, entry.get("also", ""), entry.get("young", ""))


def _numbers(ranges: str) -> Iterator[int]:
    """Yield the numbers that a text of ranges such as "3, 5-7" stands for."""
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


WIDER: dict[str, Wider] = {word: _wider(entry) for word, entry in _LISTS["wider"].items()}
INSTEAD: dict[str, tuple[str, ...]] = {  # by folded word
    form: tuple(names.split(", "))
    for words, names in _LISTS["instead"].items()
    for word in phrases(words)
    for form in (word, f"{word}s")
}


class ClassNames(Names):
    """The names of the classes, and wider words such as "dog".

    A class's name means the class's number. A wider word, its synonyms and its words for young
    animals (`Wider.also`, `Wider.young`) all mean the wider word.
    """

    def __init__(self) -> None:
        super().__init__()
        for number, words in enumerate(CALLED):
            self._add(phrases(words), Kind.THING, number)
            self._add(phrases(words.replace("'", "")), Kind.THING, number)  # "potters wheel"
        for word, wider in WIDER.items():
            self._add(phrases(f"{word}, {wider.also.partition(';')[0]}"), Kind.WIDER, word)
            self._add(phrases(wider.young.partition(";")[0]), Kind.YOUNG, word)
        self._add_joined()
        near = [key for key in self._meanings if len(key) > 4]  # shorter names are near to anything
        self.emoji |= dict.fromkeys(_LISTS["undrawn"], (Kind.UNKNOWN, ""))
        drawn: dict[str, Meaning] = {}
        for text in emoji.EMOJI_DATA:
            name = english(text)
            for part in (name, name.replace(" face", "")):  # "tiger face"
                if text not in self.emoji and (meaning := self.exact(phrase(part))):
                    drawn[name] = meaning
        for word, wider in WIDER.items():
            self._add(phrases(wider.also.partition(";")[2]), Kind.WIDER, word)
            self._add(phrases(wider.young.partition(";")[2]), Kind.YOUNG, word)
        for name, meaning in drawn.items():
            self._add(phrases(lists.THINGS.get(name, "").partition(";")[2]), *meaning)
        self._add_grammar()
        self._add_others(drawn)
        self._add((*OTHERS, *INSTEAD), Kind.UNKNOWN)
        self._add_languages(drawn)
        self._index(near)

    def _add_others(self, drawn: Mapping[str, Meaning]) -> None:
        """Add words of other languages for things that are no class, as unknown words.

        A part of such a word may name a class: "章鱼" is an octopus, but contains the word for
        fish. Of names that overlap the longest is read, so the fish is not. `drawn` has the English
        names of the emoji that mean a class or a wider word.
        """
        for name, words in lists.THINGS.items():
            if name not in drawn:
                self._add(phrases(words.partition(";")[2]), Kind.UNKNOWN)
        emoji.config.load_language(["zh", "ja"])
        for text, data in emoji.EMOJI_DATA.items():
            if not any(self.exact(word) for word in phrase(english(text)).split()):
                for language in ("zh", "ja"):
                    self._add([phrase(data.get(language, "").replace("_", " "))], Kind.UNKNOWN)

    def exact(self, key: str) -> Meaning | None:
        """Return the meaning of a phrase, or of its words joined: "teapot" for "tea pot"."""
        if (meaning := super().exact(key)) or min(map(len, key.split(" "))) < 3:
            return meaning
        return super().exact(key.replace(" ", ""))

    def _means(self, key: str, name: str, distance: int) -> bool:
        """Return whether a phrase is a misspelling of a name.

        Each word of the phrase must equal the word at its place in the name, or misspell that word:
        "tired cat" does not mean "tiger cat".
        """
        means = super()._means
        return all(
            typed == meant
            or (
                len(typed) > 3
                and typed not in self._meanings
                and means(typed, meant, OSA.distance(typed, meant))
            )
            for typed, meant in zip(key.split(" "), name.split(" "), strict=True)
        )
