"""The words of a prompt and what each means to the embedded model: names of its things, grounds and
places in many languages, words that join or count them, and words that name nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

import emoji
from rapidfuzz import process
from rapidfuzz.distance import OSA

from engine.models import embedded_grammar as grammar
from engine.models.embedded_words import COLOURS, GROUNDS, THINGS


class Kind(Enum):
    """What a word is to a prompt."""

    THING = auto()
    GROUND = auto()
    COLOUR = auto()  # a ground behind "on" or before "background"
    PLACE = auto()
    COUNT = auto()
    ABOVE = auto()  # what precedes is above what follows
    BELOW = auto()
    RIGHT = auto()
    LINK = auto()  # side by side
    GLUE = auto()
    BACKDROP = auto()
    ACTIVITY = auto()  # with a person, the thing that shows one doing it
    UNKNOWN = auto()


Meaning = tuple[Kind, str | int]


@dataclass(frozen=True, slots=True)
class Word:
    """Some words of a prompt that mean one thing. `gap`: punctuation stands before them; `sure`:
    spelt as the name is."""

    text: str
    kind: Kind
    value: str | int = ""
    gap: bool = False
    sure: bool = True

    @property
    def name(self) -> str:
        return str(self.value)


LANGUAGES = "de fr es it pt zh ja ru ko tr ar fa id".split()
_HEAD_LAST = ("de", "ru", "tr", "ko")  # where the noun stands behind its adjective
_LETTERS = str.maketrans("ıøłđœæيك", "iolđœæیک") | {ord("œ"): "oe", ord("æ"): "ae"}
_VOICED = "\u3099\u309a"  # the marks of kana, which make other letters
_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u0900-\u0dff\u0e00-\u0eff"
_TOKEN = re.compile(rf"(?P<cjk>[{_CJK}]+)|\d+[a-zA-Z]*|(?:(?![{_CJK}])[^\W\d_]|[{_MARKS}])+|&")
_JOINED = re.compile(r"[\s'’_-]*")  # between words of one name
_FACE = re.compile(
    r"^(?:rosto|cara|tete|faccina|visage|морда|голова) (?:d[ei] )?|の顔$| 얼굴$|-gesicht$"
)
_PARTICLES = "에서 에게 하고 이랑 와 과 이 가 은 는 을 를 의 에 도 랑 들 로".split()



def fold(text: str) -> str:
    """Lower case without accents; hiragana for katakana."""
    marks = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in marks if c in _VOICED or unicodedata.category(c) != "Mn")
    plain = unicodedata.normalize("NFC", plain).translate(_LETTERS)
    return "".join(chr(ord(c) - 96) if "ァ" <= c <= "ヶ" else c for c in plain)


def phrase(text: str) -> str:
    """The folded words of a name, between spaces."""
    return " ".join(fold(match.group()) for match in _TOKEN.finditer(text))


def _split(text: str) -> Iterator[str]:
    return (key for part in text.split(",") if (key := phrase(part)))


class Names:
    """What words mean, by the names in `world`: lists by the keys "glyphs", "grounds", "places"."""

    def __init__(self, world: Mapping[str, Sequence[str]]) -> None:
        self._meanings: dict[str, Meaning] = {}
        things, grounds = world["glyphs"], world["grounds"]
        for name in things:
            self._add([phrase(name)], Kind.THING, name)
        for name in grounds:
            self._add([phrase(name)], self._ground(name), name)
        for name in world["places"]:
            self._add([phrase(name)], Kind.PLACE, name)
            self._add(_split(grammar.PLACES.get(name, "")), Kind.PLACE, name)
        for name in grounds:
            self._add(_split(GROUNDS.get(name, "")), self._ground(name), name)
        for name in things:
            self._add(_split(THINGS.get(name, "")), Kind.THING, name)
        for name, words in grammar.ACTIVITIES.items():
            if name in things:
                self._add(_split(words), Kind.ACTIVITY, name)
        self._add_grammar()
        self._add_languages(frozenset(things))
        self._longest = 1 + max(key.count(" ") for key in self._meanings)
        self._longest_cjk = max(map(len, self._meanings))
        self._near: dict[tuple[str, int], list[str]] = {}
        for key, (kind, _) in self._meanings.items():
            if kind in (Kind.THING, Kind.GROUND) and len(key) > 3:
                self._near.setdefault((key[0], key.count(" ")), []).append(key)

    @staticmethod
    def _ground(name: str) -> Kind:
        return Kind.COLOUR if name in COLOURS else Kind.GROUND

    def _add(self, keys: Iterable[str], kind: Kind, value: str | int = "") -> None:
        """The first meaning of a key stands."""
        for key in keys:
            self._meanings.setdefault(key, (kind, value))

    def _add_grammar(self) -> None:
        for number, words in grammar.COUNTS.items():
            keys = list(_split(words))
            self._add(keys, Kind.COUNT, number)
            for key in keys:
                if len(key) == 1 and re.fullmatch(f"[{_CJK}]", key):
                    counted = grammar.COUNTERS.replace("人", "")
                    self._add((key + counter for counter in counted), Kind.COUNT, number)
        self._add(_split(grammar.ABOVE + "," + grammar.ABOVE_CJK), Kind.ABOVE)
        self._add(_split(grammar.BELOW), Kind.BELOW)
        self._add(_split(grammar.RIGHT), Kind.RIGHT)
        self._add(_split(grammar.LINK), Kind.LINK)
        self._add(_split(grammar.GLUE), Kind.GLUE)
        self._add(_split(grammar.BACKDROP), Kind.BACKDROP)
        self._add(grammar.OTHERS, Kind.UNKNOWN)

    def _add_languages(self, things: frozenset[str]) -> None:
        """The names that the `emoji` package has, then their nouns alone."""
        emoji.config.load_language(LANGUAGES)
        nouns: dict[str, str] = {}
        self._emoji: dict[str, str] = {}
        for text, data in emoji.EMOJI_DATA.items():
            name = _english(data["en"])
            if name not in things:
                continue
            self._emoji[text] = name
            self._add((phrase(alias) for alias in data.get("alias", ())), Kind.THING, name)
            if " " in name:
                nouns.setdefault(phrase(re.sub(r" (?:of|on|with) .*", "", name)).split()[-1], name)
            for language in LANGUAGES:
                for part in re.sub(r"\(.*?\)", "", data.get(language, "")).split("/"):
                    if not (key := _FACE.sub("", phrase(part.replace("_", " ")))):
                        continue
                    self._add([key], Kind.THING, name)
                    words = key.split()
                    noun = words[-1 if language in _HEAD_LAST else 0]
                    if len(words) > 1 and len(noun) > 2:
                        nouns.setdefault(noun, name)
        for noun, name in nouns.items():
            self._add([noun], Kind.THING, name)

    def read(self, prompt: str) -> list[Word]:
        """The prompt's words with what they mean, in its order, the longest names first."""
        text = unicodedata.normalize("NFC", prompt)
        found: list[Word] = []
        at = 0
        for match in emoji.emoji_list(text):
            found += self._read_plain(text[at : match["match_start"]])
            at = match["match_end"]
            found.append(self._read_emoji(match["emoji"]))
        return found + self._read_plain(text[at:])

    def _read_emoji(self, text: str) -> Word:
        """An emoji of the model's, or the last thing that its English name names."""
        name = self._emoji.get(text)
        if name is None:
            english = _english(emoji.EMOJI_DATA[text]["en"]).split(" with ")[0]
            named = [word for word in self._read_plain(english) if word.kind is Kind.THING]
            if not named or not named[-1].sure:
                return Word(text, Kind.UNKNOWN)
            name = named[-1].name
        return Word(text, Kind.THING, name, gap=True)

    def _read_plain(self, text: str) -> list[Word]:
        tokens = list(_TOKEN.finditer(text))
        folded = [fold(token.group()) for token in tokens]
        gaps = [
            not _JOINED.fullmatch(text, before.end(), token.start())
            for before, token in zip(tokens, tokens[1:], strict=False)
        ]
        gaps.insert(0, not _JOINED.fullmatch(text[: tokens[0].start()]) if tokens else False)
        found: list[Word] = []
        at = 0
        while at < len(tokens):
            if tokens[at].group("cjk"):
                counted = at > 0 and folded[at - 1].isdecimal()
                found += self._read_cjk(tokens[at].group(), gaps[at], counted)
                at += 1
                continue
            end = at + 1
            while end < len(tokens) and end - at < self._longest and not gaps[end]:
                end += 1
            word, used = self._longest_name(folded[at:end])
            typed = text[tokens[at].start() : tokens[at + used - 1].end()]
            found.append(Word(typed, word.kind, word.value, gaps[at], word.sure))
            at += used
        return found

    def _longest_name(self, words: list[str]) -> tuple[Word, int]:
        """What the words begin with and how many of them."""
        for length in range(len(words), 0, -1):
            if meaning := self._exact(words[:length]):
                return Word("", *meaning), length
        if words[0].isdecimal():
            return Word("", Kind.COUNT, int(words[0][:4])), 1
        for length in range(min(3, len(words)), 0, -1):
            if key := self._misspelt(words[:length]):
                return Word("", *self._meanings[key], sure=False), length
        return Word("", Kind.GLUE if len(words[0]) == 1 else Kind.UNKNOWN), 1

    def _exact(self, words: list[str]) -> Meaning | None:
        """The meaning of these words, as they stand, in the singular or without a particle."""
        key = " ".join(words)
        if found := self._meanings.get(key):
            return found
        for form in _stems(key):
            found = self._meanings.get(form)
            if found and found[0] in (Kind.THING, Kind.GROUND, Kind.COLOUR):
                return found
        return None

    def _misspelt(self, words: list[str]) -> str | None:
        """The name that differs least, by a letter or, if long, by two; the first letter is
        right."""
        key = " ".join(words)
        if len(words) > 1 and words[0] in self._meanings:
            return None
        names = self._near.get((key[0], len(words) - 1))
        if not names or len(key) < 4:
            return None
        most = 1 if len(key) < 8 else 2
        found = process.extractOne(key, names, scorer=OSA.distance, score_cutoff=most)
        if found is None and len(key) == 7 and len(words) == 1:
            longer = [name for name in names if len(name) > 7]
            found = process.extractOne(key, longer, scorer=OSA.distance, score_cutoff=2)
        if found is None:
            return None
        name = found[0]
        if len(key) == 4 and key.isascii() and (len(name) < 5 and sorted(name) != sorted(key)):
            return None
        return name

    def _read_cjk(self, text: str, gap: bool, counted: bool) -> list[Word]:
        """Names within a text without spaces; what lies between two of them is one word."""
        folded = fold(text)
        if len(folded) != len(text):  # compatibility letters
            text = folded
        found: list[Word] = []
        at = rest = 1 if counted and text[0] in grammar.COUNTERS.replace("人", "") else 0
        while at < len(text):
            end = next(
                (
                    end
                    for end in range(min(len(text), at + self._longest_cjk), at, -1)
                    if folded[at:end] in self._meanings
                ),
                0,
            )
            if end:
                if rest < at:
                    found.append(Word(text[rest:at], Kind.UNKNOWN))
                found.append(Word(text[at:end], *self._meanings[folded[at:end]]))
                at = rest = end
            else:
                at += 1
        if rest < len(text):
            found.append(Word(text[rest:], Kind.UNKNOWN))
        return found


def _english(name: str) -> str:
    """The `emoji` package's English name as train.glyphs has it."""
    return name.strip(":").replace("_", " ").lower().replace("’", "'")


def _stems(word: str) -> Iterator[str]:
    """What a word may be a form of: the plural of in English, in Korean with a particle, in Arabic
    with an article."""
    if word.endswith("s"):
        yield word[:-1]
        if word.endswith("es"):
            yield word[:-2]
        if word.endswith("ies"):
            yield word[:-3] + "y"
        if word.endswith("ves"):
            yield from (word[:-3] + "f", word[:-3] + "fe")
    if "가" <= word[-1] <= "힣":
        yield from (word.removesuffix(end) for end in _PARTICLES if word.endswith(end))
    for prefix in ("وال", "ال", "و"):
        if word.startswith(prefix) and len(word) > len(prefix) + 1:
            yield word.removeprefix(prefix)
