"""Patches: pictures of single cells, which the page receives while a lane races.

A cell is drawn when its token is committed, and again when its row and the row below are complete.
Then the cell is settled, because a convolutional decoder sees little beyond these rows. So a cell
is sent at most twice, however fast the machine is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visualize.pictures.swatches import COLUMNS


class LanePatches:
    """Keeps track of the cells of a lane that have to be drawn.

    `committed`, bool [h * w], says which grid cells are committed; the lane itself changes this
    array later. Cells that are committed at the start are known cells, and known cells are not
    drawn here.
    """

    def __init__(self, committed: np.ndarray, grid: tuple[int, int]) -> None:
        self._committed = committed
        self._grid = grid
        self._known = committed.copy()
        self._drawn = committed.copy()
        self._settled = np.zeros(grid[0], bool)  # for each row, whether its cells are settled

    def due(self) -> tuple[int, ...]:
        """Return the cells to draw, ascending."""
        settled = np.repeat(self._complete() & ~self._settled, self._grid[1]) & ~self._known
        return tuple(np.flatnonzero((self._committed & ~self._drawn) | settled).tolist())

    def take(self, cells: Sequence[int], picture: np.ndarray) -> np.ndarray:
        """Cut the patches of `cells` from `picture`, and mark these cells as drawn.

        `picture` is uint8 [H, W, 3] and shows the whole grid. The patches are uint8 [n, s, s, 3]:
        one for each of n cells, each s pixels wide and high.
        """
        rows, columns = self._grid
        side = len(picture) // rows
        self._drawn[list(cells)] = True
        self._settled |= self._complete()
        patches = picture.reshape(rows, side, columns, side, 3).swapaxes(1, 2)
        return patches.reshape(-1, side, side, 3)[list(cells)]

    def _complete(self) -> np.ndarray:
        """Return, for each grid row, whether all cells of this row and the next are committed."""
        rows = np.all(self._committed.reshape(self._grid), axis=1)
        return rows & np.append(rows[1:], True)


def sheet_of(patches: np.ndarray) -> np.ndarray:
    """Join n patches, uint8 [n, s, s, 3], to one image with at most COLUMNS patches a row.

    Grey fills the rest of the last row.
    """
    count, side = len(patches), patches.shape[1]
    columns = min(count, COLUMNS)
    rows = -(-count // columns)
    sheet = np.full((rows * columns, side, side, 3), 128, np.uint8)
    sheet[:count] = patches
    return sheet.reshape(rows, columns, side, side, 3).swapaxes(1, 2).reshape(rows * side, -1, 3)
