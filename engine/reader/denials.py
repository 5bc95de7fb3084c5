"""Finds what a prompt excludes from the picture: "a cat without a hat", "猫ではなく犬"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.reader.names import NOUNS, PLAIN, Kind, Names, fold
from engine.reader.prompt import Word, is_elsewhere
from engine.reader.words import ALTERNATIVES

_RELATIONS = (Kind.ABOVE, Kind.BELOW, Kind.RIGHT, Kind.LINK)
_DENIALS = (Kind.DENIAL, Kind.DENIAL_BEHIND)
_SILENT = (Kind.GLUE, Kind.COUNT)
_ENDS = tuple(kind for kind in (*NOUNS, Kind.PLACE, Kind.ACTIVITY) if kind not in PLAIN)


def deny(names: Names, words: list[Word]) -> list[Word]:
    """Mark denied words in `words` as unknown, and denials as words without meaning.

    A denial is a word such as "without". Returns the denied words as they were before.
    """
    elsewhere = is_elsewhere(word.text for word in words)
    denied = []
    for i, word in enumerate(words):
        if word.kind not in _DENIALS:
            continue
        if fold(word.text) == "no" and _is_portuguese(names, words, i, elsewhere):
            words[i] = replace(word, kind=Kind.LINK)
            continue
        words[i] = replace(word, kind=Kind.GLUE)
        scope = _behind(words, i) if word.kind is Kind.DENIAL else _before(words, i)
        for at in list(scope):
            denied.append(words[at])
            words[at] = replace(words[at], kind=Kind.UNKNOWN, value="")
    return denied


def _is_portuguese(names: Names, words: list[Word], at: int, elsewhere: bool) -> bool:
    """Return whether the "no" at `at` is Portuguese for "in the".

    It is Portuguese if the prompt is not in English (`elsewhere`), or if a word next to the "no" is
    a name that is not English. After punctuation it never counts as Portuguese.
    """
    beside = [words[i] for i in (at - 1, at + 1) if 0 <= i < len(words)]
    foreign = any(word.kind in NOUNS and not names.is_english(word.text) for word in beside)
    return not words[at].gap and (elsewhere or foreign)


def _behind(words: list[Word], denial: int) -> Iterator[int]:
    """Yield the index of each later word that the denial at index `denial` denies.

    These are the words that describe a noun, the noun itself, and the alternatives to the noun, but
    no word after punctuation. A relation at the beginning ("not on a bed") is not yielded, but is
    marked as a word without meaning.
    """
    begins, ends, noun = True, False, denial
    for at in range(denial + 1, len(words)):
        word = words[at]
        is_emoji = not word.text[0].isalnum()
        if word.kind in _DENIALS or (word.gap and not (begins and is_emoji)):
            return
        if fold(word.text) in ALTERNATIVES:
            begins, ends = True, False
        elif word.kind in _RELATIONS:
            if not begins:
                return
            words[at] = replace(word, kind=Kind.GLUE)
        elif word.kind not in _SILENT:
            compound = noun == at - 1 and (
                word.kind is Kind.COLOUR_BEHIND or (word.kind in NOUNS and word.text.isascii())
            )
            if ends and not compound:
                return
            yield at
            begins, ends, noun = False, word.kind in _ENDS, at


def _before(words: list[Word], denial: int) -> Iterator[int]:
    """Yield the index of the earlier noun or colour that the denial at `denial` denies, if any."""
    at = denial - 1
    while at >= 0 and words[at].kind in _SILENT and not words[at + 1].gap:
        at -= 1
    if at >= 0 and words[at].kind in (*_ENDS, *PLAIN) and not words[at + 1].gap:
        yield at
