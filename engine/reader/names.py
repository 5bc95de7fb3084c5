"""The meanings of words in a prompt.

Some words are names, in many languages. Others join or count named things, and others name nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto

import emoji
from rapidfuzz import process
from rapidfuzz.distance import OSA

from engine.reader import words as lists


class Kind(Enum):
    """The part that a word plays in a prompt."""

    THING = auto()
    WIDER = auto()  # a word wider than any class: "dog"
    YOUNG = auto()  # the young of what a wider word means: "puppy"
    GROUND = auto()  # what fills a scene around its things: "grass"
    COLOUR = auto()  # a ground after "on" or before "background", else describes what follows
    COLOUR_BEHIND = auto()  # describes the thing before it, unless it is a ground
    FLOOR = auto()  # a ground where a colour would be one, and never a thing's colour
    SIZE = auto()
    PLACE = auto()
    COUNT = auto()
    ABOVE = auto()  # what precedes is above what follows
    BELOW = auto()
    RIGHT = auto()
    LINK = auto()  # side by side
    DENIAL = auto()  # denies what follows
    DENIAL_BEHIND = auto()  # denies what precedes
    GLUE = auto()
    BACKDROP = auto()
    ACTIVITY = auto()  # beside a person, means the thing that shows a person doing it
    UNKNOWN = auto()


Meaning = tuple[Kind, str | int]

THINGS = (Kind.THING, Kind.WIDER, Kind.YOUNG)
HUES = (Kind.COLOUR, Kind.COLOUR_BEHIND)
PLAIN = (*HUES, Kind.FLOOR)  # grounds only after "on" or before "background"
NOUNS = (*THINGS, Kind.GROUND, *PLAIN)  # may be in the plural
_ADJECTIVES = (*HUES, Kind.SIZE)  # have endings
LANGUAGES = ["de", "fr", "es", "it", "pt", "zh", "ja", "ru", "ko", "tr", "ar", "fa", "id"]
CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u0900-\u0dff\u0e00-\u0eff"
TOKEN = re.compile(
    rf"(?P<cjk>[{CJK}]+)|(?P<number>\d+[a-zA-Z]*)|(?:(?![{CJK}])[^\W\d_]|[{_MARKS}])+|&"
)
_HEAD_LAST = ("de", "ru", "tr", "ko")  # languages whose noun follows its adjective
_VOICED = "\u3099\u309a"  # the marks of kana, which make other letters
_LETTERS = str.maketrans(
    {"ı": "i", "ø": "o", "ł": "l", "đ": "d", "œ": "oe", "æ": "ae", "ي": "ی", "ك": "ک"}
)
_FACE = re.compile(
    r"^(?:rosto|cara|tete|faccina|visage|морда|голова) (?:d[ei] )?|の顔$| 얼굴$| gesicht$"
)
_PLURALS = re.compile(r"s\b")
_GERMAN = re.compile("^(?:hell|dunkel|knall)?(rot|.{4,}?)(?:e[rsnm]?)?$")
_RUSSIAN = re.compile("(?:[аяую]{2}|[ое]е|[ыи]е|[ое]го|[оеи]и|[ое]му|[ыи]м|[ое]м|[ыи]х|[ыи]ми)$")
_PARTICLES = re.compile("(?:이다|입니다|에서|에게|하고|이랑|[와과이가은는을를의에도랑들로])$")


def fold(text: str) -> str:
    """Return the text in lower case without accents, with hiragana for katakana."""
    marks = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in marks if c in _VOICED or unicodedata.category(c) != "Mn")
    plain = unicodedata.normalize("NFC", plain).translate(_LETTERS)
    return "".join(chr(ord(c) - 96) if "ァ" <= c <= "ヶ" else c for c in plain)


def phrase(text: str) -> str:
    """Return the folded words of a text, joined by spaces."""
    return " ".join(fold(match.group()) for match in TOKEN.finditer(text))


def once(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts in order without repeats, each in its first spelling."""
    spellings: dict[str, str] = {}
    for text in texts:
        spellings.setdefault(fold(text), text)
    return tuple(spellings.values())


def english(text: str) -> str:
    """Return the English name of an emoji, as in train.glyphs."""
    name: str = emoji.EMOJI_DATA[text]["en"]
    return name.strip(":").replace("_", " ").lower().replace("’", "'")


class Names:
    """Phrases and emoji, with their meanings; a phrase keeps the first meaning that it is given."""

    def __init__(self) -> None:
        self._meanings: dict[str, Meaning] = {}
        self._english: frozenset[str] = frozenset()
        self.emoji: dict[str, Meaning] = {}
        self.longest = self.longest_cjk = 1  # of names, in words and in characters
        self._near: dict[tuple[str, int], list[str]] = {}
        self._near_elsewhere: dict[tuple[str, int], list[str]] = {}

    def _add(self, keys: Iterable[str], kind: Kind, value: str | int = "") -> None:
        for key in keys:
            self._meanings.setdefault(key, (kind, value))

    def _add_joined(self) -> None:
        """Add each name again without its spaces: "teddybear".

        All names that were added before must be English; they are noted as the English names.
        """
        for key, meaning in list(self._meanings.items()):
            self._add([key.replace(" ", "")], *meaning)
        self._english = frozenset(self._meanings)

    def _add_grammar(self) -> None:
        for number, words in lists.COUNTS.items():
            keys = list(phrases(words))
            self._add(keys, Kind.COUNT, number)
            for key in keys:
                if re.fullmatch(f"[{CJK}]", key):
                    self._add((key + counter for counter in lists.COUNTERS), Kind.COUNT, number)
        for words, kind in (
            (lists.DENIAL, Kind.DENIAL),
            (lists.DENIAL_BEHIND, Kind.DENIAL_BEHIND),
            (lists.ABOVE, Kind.ABOVE),
            (lists.BELOW, Kind.BELOW),
            (lists.RIGHT, Kind.RIGHT),
            (lists.LINK, Kind.LINK),
            (lists.GLUE, Kind.GLUE),
            (lists.BACKDROP, Kind.BACKDROP),
        ):
            self._add(phrases(words), kind)

    def _add_languages(self, meanings: Mapping[str, Meaning]) -> None:
        """Add the names that the `emoji` package has for the emoji in `meanings`, in all LANGUAGES.

        `meanings` maps the English name of an emoji to its meaning. The noun in a name (the first
        or last word, depending on the language) gets the name's meaning too if it is long enough.
        Nouns are added after all names: a phrase keeps its first meaning, so names take precedence.
        """
        emoji.config.load_language(LANGUAGES)
        nouns: dict[str, Meaning] = {}
        for text, data in emoji.EMOJI_DATA.items():
            name = english(text)
            if name not in meanings:
                continue
            self.emoji[text] = meaning = meanings[name]
            if name != "automobile":  # whose "red car" is any car in red
                self._add(map(phrase, data.get("alias", ())), *meaning)
            noun = phrase(re.sub(r" (?:of|on|with) .*", "", name)).split()[-1]
            nouns.setdefault(noun, meaning)
            for language in LANGUAGES:
                for part in re.sub(r"\(.*?\)", "", data.get(language, "")).split("/"):
                    if not (key := _FACE.sub("", phrase(part.replace("_", " ")))):
                        continue
                    self._add([key], *meaning)
                    noun = key.split()[-1 if language in _HEAD_LAST else 0]
                    if len(noun) > 4 or not noun.isascii():
                        nouns.setdefault(noun, meaning)
        for noun, meaning in nouns.items():
            self._add([noun], *meaning)

    def _index(self, near: Iterable[str]) -> None:
        """Index all names; this is called after the last name was added.

        In an English prompt, only the names in `near` may be misspelt.
        """
        self.longest = 1 + max(key.count(" ") for key in self._meanings)
        self.longest_cjk = max(len(key) for key in self._meanings if re.match(f"[{CJK}]", key))
        self._near = _by_letter(near)
        self._near_elsewhere = _by_letter(
            key for key, (kind, _) in self._meanings.items() if kind in (*THINGS, Kind.GROUND)
        )

    def called(self) -> dict[str | int, list[str]]:
        """Return all folded phrases for each noun and place, by the value that they mean."""
        synonyms: dict[str | int, list[str]] = {}
        for key, (kind, value) in self._meanings.items():
            if kind in (*NOUNS, Kind.PLACE):
                synonyms.setdefault(value, []).append(key)
        return synonyms

    def is_english(self, text: str) -> bool:
        """Return whether a text is an English name, in the plural or not, or an emoji."""
        key = phrase(text)
        return not key or any(form in self._english for form in (key, *_stems(key)))

    def exact(self, key: str) -> Meaning | None:
        """Return the meaning of a phrase, as it stands."""
        return self._meanings.get(key)

    def form(self, key: str) -> Meaning | None:
        """Return the meaning of an inflected phrase.

        The phrase may be a plural, have a Korean particle or an Arabic article, or be an adjective
        with a German or Russian ending.
        """
        for form in _stems(key):
            meaning = self._meanings.get(form)
            if meaning and meaning[0] in (*NOUNS, Kind.SIZE):
                return meaning
        for form in _endings(key):
            meaning = self._meanings.get(form)
            if meaning and meaning[0] in _ADJECTIVES:
                return meaning
        return None

    def misspelt(self, key: str, elsewhere: bool) -> Meaning | None:
        """Return the meaning of the name that a phrase misspells, or None.

        English names are tried first, and the one that differs least is taken. It may differ by one
        letter, or by two if the phrase is long or has the same letters as the name. The first
        letter must be right.

        If the prompt is not English (`elsewhere`) or the phrase is not ASCII, things and grounds in
        all languages are tried next. They may differ by one letter; for a short ASCII phrase it
        must be the ending, such as the plural's.
        """
        if len(key) < 4:
            return None
        names = self._near.get((key[0], key.count(" ")), [])
        for name, distance, _ in process.extract(
            key, names, scorer=OSA.distance, score_cutoff=2, limit=None
        ):
            if self._means(key, name, distance):
                return self._meanings[name]
        if not elsewhere and key.isascii():
            return None
        names = self._near_elsewhere.get((key[0], key.count(" ")), [])
        for name, *_ in process.extract(key, names, scorer=OSA.distance, score_cutoff=1):
            ending = name in (key[:-1], key[:-1] + name[-1]) or key == name[:-1]
            if len(key) > 7 or not key.isascii() or ending:
                return self._meanings[name]
        return None

    def _means(self, key: str, name: str, distance: int) -> bool:
        """Return whether a phrase misspells a name; `distance` is their edit distance, 1 or 2."""
        if distance == 1 and len(key) == 4 and len(name) < 5 and sorted(name) != sorted(key):
            return False
        return distance == 1 or len(key) > 7 or (len(key) > 5 and set(key) == set(name))


def phrases(text: str) -> Iterator[str]:
    """Yield the folded phrases between the commas of a text."""
    return (key for part in text.split(",") if (key := phrase(part)))


def _by_letter(keys: Iterable[str]) -> dict[tuple[str, int], list[str]]:
    """Return an index of names by first letter and number of spaces.

    Short names, which may not be misspelt, are left out.
    """
    index: dict[tuple[str, int], list[str]] = {}
    for key in keys:
        if len(key) > 3:
            index.setdefault((key[0], key.count(" ")), []).append(key)
    return index


def _stems(word: str) -> Iterator[str]:
    """Yield the words that may be the base form of an inflected word.

    If `word` has several words, each may be a plural.
    """
    if "s " in word:
        yield _PLURALS.sub("", word)
    if word.endswith("s") and len(word) > 3:
        yield word[:-1]
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
            yield word[:-2]
        if word.endswith("ies"):
            yield word[:-3] + "y"
        if word.endswith("ves"):
            yield from (word[:-3] + "f", word[:-3] + "fe")
    if "가" <= word[-1] <= "힣":
        yield _PARTICLES.sub("", word)
    for prefix in ("وال", "ال", "و") if word[0] in "وا" else ():
        if word.startswith(prefix) and len(word) > len(prefix) + 1:
            yield word.removeprefix(prefix)


def _endings(word: str) -> Iterator[str]:
    """Yield the possible base forms of a German or Russian adjective: "rot" for "dunkelrotes"."""
    if match := _GERMAN.match(word):
        yield match.group(1)
    if match := _RUSSIAN.search(word):
        yield from (word[: match.start()] + ending for ending in ("ыи", "ии", "ои"))
