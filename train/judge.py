"""Judges: which of many glyphs an image shows, and which ground. Both compare pixels averaged over
4 x 4 squares, so that neither the tokenizer's blur nor a texture's grain decides.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from train.glyphs import SIDE, glyphs
from train.scenes import PLACES, SIZE, Words, render, vocabulary

POOL = 4


def pool(picture: np.ndarray) -> np.ndarray:
    """Means of 4 x 4 squares: [H, W, C] to [H / 4, W / 4, C]."""
    height, width, channels = picture.shape
    return picture.reshape(height // POOL, POOL, width // POOL, POOL, channels).mean(
        (1, 3), dtype=np.float32
    )


def outside(place: str) -> np.ndarray:
    """The pooled cells outside the glyph's square: bool [32, 32]."""
    top, left = (edge // POOL for edge in PLACES[place])
    free = np.ones((SIZE // POOL,) * 2, bool)
    free[top : top + SIDE // POOL, left : left + SIDE // POOL] = False
    return free


@functools.cache
def small_glyph(name: str) -> np.ndarray:
    """A glyph's cells, premultiplied RGBA [20, 20, 4]."""
    return pool(glyphs()[name])


def glyph_distances(picture: np.ndarray, place: str, names: list[str]) -> np.ndarray:
    """Distance of the picture, uint8 [128, 128, 3], to each named glyph at `place`.

    The glyph is composited over an estimate of the picture's own ground: the mean colour of each
    row outside the square. The distance is the root mean square difference over the square, 20 x 20
    cells, colours in 0..1.
    """
    cells, free = pool(picture / np.float32(255)), outside(place)
    ground = (cells * free[..., None]).sum(1) / free.sum(1)[:, None]
    top, left = (edge // POOL for edge in PLACES[place])
    side = SIDE // POOL
    shown = cells[top : top + side, left : left + side]
    ground = ground[top : top + side, None]
    every = np.stack([small_glyph(name) for name in names])
    composited = every[..., :3] + (1 - every[..., 3:]) * ground
    return np.sqrt(np.square(composited - shown).mean((1, 2, 3)))


def is_nearest(
    picture: np.ndarray, what: Words, rng: np.random.Generator, candidates: int = 100
) -> bool:
    """Whether the right glyph is the nearest of `candidates`: itself and others drawn at random."""
    others = [name for name in vocabulary()[0] if name != what.glyph]
    names = [what.glyph, *rng.choice(others, candidates - 1, replace=False)]
    return int(glyph_distances(picture, what.place, names).argmin()) == 0


def ground_features(picture: np.ndarray, place: str) -> np.ndarray:
    """44 features of the ground outside the glyph's square: mean colour of eight bands of rows, the
    10th, 50th and 90th percentile of each colour, its spread within rows and within columns, and
    mean differences at distances 1 and 4, across and down."""
    cells, free = pool(picture / np.float32(255)), outside(place)
    bands = [cells[r : r + 4][free[r : r + 4]].mean(0) for r in range(0, 32, 4)]
    percentiles = np.percentile(cells[free], (10, 50, 90), axis=0)
    spreads = []
    for axis in (1, 0):
        count = np.maximum(free.sum(axis, keepdims=True), 1)[..., None]
        mean = (cells * free[..., None]).sum(axis, keepdims=True) / count
        spreads.append(np.square(cells - mean)[free].mean(0) ** 0.5)
    steps = []
    for shift in (1, 4):
        across = free[:, shift:] & free[:, :-shift], np.abs(cells[:, shift:] - cells[:, :-shift])
        down = free[shift:] & free[:-shift], np.abs(cells[shift:] - cells[:-shift])
        steps += [move[both].mean() for both, move in (across, down)]
    return np.concatenate(
        [*bands, *percentiles, *spreads, steps, [np.ptp(np.stack(bands), 0).mean()]]
    )


@dataclass(frozen=True, slots=True)
class GroundJudge:
    """Nearest-centroid classifier, each feature in units of its spread within grounds."""

    centroids: np.ndarray
    spread: np.ndarray

    @classmethod
    def learn(cls, scenes: int = 60, seed: int = 11) -> GroundJudge:
        """From `scenes` real scenes of each ground, with random glyphs and places."""
        names, grounds, places = vocabulary()
        rng = np.random.default_rng(seed)
        rows = []
        for ground in grounds:
            for _ in range(scenes):
                what = Words(
                    names[rng.integers(len(names))], ground, places[rng.integers(len(places))]
                )
                rows.append(ground_features(render(what, rng), what.place))
        features = np.stack(rows).reshape(len(grounds), scenes, -1)
        return cls(features.mean(1), features.std(1).mean(0) + 0.01)

    def ground(self, picture: np.ndarray, place: str) -> str:
        """The predicted ground of a picture, uint8 [128, 128, 3]."""
        distances = np.square((ground_features(picture, place) - self.centroids) / self.spread).sum(
            1
        )
        return vocabulary()[1][int(distances.argmin())]
