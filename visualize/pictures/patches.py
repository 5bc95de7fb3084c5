"""Patches: the pictures of single cells of a lane that races.

A cell is drawn when its token is committed, and once again when what it looks like is settled: when
its row and the one below are complete. A convolutional decoder sees little beyond that. So a cell
travels twice at most, on a slow machine as on a fast one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visualize.pictures.swatches import COLUMNS


class LanePatches:
    """Which cells of a lane are to be drawn. `committed`, bool [h * w], is the lane's own, which
    changes; what is committed at first is known, and drawn elsewhere."""

    def __init__(self, committed: np.ndarray, grid: tuple[int, int]) -> None:
        self._committed = committed
        self._grid = grid
        self._known = committed.copy()
        self._drawn = committed.copy()
        self._settled = np.zeros(grid[0], bool)  # rows

    def due(self) -> tuple[int, ...]:
        """The cells to be drawn, ascending."""
        settled = np.repeat(self._complete() & ~self._settled, self._grid[1]) & ~self._known
        return tuple(np.flatnonzero((self._committed & ~self._drawn) | settled).tolist())

    def take(self, cells: Sequence[int], picture: np.ndarray) -> np.ndarray:
        """The patches uint8 [n, s, s, 3] of cells that were due, which are drawn then, from a
        picture uint8 [H, W, 3] of all."""
        rows, columns = self._grid
        side = len(picture) // rows
        self._drawn[list(cells)] = True
        self._settled |= self._complete()
        patches = picture.reshape(rows, side, columns, side, 3).swapaxes(1, 2)
        return patches.reshape(-1, side, side, 3)[list(cells)]

    def _complete(self) -> np.ndarray:
        """Of each row whether it is complete, and the one below it."""
        rows = np.all(self._committed.reshape(self._grid), axis=1)
        return rows & np.append(rows[1:], True)


def sheet_of(patches: np.ndarray) -> np.ndarray:
    """Patches uint8 [n, s, s, 3] as one image, COLUMNS to a row, and grey where none is left."""
    count, side = len(patches), patches.shape[1]
    columns = min(count, COLUMNS)
    rows = -(-count // columns)
    sheet = np.full((rows * columns, side, side, 3), 128, np.uint8)
    sheet[:count] = patches
    return sheet.reshape(rows, columns, side, side, 3).swapaxes(1, 2).reshape(rows * side, -1, 3)
