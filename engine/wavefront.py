"""Wavefront: the order in which several rows of a picture are drawn at once (ZipAR).

Row r + 1 begins once row r has `lag` tokens, so the position in column c of row r is in wave
r * lag + c, and a pass draws one wave (He et al., "ZipAR", ICML 2025, arXiv 2412.04062). The
authors' code draws the first row alone: all rows below it come `stride - lag` waves later.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Windows:
    """The windows of the passes, one a wave of T, padded to the widest: W rows, and C positions
    drawn. Positions are numbers in the wavefront's order.

    `code` [T, W]: the position whose token a row is fed; `place` [T, W]: where it stands, -1 for
    the prompt's end; `asked` [T, W]: the position after that in raster order, `length` of padding;
    `source` [T, C]: the row that gives each position of the wave. `rows` [T] and `drawn` [T] are
    how many count.
    """

    code: np.ndarray
    place: np.ndarray
    asked: np.ndarray
    source: np.ndarray
    rows: tuple[int, ...]
    drawn: tuple[int, ...]


@dataclass(frozen=True)
class Wavefront:
    """`length` positions in raster order, rows of `stride`; a lag of `stride` is raster order.
    `alone`: the whole first row comes before the second begins."""

    length: int
    stride: int
    lag: int
    alone: bool = False

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The raster positions, wave after wave, those of a wave from the top down."""
        return tuple(sorted(range(self.length), key=lambda at: (self._wave(at), at)))

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """How many positions are drawn after each wave [T]."""
        waves = [self._wave(at) for at in self.order]
        return tuple(bisect_right(waves, wave) for wave in range(waves[-1] + 1))

    def _wave(self, position: int) -> int:
        row, column = divmod(position, self.stride)
        return row * self.lag + column + (self.stride - self.lag) * (self.alone and row > 0)

    @cached_property
    def windows(self) -> Windows:
        """A pass is fed the tokens of the wave before, each of which gives the position behind it.
        A row's first position has none before it yet: a stand-in is fed in that place, the newest
        token of the row above, and its row is the window's last."""
        number = {at: n for n, at in enumerate(self.order)}
        code, place, source = list[list[int]](), list[list[int]](), list[list[int]]()
        for first, end in itertools.pairwise((0, *self.ends)):
            before = self.ends[len(code) - 2] if len(code) > 1 else 0
            fed = [number[at] for at in self.order[before:first]] or [-1]
            borrowed = [max(0, n) for n in fed]
            wave = self.order[first:end]
            if first and (start := wave[-1]) % self.stride == 0 and number[start - 1] >= first:
                fed.append(number[start - 1])
                borrowed.append(number[start - self.stride + self.lag - 1])
            code.append(borrowed)
            place.append(fed)
            source.append([fed.index(number[at - 1] if at else -1) for at in wave])
        asked = [[number[self.order[n] + 1] if n >= 0 else 0 for n in row] for row in place]
        return Windows(
            _padded(code, 0),
            _padded(place, self.length - 1),
            _padded(asked, self.length),
            _padded(source, 0),
            tuple(map(len, code)),
            tuple(map(len, source)),
        )


def _padded(rows: list[list[int]], filler: int) -> np.ndarray:
    most = max(map(len, rows))
    return np.array([row + [filler] * (most - len(row)) for row in rows])
