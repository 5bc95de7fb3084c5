"""Text on pictures: any text that a visitor can type, in whatever fonts there are.

Pillow's own font knows ASCII only, so the first choice is a font that Gradio ships (IBM Plex Sans:
Latin, Greek, Cyrillic); then what the system has by the names of Debian's packages; a character
that no font knows becomes a box.
"""

from __future__ import annotations

import functools
import importlib.util
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

_GRADIO = "templates/frontend/static/fonts/IBMPlexSans/IBMPlexSans-{}.woff2"
_SYSTEM = {
    False: ("DejaVuSans.ttf", "NotoSansCJK-Regular.ttc"),
    True: ("DejaVuSans-Bold.ttf", "NotoSansCJK-Bold.ttc"),
}
_EMOJI, _EMOJI_SIZE = "NotoColorEmoji.ttf", 109  # its bitmaps come in this one size
# a noncharacter: what a font draws for it, it draws for everything it does not know
_NOWHERE = "\uffff"
_BOX, _PICTURE = -1, -2  # instead of the index of a font


@dataclass(frozen=True, slots=True)
class Typeface:
    """A size in pixels and a weight."""

    size: int
    bold: bool = False

    def length(self, text: str) -> float:
        return sum(self._width(kind, part) for kind, part in self._runs(text))

    def draw(
        self,
        image: Image.Image,
        xy: tuple[float, float],
        text: str,
        ink: str,
        *,
        right: bool = False,
    ) -> None:
        """Draws one line with its baseline at xy, which is its left end or, with `right`, its right
        one."""
        x, y = xy[0] - (self.length(text) if right else 0), xy[1]
        pen = ImageDraw.Draw(image)
        for kind, part in self._runs(text):
            if kind == _PICTURE:
                for i, char in enumerate(part):
                    corner = round(x + i * self._side), round(y - 0.85 * self._side)
                    if sprite := _emoji(char, self._side):
                        image.paste(sprite, corner, sprite)
            elif kind == _BOX:
                for i in range(len(part)):
                    left = x + (i + 0.1) * self._side / 1.6
                    pen.rectangle(
                        (left, y - 0.7 * self.size, left + 0.8 * self._side / 1.6, y), outline=ink
                    )
            else:
                pen.text((x, y), part, ink, _fonts(self.size, self.bold)[kind], anchor="ls")
            x += self._width(kind, part)

    def fit(self, text: str, width: float) -> str:
        """The text, or as much of it as fits, with an ellipsis."""
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
        """The text in at most so many lines, the last of them cut short if it must be."""
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

    @property
    def _side(self) -> float:
        return round(1.15 * self.size)

    def _width(self, kind: int, part: str) -> float:
        if kind == _PICTURE:
            return len(part) * self._side
        if kind == _BOX:
            return len(part) * self._side / 1.6
        return _fonts(self.size, self.bold)[kind].getlength(part)

    def _runs(self, text: str) -> list[tuple[int, str]]:
        """The text in parts that are drawn alike: (index of a font, or box, or picture;
        characters)."""
        chars = [char for char in map(_plain, unicodedata.normalize("NFC", text)) if char]
        kinds: list[int] = []
        for char in chars:
            font = _font_of(char, self.bold)
            # A mark goes with the letter before it, which its font draws together with it if it
            # can.
            kinds.append(
                kinds[-1] if unicodedata.combining(char) and kinds and kinds[-1] >= 0 else font
            )
        pairs = zip(kinds, chars, strict=True)
        return [
            (kind, "".join(char for _, char in run))
            for kind, run in groupby(pairs, lambda pair: pair[0])
        ]


def _plain(char: str) -> str:
    """White space as a blank; nothing of what has no shape of its own (joiners, directions,
    variants, skin tones, controls)."""
    if char.isspace():
        return " "
    silent = "\ufe00" <= char <= "\ufe0f" or "\U0001f3fb" <= char <= "\U0001f3ff"
    return "" if silent or unicodedata.category(char) in ("Cc", "Cf", "Cs") else char


@functools.lru_cache(4096)
def _font_of(char: str, bold: bool) -> int:
    if char >= "\U0001f000" and _emoji(char, 20):
        return _PICTURE
    for i, font in enumerate(_fonts(20, bold)):
        if char == " " or _shape(font, char) != _shape(font, _NOWHERE):
            return i
    return _PICTURE if _emoji(char, 20) else _BOX


def _shape(font: ImageFont.FreeTypeFont, char: str) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(char)
    return mask.size, bytes(mask)


@functools.lru_cache(64)
def _fonts(size: int, bold: bool) -> tuple[ImageFont.FreeTypeFont, ...]:
    spec = importlib.util.find_spec("gradio")
    homes = (spec.submodule_search_locations if spec else None) or []
    names = [
        str(Path(home) / _GRADIO.format(weight))
        for home in homes
        for weight in (("Bold",) * bold + ("Regular",))
    ]
    found: list[ImageFont.FreeTypeFont] = []
    for name in (*names, *_SYSTEM[bold]):
        try:
            found.append(ImageFont.truetype(name, size))
        except OSError:
            continue
    default = ImageFont.load_default(size)
    assert isinstance(default, ImageFont.FreeTypeFont)
    return (*found, default)


@functools.lru_cache(256)
def _emoji(char: str, side: int) -> Image.Image | None:
    """A character of the emoji font as a picture of side x side pixels, or None where it has
    none."""
    try:
        font = ImageFont.truetype(_EMOJI, _EMOJI_SIZE)
    except OSError:
        return None
    box = font.getbbox(char)
    if box[2] <= box[0] or _shape(font, char) == _shape(font, _NOWHERE):
        return None
    image = Image.new("RGBA", (round(box[2]), round(box[3])))
    ImageDraw.Draw(image).text((0, 0), char, font=font, embedded_color=True)
    return image.resize((side, side), Image.Resampling.LANCZOS)


@dataclass(frozen=True, slots=True)
class Scale:
    """Lengths and typefaces of a drawing, `factor` times those that it is described in."""

    factor: float

    def px(self, length: float) -> int:
        return round(length * self.factor)

    def face(self, size: int, bold: bool = False) -> Typeface:
        return Typeface(self.px(size), bold)
