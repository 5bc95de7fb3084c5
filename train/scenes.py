"""Scenes: one to four glyphs on a ground, with a caption; 160 x 160 pixels, rendered on the fly.

Glyphs stand at whole tokens (8 pixels), so that a glyph has the same codes in every place. In a
trial nothing else mattered more for a small model. In half of the scenes some glyphs have a colour
that is not their own. Many single glyphs are tiny or huge. A scene is a pure function of (seed,
index).

`python -m train.scenes OUT.png` draws a contact sheet.
"""

from __future__ import annotations

import argparse
import functools
import zlib
from collections.abc import Callable
from typing import TypedDict, Unpack

import numpy as np
from PIL import Image

from engine.reader.scene import COLOURS, PLACES, SIZES, Layout, Scene
from engine.reader.scene import SIDE as TOKENS
from train.glyphs import glyphs
from train.paint import RGB, painted, takes

PATCH = 8  # pixels a token
SIZE = PATCH * TOKENS
SHARES = {  # shares of the layouts
    Layout.ONE: 0.44,
    Layout.PAIR: 0.2,
    Layout.STACK: 0.12,
    Layout.THREE: 0.1,
    Layout.FOUR: 0.14,
}
EQUAL = 0.25  # share of scenes with several things that repeat a thing
CENTRAL = 0.25  # share of single things placed at the centre without drawing a place

COLOURFUL = 0.5  # share of scenes in which things have colours not their own
COLOURED = 0.8  # share of the things in such scenes that have a colour not their own
SIZED = 0.6  # share of single things that are tiny or huge

Ground = Callable[[np.random.Generator], np.ndarray]


def _colour(rgb: tuple[int, int, int]) -> np.ndarray:
    return np.asarray(rgb, np.float32) / 255


def _noise(rng: np.random.Generator, across: float, down: float) -> np.ndarray:
    """Return smooth noise [SIZE, SIZE] with features of `across` x `down` pixels.

    The noise has mean 0 and a standard deviation of about 1.
    """
    rows, columns = (int(SIZE / d) + 4 for d in (down, across))
    coarse = Image.fromarray(rng.standard_normal((rows, columns)).astype(np.float32))
    wide = (int(columns * across), int(rows * down))
    fine = np.asarray(coarse.resize(wide, Image.Resampling.BICUBIC))
    top, left = rng.integers(0, fine.shape[0] - SIZE + 1), rng.integers(0, fine.shape[1] - SIZE + 1)
    return fine[top : top + SIZE, left : left + SIZE] * 1.3


def _mix(amount: np.ndarray, low: tuple[int, int, int], high: tuple[int, int, int]) -> np.ndarray:
    amount = np.clip(amount, 0, 1)[..., None]
    return _colour(low) * (1 - amount) + _colour(high) * amount


def _plain(rgb: tuple[int, int, int]) -> Ground:
    return lambda rng: np.broadcast_to(_colour(rgb), (SIZE, SIZE, 3))


def _gradient(top: tuple[int, int, int], bottom: tuple[int, int, int]) -> Ground:
    ramp = np.linspace(0, 1, SIZE, dtype=np.float32)[:, None].repeat(SIZE, 1)
    return lambda rng: _mix(ramp, top, bottom)


def _clouds(low: tuple[int, int, int], high: tuple[int, int, int]) -> Ground:
    return lambda rng: _mix(
        0.45 + 0.3 * _noise(rng, 34, 26) + 0.12 * _noise(rng, 14, 11), low, high
    )


def _texture(
    low: tuple[int, int, int], high: tuple[int, int, int], across: float, down: float
) -> Ground:
    """Return a ground of noise at two scales, the finer about as large as a token.

    Neighbouring tokens depend on each other a little, and no token is certain.
    """

    def ground(rng: np.random.Generator) -> np.ndarray:
        return _mix(
            0.5 + 0.22 * _noise(rng, across, down) + 0.14 * _noise(rng, 3 * across, 3 * down),
            low,
            high,
        )

    return ground


def _stripes(low: tuple[int, int, int], high: tuple[int, int, int]) -> Ground:
    """Return a ground of soft stripes, upright, level or slanted, with a random phase.

    The first tokens of stripes are uncertain, later tokens nearly certain.
    """

    def ground(rng: np.random.Generator) -> np.ndarray:
        y, x = np.mgrid[:SIZE, :SIZE].astype(np.float32)
        along = (x, y, (x + y) / 2)[rng.integers(3)] / 32 + rng.integers(4) / 4
        return _mix(0.5 + 0.8 * np.sin(2 * np.pi * along), low, high)

    return ground


def _stars(rng: np.random.Generator) -> np.ndarray:
    sky = _mix(
        np.linspace(0, 1, SIZE, dtype=np.float32)[:, None].repeat(SIZE, 1),
        (14, 18, 52),
        (44, 40, 96),
    ).copy()
    for row, column in rng.integers(0, TOKENS, (TOKENS * TOKENS // 10, 2)) * PATCH + 3:
        sky[row : row + 2, column : column + 2] = _colour((250, 246, 214))
    return sky


GROUNDS: dict[str, Ground] = {
    **{name: _plain(rgb) for name, rgb in RGB.items()},
    "sunset gradient": _gradient((116, 74, 160), (252, 170, 90)),
    "blue gradient": _gradient((30, 90, 200), (170, 220, 250)),
    "green gradient": _gradient((30, 120, 80), (190, 230, 140)),
    "pink gradient": _gradient((236, 110, 160), (255, 226, 226)),
    "grey gradient": _gradient((70, 74, 84), (214, 216, 220)),
    "sky clouds": _clouds((92, 168, 236), (250, 252, 255)),
    "storm clouds": _clouds((58, 66, 84), (168, 176, 190)),
    "sunset clouds": _clouds((214, 106, 92), (255, 214, 150)),
    "pink clouds": _clouds((232, 140, 180), (255, 236, 240)),
    "green grass": _texture((36, 104, 40), (136, 190, 72), 5, 11),
    "blue water": _texture((18, 82, 150), (90, 176, 218), 13, 5),
    "yellow sand": _texture((206, 172, 112), (246, 224, 172), 7, 6),
    "brown earth": _texture((78, 52, 36), (152, 108, 74), 7, 7),
    "white snow": _texture((204, 218, 236), (254, 254, 255), 9, 8),
    "red lava": _texture((110, 18, 18), (252, 140, 40), 9, 8),
    "yellow stripes": _stripes((252, 214, 80), (255, 246, 200)),
    "blue stripes": _stripes((70, 134, 222), (222, 238, 252)),
    "red stripes": _stripes((214, 62, 62), (252, 226, 220)),
    "green stripes": _stripes((84, 170, 96), (224, 244, 214)),
    "night stars": _stars,
}


def held_out(what: Scene) -> bool:
    """Return whether a scene is held out.

    Training never shows a held-out scene, neither with its canonical caption nor with another. One
    canonical caption in sixteen is held out, chosen by its hash.
    """
    return zlib.crc32(what.caption.encode()) % 16 == 0


class Wanted(TypedDict, total=False):
    """Options of a random scene; `random_scene` explains them."""

    shares: np.ndarray | None
    layout: Layout | None
    coloured: bool | None
    sized: bool | None


@functools.cache
def vocabulary() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the names of things, grounds and places."""
    return tuple(glyphs()), tuple(GROUNDS), tuple(PLACES)


def random_things(
    rng: np.random.Generator, count: int, shares: np.ndarray | None
) -> tuple[str, ...]:
    """Return the names of `count` things, drawn by `shares` (uniformly if None).

    `shares` has the probability of each thing, in the order of `vocabulary`. Sometimes several of
    the things are equal.
    """
    names = vocabulary()[0]
    picks = rng.choice(len(names), count, p=shares)
    if count > 1 and rng.random() < EQUAL:
        several = rng.integers(2, count + 1)
        picks[rng.permutation(count)[:several]] = picks[0]
    return tuple(names[pick] for pick in picks)


def random_colours(
    rng: np.random.Generator, things: tuple[str, ...], coloured: bool | None
) -> tuple[str, ...]:
    """Return a colour for each thing, "" for its own.

    The result () means that all things have their own. Equal things have the same colour half of
    the time. If `coloured` is True, each thing that can take a colour gets a colour. If `coloured`
    is False, no thing gets a colour; if `coloured` is None, some things get one at times.
    """
    if coloured is False or (coloured is None and rng.random() >= COLOURFUL):
        return ()
    alike, colours = rng.random() < 1 / 2, list[str]()
    for i, thing in enumerate(things):
        able = [colour for colour in COLOURS if takes(thing, colour)]
        if alike and thing in things[:i]:
            colours.append(colours[things.index(thing)])
        elif able and (coloured or rng.random() < COLOURED):
            colours.append(able[rng.integers(len(able))])
        else:
            colours.append("")
    return tuple(colours)


def random_scene(
    rng: np.random.Generator,
    *,
    held: bool,
    shares: np.ndarray | None = None,
    layout: Layout | None = None,
    coloured: bool | None = None,
    sized: bool | None = None,
) -> Scene:
    """Return a random scene, held out or not, of `layout` or of any layout.

    Args:
        rng: the source of randomness.
        held: whether the scene's caption is held out.
        shares: the probability of each thing, as in `random_things`; None for equal ones.
        layout: the scene's layout; any if None. A third of all single things are at the centre.
        coloured: if True, all things that can take another colour than their own take one; if
            False, no thing takes one; if None, some things take one at times.
        sized: whether a single thing is tiny or huge; if None, it is so at times.
    """
    _, grounds, places = vocabulary()
    layouts = list(SHARES)
    while True:
        kind = layout or layouts[rng.choice(len(layouts), p=list(SHARES.values()))]
        central = kind is not Layout.ONE or rng.random() < CENTRAL
        place = "centre" if central else places[rng.integers(len(places))]
        things = random_things(rng, len(kind.squares), shares)
        ground = grounds[rng.integers(len(grounds))]
        size = ""
        if kind is Layout.ONE and (rng.random() < SIZED if sized is None else sized):
            size = [size for size in SIZES if size][rng.integers(2)]
        colours = random_colours(rng, things, coloured)
        what = Scene(kind, things, ground, place, colours, size)
        if held_out(what) == held:
            return what


def render(what: Scene, rng: np.random.Generator) -> np.ndarray:
    """Return the scene as uint8 [SIZE, SIZE, 3]; `rng` draws the ground's noise."""
    picture, side = GROUNDS[what.ground](rng).astype(np.float32, copy=True), what.side * PATCH
    for name, colour, (row, column) in zip(what.things, what.colours, what.squares, strict=True):
        top, left = row * PATCH, column * PATCH
        window = picture[top : top + side, left : left + side]
        glyph = painted(name, colour, what.size)
        window *= 1 - glyph[..., 3:]
        window += glyph[..., :3]
    return (picture * 255 + 0.5).clip(0, 255).astype(np.uint8)


def scene(
    seed: int, index: int, *, held: bool = False, **wanted: Unpack[Wanted]
) -> tuple[Scene, np.ndarray]:
    """Return scene `index` of stream `seed`: its description and its pixels uint8 [SIZE, SIZE, 3].

    `wanted` has options of `random_scene`.
    """
    rng = np.random.default_rng((seed, index, held))
    what = random_scene(rng, held=held, **wanted)
    return what, render(what, rng)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a contact sheet of random scenes.")
    parser.add_argument("out")
    parser.add_argument("--rows", type=int, default=6)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    sheet = Image.new("RGB", (args.columns * SIZE, args.rows * SIZE))
    for i in range(args.rows * args.columns):
        what, pixels = scene(args.seed, i)
        sheet.paste(Image.fromarray(pixels), (i % args.columns * SIZE, i // args.columns * SIZE))
        print(what.caption)
    sheet.save(args.out)
    print(
        f"{len(vocabulary()[0])} glyphs, {len(GROUNDS)} grounds, {len(PLACES)} places -> {args.out}"
    )


if __name__ == "__main__":
    main()
