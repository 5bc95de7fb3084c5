"""Infilling: the known cells of a picture, and the order in which the others are filled in.

The mask says which cells are to be filled in. Their order is an order of the whole grid from which
the known cells are left out. The order of the grid does not depend on the mask; any such order will
do (Eq. 4 of Guo & Ermon, "Reviving any-subset autoregressive models with principled parallel
sampling and speculative decoding", 2025).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np

from engine.settings import SettingError

MASKED = -1
_ID = re.compile(r"[A-Za-z0-9_-]{0,200}")
_TEXT = re.compile("[^\ud800-\udfff]{0,200}")  # no link and no file takes half a character
ORDERS = ("spread", "raster")
FORK = "fork"


class Fills(Enum):
    """The kind of infilling that a model can do: none, all cells from one on, or any cells."""

    NOTHING = "nothing"
    BELOW = "below"  # one cell and every cell after it in raster order, as below a row
    ANY = "any"  # any cells in any order, given any other cells


@dataclass(frozen=True, slots=True)
class Parent:
    """The race, the lane and the cell from which a fork was taken.

    A fork is an infilling that keeps the beginning of a lane's picture and draws the rest anew.

    Attributes:
        race: the id under which the page keeps the race; "" if unknown.
        seed: the race's seed.
        lane: the name of the lane whose tokens the fork begins with.
        cell: the first cell, in raster order, that the fork does not take from the lane.
        instead: the lane's own token in `cell`, if the fork puts another token there. None if the
            fork draws on from `cell` with other noise.
        p: if the fork puts another token in `cell`, the probability of that other token in the
            lane's distribution p. None if it was not recorded, and for other forks.

    Raises SettingError for an invalid value.
    """

    race: str
    seed: int
    lane: str
    cell: int
    instead: int | None = None
    p: float | None = None

    def __post_init__(self) -> None:
        patterns = ((self.race, _ID), (self.lane, _TEXT))
        texts = all(isinstance(text, str) and kind.fullmatch(text) for text, kind in patterns)
        tokens = [self.seed, self.cell, *([] if self.instead is None else [self.instead])]
        whole = all(type(number) is int and 0 <= number < 2**53 for number in tokens)
        share = self.p is None or (type(self.p) in (int, float) and 0 <= self.p <= 1)
        if not (texts and whole and share):
            raise SettingError(
                "A fork's parent has the texts race and lane, the whole numbers seed, cell and"
                " instead, and a probability p."
            )

    @staticmethod
    def read(value: Any) -> Parent | None:
        """Return the Parent of a mapping {race, seed, lane, cell, instead, p}; None stays None.

        Raises SettingError for any other value.
        """
        if value is None:
            return None
        try:
            return Parent(**value)
        except TypeError as error:
            raise SettingError(
                "A fork's parent is {race, seed, lane, cell, instead, p}."
            ) from error


@dataclass(frozen=True, slots=True)
class Infilling:
    """A partly known picture.

    In a fork the known cells are those that the model draws first in a whole picture. `stream`
    says which random numbers draw the rest.

    Attributes:
        known: the code of each cell in raster order; MASKED for a cell that is to be filled in.
        order: "raster", row by row; "spread", where successive cells lie far apart; or "fork".
        parent: the race and lane from which a fork's known cells come, if that is known.

    Raises SettingError for another order, if an entry of `known` is neither a code nor MASKED, or
    if no cell is masked. Also raises it if an infilling other than a fork has a parent, or if a
    fork does not begin at its parent's cell.
    """

    known: tuple[int, ...]
    order: str = "spread"
    parent: Parent | None = None

    def __post_init__(self) -> None:
        if self.order not in (*ORDERS, FORK):
            orders = ", ".join((*ORDERS, FORK))
            raise SettingError(f"order is one of {orders}, not {self.order!r:.40}")
        whole = all(type(code) is int and code >= MASKED for code in self.known)
        if not isinstance(self.known, tuple) or not whole:
            raise SettingError(f"Known cells hold codes, whole numbers; masked ones {MASKED}.")
        if MASKED not in self.known:
            raise SettingError("Mask what is to be filled in: every cell is known.")
        if self.parent is not None:
            first = self.known.index(MASKED) - (self.parent.instead is not None)
            if not self.forks or self.parent.cell != first:
                raise SettingError("The fork does not begin at the token that its parent names.")

    @staticmethod
    def of_mask(codes: Sequence[int], mask: Sequence[bool], order: str = "spread") -> Infilling:
        """Return the infilling of the masked cells of a picture's codes."""
        cells = zip(codes, mask, strict=True)
        return Infilling(tuple(MASKED if masked else int(code) for code, masked in cells), order)

    @property
    def masked(self) -> int:
        """Number of cells to fill in."""
        return self.known.count(MASKED)

    @property
    def stream(self) -> int:
        """The stream of the infilling's random numbers (`Noise`).

        It is a digest of what is known, from 1 to 2**29 - 1; 0 if nothing is known. So a picture's
        seed can fill in a part of that picture: the numbers that chose the known tokens are not
        read again. With them the rest would depend on the known tokens by more than the model's
        distribution.

        A fork has this stream for all numbers but vanilla AR's Gumbel noise. That noise stays the
        whole picture's, so a fork with the token that was drawn repeats vanilla AR's picture.
        Its numbers at a position decide that position's token, and nothing before it; so the rest
        has the model's distribution, whichever lane drew the known tokens and whichever token was
        put in place of one. Only a fork from an infilled picture needs another seed (`fork_of`).
        """
        if max(self.known) == MASKED:
            return 0
        digest = blake2b(np.array(self.known, "<i8").tobytes(), digest_size=4).digest()
        return max(1, int.from_bytes(digest, "little") >> 3)

    @property
    def forks(self) -> bool:
        """True for a fork, which keeps the beginning of a picture."""
        return self.order == FORK

    @property
    def below(self) -> bool:
        """True if the known cells come first and the rest is drawn as in a whole picture.

        This is always true of a fork. It is true of another infilling if the order is "raster" and
        no known cell comes after a masked one.
        """
        behind = len(self.known) - self.known.index(MASKED)
        return self.forks or (self.order == "raster" and self.masked == behind)

    def cells(self, grid: tuple[int, int]) -> tuple[int, ...]:
        """Return the masked cells in the order in which they are filled in."""
        order = spread_order(grid) if self.order == "spread" else range(len(self.known))
        return tuple(cell for cell in order if self.known[cell] == MASKED)

    def check(self, grid: tuple[int, int], codes: int) -> None:
        """Raise SettingError where the infilling does not fit the grid or the model's codes.

        `codes` is the number of codes in the model's vocabulary.
        """
        if len(self.known) != grid[0] * grid[1] or max(self.known) >= codes:
            raise SettingError(
                f"What is known does not fit {grid[0]} x {grid[1]} cells of {codes} codes."
            )

    def check_model(self, fills: Fills, title: str) -> None:
        """Raise SettingError where a model that can fill in `fills` cannot fill in this mask."""
        if fills is Fills.NOTHING:
            raise SettingError(f"{title} draws whole pictures only: it cannot fill in a part.")
        if fills is Fills.BELOW and not self.below:
            raise SettingError(
                f"{title} can draw a picture on from a row: everything below it, in raster order."
                " It cannot fill in another part."
            )


def box_mask(grid: tuple[int, int], top: int, left: int, height: int, width: int) -> list[bool]:
    """Return, for each cell of the grid in raster order, whether it lies in the rectangle.

    The rectangle is given in cells and may reach beyond the grid.
    """
    cells = (divmod(cell, grid[1]) for cell in range(grid[0] * grid[1]))
    return [top <= row < top + height and left <= column < left + width for row, column in cells]


@functools.lru_cache(maxsize=8)
def spread_order(grid: tuple[int, int]) -> tuple[int, ...]:
    """Return the cells of a grid in the order of the Halton sequence.

    The sequence has base 2 across and base 3 down. Each cell lies far from the few cells before it,
    and every prefix of the order covers the grid evenly (Besnier et al., "Halton scheduler for
    masked generative image transformer", ICLR 2025).
    """
    height, width = grid
    points = 4 * height * width
    while True:
        cells = _van_der_corput(points, 2, width) + width * _van_der_corput(points, 3, height)
        distinct_cells, first = np.unique(cells, return_index=True)
        if len(distinct_cells) == height * width:
            return tuple(cells[np.sort(first)].tolist())
        points *= 2


def _van_der_corput(count: int, base: int, cells: int) -> np.ndarray:
    """Return the number of the interval in which each of the first `count` points lies [count].

    `cells` equal intervals, numbered from 0, divide [0, 1). The points are the van der Corput
    sequence. Point n, counted from 1, has the digits of n in `base`, mirrored at the radix point
    (in base 2, point 6 = 110 lies at 0.011). The computation uses integers, because rounding could
    move a point on a border, such as k / 9 in base 3, to either side.
    """
    rest, mirrored, scale = np.arange(1, count + 1), np.zeros(count, np.int64), 1
    while rest.any():
        mirrored, rest, scale = mirrored * base + rest % base, rest // base, scale * base
    return mirrored * cells // scale
