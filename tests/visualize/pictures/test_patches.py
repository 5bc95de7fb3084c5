from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from visualize.pictures.patches import LanePatches, sheet_of
from visualize.pictures.swatches import COLUMNS

GRID = (4, 5)
CELLS = GRID[0] * GRID[1]
# of each cell its colour: its number, in a picture of 3 x 3 pixels a cell
PICTURE = np.arange(CELLS, dtype=np.uint8).reshape(GRID).repeat(3, 0).repeat(3, 1)
PICTURE = PICTURE[..., None].repeat(3, -1)
SOME = st.lists(st.integers(0, CELLS - 1))


@given(known=SOME, commits=st.lists(SOME))
def test_a_cell_is_drawn_when_it_is_committed_and_once_it_is_settled(known, commits) -> None:
    """In any order of cells, however many come at a time; what is known never is."""
    committed = np.zeros(CELLS, bool)
    committed[known] = True
    patches, times = LanePatches(committed, GRID), np.zeros(CELLS, int)
    for cells in [*commits, range(CELLS)]:
        committed[list(cells)] = True
        due = patches.due()
        assert list(due) == sorted(due)
        assert committed[list(due)].all()
        drawn = patches.take(due, PICTURE)
        assert drawn.shape == (len(due), 3, 3, 3)
        assert drawn[:, 0, 0, 0].tolist() == list(due)
        times[list(due)] += 1
        assert patches.due() == ()
        fresh = committed & ~np.isin(np.arange(CELLS), known)
        assert (times[fresh] >= 1).all()
    assert set(times[known]) <= {0}
    assert times.max(initial=0) <= 2


def test_a_row_is_settled_with_the_one_below_it() -> None:
    committed = np.zeros(CELLS, bool)
    patches = LanePatches(committed, GRID)
    for row, settled in ((0, []), (2, []), (1, [0, 1]), (3, [2])):
        cells = np.arange(CELLS).reshape(GRID)
        committed[cells[row]] = True
        due = patches.due()
        expected = {row, *settled}
        assert set(due) == set(cells[sorted(expected)].flatten().tolist())
        patches.take(due, PICTURE)


def test_an_image_of_patches_has_them_in_rows_as_long_as_the_swatches() -> None:
    patches = np.arange(COLUMNS + 2, dtype=np.uint8)[:, None, None, None]
    patches = patches.repeat(2, 1).repeat(2, 2).repeat(3, 3)
    assert sheet_of(patches[:3]).shape == (2, 6, 3)
    assert sheet_of(patches[:3])[0, ::2, 0].tolist() == [0, 1, 2]
    sheet = sheet_of(patches)
    assert sheet.shape == (4, 2 * COLUMNS, 3)
    assert sheet[2, :6:2, 0].tolist() == [COLUMNS, COLUMNS + 1, 128]
