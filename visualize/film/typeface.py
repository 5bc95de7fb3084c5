"""Draws text on pictures, only with the fonts in fonts/, so that all machines draw it alike.

The fonts have Latin, Greek, Cyrillic, Arabic, Hebrew, Devanagari, Thai, Chinese, Japanese, Korean
and emoji; any other character is drawn as a box. If Pillow finds FriBiDi, Raqm joins the letters of
Arabic and Devanagari and orders text that runs from right to left.
"""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

FONTS = Path(__file__).parent / "fonts"
WEIGHTS = {False: "NotoSans-Regular", True: "NotoSans-Bold"}
# Fonts for the characters that the fonts of WEIGHTS lack. Each has one weight only.
BESIDE = ("DroidSansFallback", "NotoSansCJK-Bold", "NotoEmoji-Bold")
# No font has this noncharacter, so a font draws it like every character that the font lacks.
NOWHERE = "\uffff"
NON_JOINER = "\u200c"  # has no shape, but changes the shapes of Persian letters beside it


@dataclass(frozen=True, slots=True)
class Typeface:
    """A size in pixels and a weight."""

    size: int
    bold: bool = False

    def length(self, text: str) -> float:
        return sum(font.getlength(part) for font, part in self._runs(text))

    def draw(
        self,
        image: Image.Image,
        xy: tuple[float, float],
        text: str,
        ink: str,
        *,
        right: bool = False,
    ) -> None:
        """Draw `text` as one line whose baseline begins at `xy` or, with `right`, ends at `xy`."""
        x, y = xy
        if right:
            x -= self.length(text)
        pen = ImageDraw.Draw(image)
        for font, part in self._runs(text):
            pen.text((x, y), part, ink, font, anchor="ls")
            x += font.getlength(part)

    def fit(self, text: str, width: float) -> str:
        """Return the text if it fits into the width, else its beginning and an ellipsis."""
        if self.length(text) <= width:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if self.length(text[:middle] + "…") <= width else (low, middle - 1)
            )
        return text[:low].rstrip() + "…"

    def wrap(self, text: str, width: float, lines: int) -> list[str]:
        """Return the text in at most `lines` lines, with the last line cut short if necessary."""
        out: list[str] = []
        words = " ".join(text.split()).split(" ")
        while words and len(out) < lines - 1:
            count = 1
            while count < len(words) and self.length(" ".join(words[: count + 1])) <= width:
                count += 1
            if count == 1 and self.length(words[0]) > width:
                cut = max(1, len(self.fit(words[0], width)) - 1)
                out.append(words[0][:cut])
                words[0] = words[0][cut:]
            else:
                out.append(" ".join(words[:count]))
                words = words[count:]
        return [*out, self.fit(" ".join(words), width)] if words else out

    def _runs(self, text: str) -> list[tuple[ImageFont.FreeTypeFont, str]]:
        """Split the text into parts, each with the font that draws it."""
        names: list[str] = []
        chars = [char for char in map(_plain, unicodedata.normalize("NFC", text)) if char]
        for char in chars:
            # A combining mark is drawn together with the letter before it, in that letter's font.
            joins = names and (unicodedata.combining(char) or char == NON_JOINER)
            names.append(names[-1] if joins else _name_of(char, self.bold))
        runs = groupby(zip(names, chars, strict=True), lambda pair: pair[0])
        return [(_font(name, self.size), "".join(char for _, char in run)) for name, run in runs]


def _plain(char: str) -> str:
    """Return a character as it is drawn: itself, a blank or "".

    White space becomes a blank. Joiners except NON_JOINER, direction marks, variation selectors,
    skin tones and control characters have no shape of their own and become "".
    """
    if char.isspace():
        return " "
    if char == NON_JOINER:
        return char
    silent = "\ufe00" <= char <= "\ufe0f" or "\U0001f3fb" <= char <= "\U0001f3ff"
    return "" if silent or unicodedata.category(char) in ("Cc", "Cf", "Cs") else char


@functools.lru_cache(4096)
def _name_of(char: str, bold: bool) -> str:
    """Return the name of the first font that has `char`; if none has it, the text font's name."""
    for name in (WEIGHTS[bold], *BESIDE):
        font = _font(name, 20)
        if _shape(font, char) != _shape(font, NOWHERE):
            return name
    return WEIGHTS[bold]


def _shape(font: ImageFont.FreeTypeFont, char: str) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(char)
    return mask.size, bytes(mask)


@functools.lru_cache(64)
def _font(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONTS / f"{name}.woff2", size)


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of a drawing: `factor` pixels for each pixel at scale 1.

    `px` converts a length to pixels, and `face` returns a typeface. Both take sizes at scale 1.
    """

    factor: float

    def px(self, length: float) -> int:
        return round(length * self.factor)

    def face(self, size: int, bold: bool = False) -> Typeface:
        return Typeface(self.px(size), bold)
