from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image
from visualize.picture_rows import PictureRows, canvas, webp

NOISE = np.random.default_rng(1).integers(0, 256, (16, 32, 3), dtype=np.uint8)


def picture(value: int, right: int | None = None, rows: int = 1) -> np.ndarray:
    """Rows of two tokens, of which those on the right may have another value."""
    out = np.full((8 * rows, 16, 3), value, np.uint8)
    out[-8:, 8:] = value if right is None else right
    return out


def read(text: str) -> np.ndarray:
    with Image.open(io.BytesIO(base64.b64decode(text)), formats=["WEBP"]) as image:
        return np.asarray(image.convert("RGB")).astype(int)


class Rows:
    """The files of one lane's rows, update by update."""

    def __init__(self, *grid: int) -> None:
        self.rows = PictureRows(grid)

    def update(self, pixels: np.ndarray, committed: int, final: bool = False) -> list[str]:
        """The files once the grid's first cells are committed."""
        shown = np.arange(self.rows.grid[0] * self.rows.grid[1]) < committed
        self.rows.update(pixels, shown, final)
        return list(self.rows.files)


def test_only_rows_with_committed_cells_travel() -> None:
    rows = Rows(2, 2)
    assert rows.update(picture(9, rows=2), 0, final=True) == ["", ""]
    first, second = rows.update(picture(9, rows=2), 2)
    assert first
    assert second == ""


@pytest.mark.parametrize(
    ("updates", "again"),
    [
        ([(picture(100, 200), 1), (picture(100, 200), 2)], True),  # more of it is committed
        ([(picture(100), 2), (picture(103), 2)], False),  # nobody sees it
        ([(picture(100), 2), (picture(100, 140), 2)], True),
        ([(picture(100), 2), *((picture(100 + i), 2) for i in (2, 4, 6))], True),  # it adds up
        ([(picture(100), 1), (picture(100, 200), 1)], False),  # what changed is not committed
    ],
)
def test_a_row_travels_again_when_more_is_committed_or_it_changed_visibly(updates, again) -> None:
    rows = Rows(1, 2)
    first, *later = [rows.update(*update) for update in updates]
    assert (later[-1] != first) is again


def test_the_other_rows_stay() -> None:
    rows = Rows(2, 2)
    first = rows.update(picture(100, rows=2), 4)
    changed = rows.update(picture(100, 140, rows=2), 4)
    assert [a == b for a, b in zip(first, changed, strict=True)] == [True, False]


def test_final_rows_are_without_loss_and_show_committed_cells_alone() -> None:
    """Any cells may be; the others repeat the last column before them, or the first behind."""
    files = Rows(2, 4).update(NOISE, 6, final=True)
    np.testing.assert_array_equal(read(files[0]), NOISE[:8])
    np.testing.assert_array_equal(read(files[1])[:, :16], NOISE[8:, :16])
    np.testing.assert_array_equal(read(files[1])[:, 16:], NOISE[8:, 15:16].repeat(16, 1))
    rows = PictureRows((1, 4))
    rows.update(NOISE[:8], np.array([False, True, False, True]), final=True)
    found, filler = read(rows.files[0]), NOISE[:8, 15:16].repeat(8, 1)
    expected = np.concatenate([filler, NOISE[:8, 8:16], filler, NOISE[:8, 24:]], 1)
    np.testing.assert_array_equal(found, expected)


def test_a_large_pictures_final_rows_are_good_and_not_huge() -> None:
    y, x = np.mgrid[:256, :512]
    light = (128 + 60 * np.sin(x / 9) + 60 * np.cos(y / 7)).astype(np.uint8)
    smooth = light[..., None].repeat(3, -1)
    rows = Rows(2, 4)
    racing, final = rows.update(smooth, 8), rows.update(smooth, 8, final=True)
    for there, before, after in zip(smooth.reshape(2, 128, 512, 3), racing, final, strict=True):
        error = np.abs(read(after) - there).mean()
        assert 0 < error < np.abs(read(before) - there).mean()
        assert len(after) < len(base64.b64encode(webp(there, None)))


@pytest.mark.parametrize(
    ("tokens", "filled"),
    [
        ([4, 5, 6, 7, -1, -1, -1, -1, -1], [[4, 5, 6], [7, 5, 6], [7, 5, 6]]),
        ([4, -1, -1, -1], [[4, 4], [4, 4]]),
        ([1, 2, 3, 4], [[1, 2], [3, 4]]),
        ([-1, -1, 7, -1], [[7, 7], [7, 7]]),
        ([-1, 5, -1, 9], [[5, 5], [5, 9]]),
    ],
)
def test_canvas_repeats_what_is_above(tokens, filled) -> None:
    assert canvas(np.array(tokens), np.shape(filled)).tolist() == filled
