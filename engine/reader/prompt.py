"""The words of a prompt, each with its meaning."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import emoji

from engine.reader.names import THINGS, TOKEN, Kind, Names, english, fold
from engine.reader.words import COUNTERS, ELSEWHERE

_JOINED = re.compile(r"[\s\u200c'’_-]*")  # between words of one name
_TIMES = re.compile(r"(?<=\d)\s*[x×](?=\s)", re.IGNORECASE)  # "2 × cat"
_MISSPELT = 3  # most words of a name that is searched for misspelt


@dataclass(frozen=True, slots=True)
class Word:
    """Some words of a prompt that mean one thing.

    `gap` is true if punctuation comes before the words, or if they are a known emoji. It is always
    false in a text without spaces, such as Chinese. `sure` is false if the words are misspelt.
    """

    text: str
    kind: Kind
    value: str | int = ""
    gap: bool = False
    sure: bool = True

    @property
    def name(self) -> str:
        return str(self.value)


def read_words(names: Names, prompt: str) -> list[Word]:
    """Return all words of a prompt in order; of names that overlap, the longest is read."""
    text = _TIMES.sub("", unicodedata.normalize("NFC", prompt))
    elsewhere = is_elsewhere([text])
    words: list[Word] = []
    known: dict[str, Word] = {}
    at = 0
    for match in emoji.emoji_list(text):
        words += _read_plain(names, text[at : match["match_start"]], elsewhere)
        at = match["match_end"]
        if match["emoji"] not in known:
            known[match["emoji"]] = _read_emoji(names, match["emoji"])
        words.append(known[match["emoji"]])
    return [*words, *_read_plain(names, text[at:], elsewhere)]


def is_elsewhere(texts: Iterable[str]) -> bool:
    """Return whether a prompt is not English. `texts` are the whole prompt or its words.

    A prompt counts as not English if it has one of ELSEWHERE: words such as "auf" and "avec", which
    no English prompt has.
    """
    return any(not ELSEWHERE.isdisjoint(fold(text).split()) for text in texts)


def _read_emoji(names: Names, text: str) -> Word:
    """Return the word that an emoji stands for.

    If `names` has a meaning for the emoji, the word has that meaning. Otherwise the emoji's English
    name is read up to its first "with", and the word means the last thing in that part. If the part
    has no thing, the word is unknown.
    """
    if meaning := names.emoji.get(text):
        return Word(text, *meaning, gap=True)
    name = english(text).split(" with ")[0]
    for part in (name.replace(" face", ""), name):  # "cat face" is a cat
        words = _read_plain(names, part, elsewhere=False)
        things = [word for word in words if word.kind in THINGS and word.sure]
        if things:
            return replace(things[-1], text=text, gap=True)
    return Word(text, Kind.UNKNOWN)


def _read_plain(names: Names, text: str, elsewhere: bool) -> list[Word]:
    tokens = list(TOKEN.finditer(text))
    folded = [fold(token.group()) for token in tokens]
    ends = [0, *(token.end() for token in tokens)]
    gaps = [
        not _JOINED.fullmatch(text, end, token.start())
        for end, token in zip(ends, tokens, strict=False)
    ]
    words: list[Word] = []
    at = 0
    while at < len(tokens):
        if tokens[at].group("cjk"):
            counted = at > 0 and bool(tokens[at - 1].group("number"))
            words += _read_cjk(names, tokens[at].group(), counted)
            at += 1
            continue
        end = at + 1
        while end < min(len(tokens), at + names.longest) and not gaps[end]:
            end += 1
        if _is_before_longer(names, folded[at:end]):
            end = at + 1
        kind, value, used, sure = _longest(names, folded[at:end], elsewhere)
        typed = text[tokens[at].start() : tokens[at + used - 1].end()]
        words.append(Word(typed, kind, value, gaps[at], sure))
        at += used
    return words


def _is_before_longer(names: Names, words: list[str]) -> bool:
    """Return whether the first of `words` is a colour that must be read as a word by itself.

    That is so if a name of several words starts at the colour, and a name that starts at the next
    word reaches further. In "blue water wave", "blue water" starts at the colour, and "water wave"
    reaches further.
    """
    if (names.exact(words[0]) or (None,))[0] is not Kind.COLOUR:
        return False
    ends = range(len(words), 1, -1)
    longer = next((end for end in ends if names.exact(" ".join(words[1:end]))), 0)
    return longer > next((end for end in ends if names.exact(" ".join(words[:end]))), longer)


def _longest(names: Names, words: list[str], elsewhere: bool) -> tuple[Kind, str | int, int, bool]:
    """Return the meaning of the longest name with which `words` begin: its kind and value.

    Also returns how many words the name has, and whether it is spelt correctly. If `words` begin
    with no name, the result is about the first word alone: a number, or a kind that means nothing.
    """
    for used in range(len(words), 0, -1):
        key = " ".join(words[:used])
        if meaning := names.exact(key) or names.form(key):
            return *meaning, used, True
    if words[0].isdecimal():
        return Kind.COUNT, int(words[0][:4]), 1, True
    for used in range(min(_MISSPELT, len(words)), 0, -1):
        if meaning := names.misspelt(" ".join(words[:used]), elsewhere):
            return *meaning, used, False
    return Kind.GLUE if len(words[0]) == 1 else Kind.UNKNOWN, "", 1, True


def _read_cjk(names: Names, text: str, counted: bool) -> Iterator[Word]:
    """Yield the words of a text without spaces: the names in it, and unknown words.

    Each stretch of text outside names is one unknown word. `counted` is true if a number in digits
    comes before the text. Then a counter at the text's beginning is skipped ("只" in "3只猫").
    """
    folded = fold(text)
    if len(folded) != len(text):  # compatibility characters
        text = folded
    at = begin = 1 if counted and text[0] in COUNTERS else 0
    ends = _segment(names, folded)
    while at < len(text):
        end = ends[at]
        meaning = names.exact(folded[at:end])
        if meaning:
            if begin < at:
                yield Word(text[begin:at], Kind.UNKNOWN)
            yield Word(text[at:end], *meaning)
            begin = end
        at = end
    if begin < len(text):
        yield Word(text[begin:], Kind.UNKNOWN)


def _segment(names: Names, text: str) -> list[int]:
    """Return, for each character, the end of the word that begins there.

    As few characters as possible are outside of names; of the ways to achieve that, the one with
    the fewest words is chosen. So "猫とりんご" is "猫|と|りんご", though "とり" is a bird.
    """
    ends = [0] * len(text)
    costs = [(0, 0)] * (len(text) + 1)  # unknown characters and words from there on
    for at in reversed(range(len(text))):
        unknown, count = costs[at + 1]
        costs[at], ends[at] = (unknown + 1, count + 1), at + 1
        for end in range(min(len(text), at + names.longest_cjk), at, -1):
            unknown, count = costs[end]
            if (unknown, count + 1) < costs[at] and names.exact(text[at:end]):
                costs[at], ends[at] = (unknown, count + 1), end
    return ends
