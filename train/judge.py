"""Judges of a picture: its things, their colours, its ground, and anything else that it shows.

The judges say which thing stands in each square and in which colour, what the ground is, and
whether something stands outside the layout's squares. All judges compare cells, the averages of
4 x 4 pixels, so that neither the tokenizer's blur nor a texture's grain decides.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from engine.reader.scene import COLOURS, Scene
from train.glyphs import SIDE
from train.paint import painted, takes
from train.scenes import GROUNDS, PATCH, SIZE, vocabulary

POOL = 4
CELLS, ACROSS, TOKEN = SIZE // POOL, SIDE // POOL, PATCH // POOL  # cells across each
INK = 0.02  # the opacity from which a cell is a thing's
NOISE = 0.03  # the spread that the tokenizer adds to a cell's colour, in 0..1
BLOCK = ACROSS // 2  # squares' places are multiples of half a thing
LEAST, MARGIN = 4.0, 1.3  # limit of a block: MARGIN * max(LEAST, real pictures' largest)


def pool(picture: np.ndarray) -> np.ndarray:
    """Average 4 x 4 squares: [H, W, C] to [H / 4, W / 4, C]."""
    height, width, channels = picture.shape
    return picture.reshape(height // POOL, POOL, width // POOL, POOL, channels).mean(
        (1, 3), dtype=np.float32
    )


def windows(what: Scene) -> list[tuple[slice, slice]]:
    """Return each thing's square as slices of rows and columns of cells of 4 x 4 pixels."""
    return [
        (slice(top, top + what.side * TOKEN), slice(left, left + what.side * TOKEN))
        for top, left in (np.array(square) * TOKEN for square in what.squares)
    ]


@dataclass(frozen=True, slots=True)
class Fits:
    """Compares a square of a picture with each thing, on the smooth ground that fits best.

    Attributes:
        colours: each thing's colours without a ground, premultiplied [things, cells, 3].
        basis: for each thing, a basis [things, 3, cells] of three grounds as they show through it:
            constant, rising downwards, and rising to the right. Each ground is multiplied by the
            thing's transparency (1 - opacity). Then the three are made almost orthonormal. If a
            thing fills its square, no ground shows through it and its basis is nearly 0.
    """

    colours: np.ndarray
    basis: np.ndarray

    @classmethod
    def of(cls, glyphs: list[np.ndarray]) -> Fits:
        """Return the `Fits` of glyphs of one size, each premultiplied RGBA [side, side, 4]."""
        cells = np.stack([pool(glyph) for glyph in glyphs])
        count, across = cells.shape[:2]
        right, down = np.meshgrid(*(np.linspace(-1, 1, across, dtype=np.float32),) * 2)
        planes = np.stack([np.ones_like(down), down, right]).reshape(3, -1)
        behind = (1 - cells[..., 3].reshape(count, 1, -1)) * planes
        gram = behind @ behind.swapaxes(1, 2) + 0.5 * np.eye(3, dtype=np.float32)
        basis = np.linalg.inv(np.linalg.cholesky(gram)) @ behind
        return cls(cells[..., :3].reshape(count, -1, 3), basis)

    def distances(self, square: np.ndarray) -> np.ndarray:
        """Return the distance of a square's cells [rows, columns, 3] to each thing: [things].

        A distance is the root mean square difference between the colours (0..1) of the square
        and the colours of the thing on the ground that fits the square best.
        """
        rest = square.reshape(-1, 3) - self.colours
        residuals = np.square(rest).sum((1, 2)) - np.square(self.basis @ rest).sum((1, 2))
        return np.sqrt(residuals.clip(0) / rest[0].size)


@functools.cache
def fits(colour: str, size: str) -> Fits:
    """Return the `Fits` of all things in this size, and in this colour if they can have it."""
    names = vocabulary()[0]
    return Fits.of([painted(x, colour if takes(x, colour) else "", size) for x in names])


@functools.cache
def coloured_fits(name: str, size: str) -> Fits:
    """Return the `Fits` of one thing in each of COLOURS."""
    return Fits.of([painted(name, colour, size) for colour in COLOURS])


def squares(picture: np.ndarray, what: Scene) -> list[np.ndarray]:
    """Return the cells of each square in a picture uint8 [160, 160, 3] of scene `what`."""
    cells = pool(picture / np.float32(255))
    return [cells[window] for window in windows(what)]


def distances(picture: np.ndarray, what: Scene) -> np.ndarray:
    """Return the distances [squares, things] of a picture's squares to all things.

    A square is compared with all things in the colour, if any, that its own thing has in `what`.
    Things that cannot have this colour keep their own.
    """
    pairs = zip(squares(picture, what), what.colours, strict=True)
    return np.stack([fits(colour, what.size).distances(square) for square, colour in pairs])


def nearest_colours(picture: np.ndarray, what: Scene) -> tuple[str, ...]:
    """Return the colour in which each thing is nearest to its square.

    The colour is "" for things that have their own colour in the scene.
    """
    parts = zip(squares(picture, what), what.things, what.colours, strict=True)
    return tuple(
        COLOURS[coloured_fits(name, what.size).distances(square).argmin()] if colour else ""
        for square, name, colour in parts
    )


def nearest(
    picture: np.ndarray, what: Scene, rng: np.random.Generator, candidates: int | None = None
) -> list[str]:
    """Return the nearest thing to each square, among all things or among `candidates` things.

    The candidates are the right thing and others drawn at random.
    """
    return nearest_by(distances(picture, what), what, rng, candidates)


def nearest_by(
    far: np.ndarray, what: Scene, rng: np.random.Generator, candidates: int | None = None
) -> list[str]:
    """Return what `nearest` does, given the distances `far` [squares, things]."""
    names = np.array(vocabulary()[0])
    things = []
    for row, thing in zip(far, what.things, strict=True):
        among = np.arange(len(names))
        if candidates is not None:
            others = rng.choice(among[names != thing], candidates - 1, replace=False)
            among = np.append(others, among[names == thing])
        things.append(str(names[among[row[among].argmin()]]))
    return things


def is_nearest(
    picture: np.ndarray, what: Scene, rng: np.random.Generator, candidates: int | None = None
) -> bool:
    """Return whether each square's nearest thing is the right one."""
    return nearest(picture, what, rng, candidates) == list(what.things)


def free_cells(what: Scene) -> np.ndarray:
    """Return which cells, bool [39, 39], have `features` of the ground alone.

    `features` reads a cell and the cells to its right and below. The cell is free if no thing's ink
    is in these three cells or in any of their neighbours.
    """
    ink = np.zeros((CELLS + 2, CELLS + 2), bool)
    for (rows, columns), thing in zip(windows(what), what.things, strict=True):
        opacity = pool(painted(thing, size=what.size))[..., 3]
        ink[1:-1, 1:-1][rows, columns] = opacity > INK
    near = np.asarray(np.lib.stride_tricks.sliding_window_view(ink, (3, 3)).any((2, 3)))
    return ~(near[:-1, :-1] | near[:-1, 1:] | near[1:, :-1])


def features(cells: np.ndarray) -> np.ndarray:
    """Return each cell's colour, and how it changes to the right and downwards: [39, 39, 9]."""
    here = cells[:-1, :-1]
    return np.concatenate([here, cells[:-1, 1:] - here, cells[1:, :-1] - here], -1)


def blocks(values: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Average `values` over the `free` cells of each block: [.., 39, 39] to [.., 4, 4].

    A block is BLOCK x BLOCK cells; the last row and column of blocks are one cell smaller. The
    average of a block without free cells is 0.
    """
    edges = np.arange(0, CELLS, BLOCK)

    def sums(x: np.ndarray) -> np.ndarray:
        return np.add.reduceat(np.add.reduceat(x, edges, -2), edges, -1)

    return sums(values * free) / np.maximum(sums(free.astype(np.float32)), 1)


@dataclass(frozen=True, slots=True)
class GroundJudge:
    """Judge of grounds, with a normal distribution of `features` for each ground.

    Attributes:
        means: the features' means in each row of cells [grounds, 39, 9].
        precisions: for each ground, the inverse of the features' covariance, with NOISE**2 added to
            the covariance's diagonal [grounds, 9, 9].
        limits: for each ground, the limit on a block's mean of `far` [grounds]. A block above the
            limit shows something other than the ground.
    """

    means: np.ndarray
    precisions: np.ndarray
    limits: np.ndarray

    @classmethod
    def learn(cls, scenes: int = 60, seed: int = 11) -> GroundJudge:
        """Learn a judge from `scenes` real pictures of each ground."""
        rng, whole = np.random.default_rng(seed), np.ones((CELLS - 1, CELLS - 1), bool)
        means, precisions, limits = [], [], []
        for ground in GROUNDS.values():
            samples = np.stack([features(pool(ground(rng))) for _ in range(scenes)])
            mean = samples.mean((0, 2))[:, None]
            spread = (samples - mean).reshape(-1, 9)
            precision = np.linalg.inv(spread.T @ spread / len(spread) + NOISE**2 * np.eye(9))
            far = np.einsum("...c,cd,...d->...", samples - mean, precision, samples - mean)
            means.append(mean[:, 0])
            precisions.append(precision)
            limits.append(MARGIN * max(LEAST, blocks(far, whole).max()))
        return cls(np.stack(means), np.stack(precisions), np.stack(limits))

    def far(self, picture: np.ndarray) -> np.ndarray:
        """Return each cell's squared Mahalanobis distance to each ground: [grounds, 39, 39]."""
        off = features(pool(picture / np.float32(255))) - self.means[:, :, None]
        shape = off.shape[:-1]
        off = off.reshape(len(off), -1, 9)
        return ((off @ self.precisions) * off).sum(-1).reshape(shape)

    def read(self, picture: np.ndarray, what: Scene) -> tuple[str, bool]:
        """Return the likeliest ground, and whether only ground is outside the squares of `what`.

        Only cells that no thing touches (`free_cells`) decide the ground. If there are none, return
        "" and True.
        """
        free, far = free_cells(what), self.far(picture)
        if not free.any():
            return "", True
        index = int((np.linalg.slogdet(self.precisions)[1] - far[:, free].mean(1)).argmax())
        for window in windows(what):
            free[window] = False
        strange = blocks(far[index], free) > self.limits[index]
        return vocabulary()[1][index], not strange.any()
