"""Glyphs: the emoji that the embedded model knows, and their bitmaps.

A glyph is drawn once from the Noto Color Emoji font (Debian package `fonts-noto-color-emoji`, SIL
OFL). The glyph is cropped and scaled to fit a square, most often of `SIDE` pixels. The list
glyphs.txt is hand-picked: well-known things and people with distinct shapes, and only one of each
set of look-alikes. It has few flags, signs and smileys, which look too alike at this size.
"""

from __future__ import annotations

import functools
from pathlib import Path

import emoji
import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONT = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")
SIDE = 80

NAMES = Path(__file__).with_name("glyphs.txt")  # one per line, under headings with #


@functools.cache
def names() -> dict[str, str]:
    """Return the wanted glyphs' names, each with its heading in glyphs.txt."""
    headings, heading = dict[str, str](), ""
    for line in NAMES.read_text("utf-8").splitlines():
        if line.startswith("#"):
            heading = line.removeprefix("# ")
        elif line:
            headings[line] = heading
    return headings


PEOPLE = frozenset(name for name, heading in names().items() if heading == "people")


@functools.cache
def font() -> ImageFont.FreeTypeFont:
    """Return the emoji font at its only bitmap size.

    Raises FileNotFoundError, with the name of the package to install, if the font is missing.
    """
    if not FONT.exists():
        raise FileNotFoundError(
            f"{FONT} is missing. Install it: apt-get install fonts-noto-color-emoji"
        )
    return ImageFont.truetype(str(FONT), 109)


def draw(text: str, side: int) -> np.ndarray | None:
    """Draw `text` as float32 RGBA [side, side, 4] in 0..1; return None if it is not one glyph."""
    box = font().getbbox(text)
    if not 0 < box[2] - box[0] <= 140:
        return None
    canvas = Image.new("RGBA", (160, 160))
    ImageDraw.Draw(canvas).text((10, 10), text, font=font(), embedded_color=True)
    ink = canvas.getchannel("A").getbbox()
    if ink is None:
        return None
    canvas = canvas.crop(ink)
    scale = side / max(canvas.size)
    size = [max(1, round(length * scale)) for length in canvas.size]
    # Premultiplied, so that the invisible pixels' colour does not bleed into the edge.
    pixels = np.asarray(canvas, np.float32) / 255
    pixels[..., :3] *= pixels[..., 3:]
    planes = [
        np.asarray(Image.fromarray(pixels[..., c]).resize(size, Image.Resampling.LANCZOS))
        for c in range(4)
    ]
    glyph = np.zeros((side, side, 4), np.float32)
    top, left = (side - size[1]) // 2, (side - size[0]) // 2
    glyph[top : top + size[1], left : left + size[0]] = np.clip(np.stack(planes, -1), 0, 1)
    return glyph


@functools.cache
def glyphs(side: int = SIDE) -> dict[str, np.ndarray]:
    """Return the glyphs that the model knows, in the order of their names.

    Each glyph is premultiplied float32 RGBA [side, side, 4]. Raises ValueError if the font or
    the `emoji` package lacks a glyph.
    """
    wanted = names()
    known_glyphs: dict[str, np.ndarray] = {}
    for text, data in emoji.EMOJI_DATA.items():
        name = data["en"].strip(":").replace("_", " ").lower().replace("’", "'")
        if (
            name in wanted
            and data["status"] == emoji.STATUS["fully_qualified"]
            and (glyph := draw(text, side)) is not None
        ):
            known_glyphs[name] = glyph
    if missing := sorted(wanted.keys() - known_glyphs.keys()):
        raise ValueError(f"the font or the emoji package has no glyph for: {', '.join(missing)}")
    return dict(sorted(known_glyphs.items()))
