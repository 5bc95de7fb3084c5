"""Things in other colours: a glyph's main colours become one of eleven, and keep their shading.

The colours are changed in Oklab (Ottosson 2020). A glyph's main colours are those of one hue, or
its light greys, or its dark greys, whichever of these cover the largest part of the glyph.
`paint.toml` names the things that take no colour. For some things it also names the main colours,
because their largest part is not the one that people mean. `python -m train.paint OUT.png NAME ..`
draws things in all colours.
"""

from __future__ import annotations

import argparse
import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from engine.reader.colours import TO_LAB, TO_LMS, oklab, recoloured
from engine.reader.scene import COLOURS, SIZES
from train.glyphs import glyphs, names

RGB = {  # colours of plain grounds and of things
    "red": (222, 56, 50),
    "orange": (244, 144, 44),
    "yellow": (250, 216, 76),
    "green": (70, 164, 82),
    "blue": (52, 120, 214),
    "purple": (134, 84, 190),
    "pink": (246, 158, 190),
    "white": (248, 248, 246),
    "grey": (150, 154, 160),
    "black": (26, 28, 34),
    "brown": (128, 86, 58),
    "sky blue": (140, 204, 246),
}
CONTRAST = {"black": 0.6, "white": 0.6}  # share of the shading that these colours keep
SHADING = 0.85  # share of the shading that other colours keep
GREY = 0.045  # chroma below which a colour is grey
BINS = 72  # bins of hues
WIDE = np.deg2rad(40)  # how far from the main hue a colour may be
_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
MAIN: dict[str, str] = _LISTS["main"]


@functools.cache
def coloured() -> tuple[str, ...]:
    """Return the names of the things that take a colour, in the order of all names."""
    own = {*_LISTS["own"], *(n for n, heading in names().items() if heading in _LISTS["headings"])}
    return tuple(sorted(names().keys() - own))


@functools.cache
def takes(name: str, colour: str) -> bool:
    """Return whether thing `name` can have `colour`.

    It cannot if the thing takes no colour, or if both together name another thing ("green apple").
    """
    return name in coloured() and recoloured(name, colour, names()) == (name, colour)


def to_rgb(lab: np.ndarray) -> np.ndarray:
    """Convert Oklab [.., 3] to sRGB [.., 3] in 0..1; values out of range are clipped."""
    linear = (lab @ np.linalg.inv(TO_LAB).T) ** 3 @ np.linalg.inv(TO_LMS).T
    linear = linear.clip(0, 1)
    return np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)


def step(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return a smooth step of `x`, from 0 at `low` to 1 at `high`."""
    t = ((x - low) / (high - low)).clip(0, 1)
    return t * t * (3 - 2 * t)


@dataclass(frozen=True, slots=True)
class Parts:
    """A glyph's pixels in Oklab [H, W, 3], and each pixel's share of the main colours [H, W]."""

    lab: np.ndarray
    main: np.ndarray


@functools.cache
def parts(name: str, size: str = "") -> Parts:
    """Return a thing's `Parts`.

    If MAIN does not name the thing's main colours, they are those of the glyph's largest part.
    """
    glyph, kind = glyphs(8 * SIZES[size])[name], MAIN.get(name, "")
    alpha = glyph[..., 3]
    lab = oklab(255 * (glyph[..., :3] / np.maximum(alpha, 1e-3)[..., None]).clip(0, 1))
    light, chroma = lab[..., 0], np.hypot(lab[..., 1], lab[..., 2])
    hue = np.arctan2(lab[..., 2], lab[..., 1])
    grey = 1 - step(chroma, GREY - 0.02, GREY + 0.02)

    def near(angle: float) -> np.ndarray:
        far = np.abs((hue - angle + np.pi) % (2 * np.pi) - np.pi)
        return (1 - grey) * (1 - step(far, WIDE, 1.5 * WIDE))

    if kind in RGB:
        mask = near(float(np.arctan2(*oklab(RGB[kind])[:0:-1])))
    elif kind == "all":
        mask = np.ones_like(alpha)
    else:
        bins = ((hue + np.pi) / (2 * np.pi) * BINS).astype(int) % BINS
        rich = np.bincount(bins.flat, (alpha * (1 - grey) * chroma).flat, BINS)
        reach = int(BINS * WIDE / (2 * np.pi))
        around = sum(np.roll(rich, shift) for shift in range(-reach, reach + 1))
        best = (np.argmax(around) + 0.5) * 2 * np.pi / BINS - np.pi
        choices = {
            "hue": near(float(best)),
            "light": grey * step(light, 0.4, 0.6),
            "dark": grey * (1 - step(light, 0.5, 0.7)),
        }
        mask = choices.get(kind, max(choices.values(), key=lambda w: float((alpha * w).sum())))
    return Parts(lab, mask)


@functools.cache
def painted(name: str, colour: str = "", size: str = "") -> np.ndarray:
    """Return a thing in a colour as premultiplied float32 RGBA [8 s, 8 s, 4], s = SIZES[size].

    The thing covers s x s tokens. `colour` is one of COLOURS, or "" for the thing's own. The main
    colours keep most of their differences of lightness (SHADING, CONTRAST), and their ratios of
    chroma up to a limit.
    """
    glyph = glyphs(8 * SIZES[size])[name]
    if not colour:
        return glyph
    some, alpha = parts(name, size), glyph[..., 3]
    weight = some.main * alpha
    light, chroma = some.lab[..., 0], np.hypot(some.lab[..., 1], some.lab[..., 2])
    total = max(float(weight.sum()), 1e-6)
    middle, mean = float((light * weight).sum()) / total, float((chroma * weight).sum()) / total
    aim = oklab(RGB[colour])
    lightness = aim[0] + (light - middle) * CONTRAST.get(colour, SHADING)
    rich = (chroma / mean).clip(0.6, 1.25) if mean > GREY else np.ones_like(chroma)
    new = np.stack([lightness.clip(0.08, 0.985), aim[1] * rich, aim[2] * rich], -1)
    rgb = to_rgb(some.lab + some.main[..., None] * (new - some.lab)).astype(np.float32)
    return np.concatenate([rgb * alpha[..., None], alpha[..., None]], -1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw things in all colours, a row each.")
    parser.add_argument("out")
    parser.add_argument("names", nargs="*", help="all that take a colour, if none is named")
    args = parser.parse_args()
    listed = args.names or coloured()
    rows = [
        np.concatenate([_on_grey(painted(name, colour)) for colour in ("", *COLOURS)], 1)
        for name in listed
    ]
    Image.fromarray(np.concatenate(rows)).save(args.out)


def _on_grey(glyph: np.ndarray) -> np.ndarray:
    return ((glyph[..., :3] + (1 - glyph[..., 3:]) * 0.8) * 255 + 0.5).astype(np.uint8)


if __name__ == "__main__":
    main()
