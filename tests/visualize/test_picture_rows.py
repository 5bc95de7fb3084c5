from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from visualize.picture_rows import PictureRows, canvas, webp


def picture(value: int, rows: int = 2) -> np.ndarray:
    return np.full((8 * rows, 16, 3), value, np.uint8)


def shown(rows: PictureRows, committed: int) -> np.ndarray:
    """The first cells of the grid."""
    return np.arange(rows.grid[0] * rows.grid[1]) < committed


def read(text: str) -> np.ndarray:
    with Image.open(io.BytesIO(base64.b64decode(text)), formats=["WEBP"]) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_only_rows_with_committed_cells_travel() -> None:
    rows = PictureRows((2, 2))
    rows.update(picture(9), shown(rows, 0), final=True)
    assert rows.files == ["", ""]
    rows.update(picture(9), shown(rows, 2), final=False)
    assert rows.files[0]
    assert rows.files[1] == ""


def test_a_row_travels_again_when_more_of_it_is_committed() -> None:
    rows = PictureRows((1, 2))
    half = picture(100, 1)
    half[:, 8:] = 200
    rows.update(half, shown(rows, 1), final=False)
    first = rows.files[0]
    rows.update(half, shown(rows, 2), final=False)
    assert rows.files[0] != first


def test_a_row_travels_again_when_it_changed_visibly_and_not_before() -> None:
    rows = PictureRows((2, 2))
    rows.update(picture(100), shown(rows, 4), final=False)
    first = list(rows.files)
    rows.update(picture(103), shown(rows, 4), final=False)
    assert rows.files == first
    changed = picture(100)
    changed[8:, 8:] = 140
    rows.update(changed, shown(rows, 4), final=False)
    assert rows.files[0] == first[0]
    assert rows.files[1] != first[1]


def test_small_changes_add_up() -> None:
    rows = PictureRows((1, 2))
    rows.update(picture(100, 1), shown(rows, 2), final=False)
    first = rows.files[0]
    for value in (102, 104, 106):
        rows.update(picture(value, 1), shown(rows, 2), final=False)
    assert rows.files[0] != first


def test_what_is_not_committed_neither_travels_nor_shows() -> None:
    rows = PictureRows((1, 2))
    rows.update(picture(100, 1), shown(rows, 1), final=False)
    first = rows.files[0]
    changed = picture(100, 1)
    changed[:, 8:] = 200
    rows.update(changed, shown(rows, 1), final=False)
    assert rows.files[0] == first
    rows.update(changed, shown(rows, 1), final=True)
    np.testing.assert_array_equal(read(rows.files[0]), picture(100, 1))


def test_final_rows_are_without_loss() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (16, 32, 3), dtype=np.uint8)
    rows = PictureRows((2, 4))
    rows.update(noise, shown(rows, 6), final=True)
    np.testing.assert_array_equal(read(rows.files[0]), noise[:8])
    np.testing.assert_array_equal(read(rows.files[1])[:, :16], noise[8:, :16])
    np.testing.assert_array_equal(read(rows.files[1])[:, 16:], noise[8:, 15:16].repeat(16, 1))


def test_a_large_pictures_final_rows_are_good_and_not_huge() -> None:
    y, x = np.mgrid[:256, :512]
    smooth = (
        (128 + 60 * np.sin(x / 9) + 60 * np.cos(y / 7)).astype(np.uint8)[..., None].repeat(3, -1)
    )
    rows = PictureRows((2, 4))
    rows.update(smooth, shown(rows, 8), final=False)
    racing = [read(text) for text in rows.files]
    rows.update(smooth, shown(rows, 8), final=True)
    for row, before in enumerate(racing):
        there = smooth[128 * row : 128 * (row + 1)].astype(int)
        error = np.abs(read(rows.files[row]) - there).mean()
        assert 0 < error < np.abs(before - there).mean()
        assert len(rows.files[row]) < len(base64.b64encode(webp(there.astype(np.uint8), None)))


@pytest.mark.parametrize("quality", [None, 80])
def test_a_picture_is_a_webp_file(quality) -> None:
    with Image.open(io.BytesIO(webp(picture(50), quality)), formats=["WEBP"]) as image:
        assert image.size == (16, 16)


def test_any_cells_may_be_shown() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (8, 32, 3), dtype=np.uint8)
    rows = PictureRows((1, 4))
    rows.update(noise, np.array([False, True, False, True]), final=True)
    found = read(rows.files[0])
    np.testing.assert_array_equal(found[:, 8:16], noise[:, 8:16])
    np.testing.assert_array_equal(found[:, 24:], noise[:, 24:])
    np.testing.assert_array_equal(found[:, :8], noise[:, 15:16].repeat(8, 1))
    np.testing.assert_array_equal(found[:, 16:24], noise[:, 15:16].repeat(8, 1))


def filled(tokens: list[int], grid: tuple[int, int]) -> list[list[int]]:
    """`canvas` with unknown cells behind these tokens."""
    return canvas(np.array(tokens + [-1] * (grid[0] * grid[1] - len(tokens))), grid).tolist()


def test_canvas_repeats_what_is_above() -> None:
    assert filled([4, 5, 6, 7], (3, 3)) == [[4, 5, 6], [7, 5, 6], [7, 5, 6]]
    assert filled([4], (2, 2)) == [[4, 4], [4, 4]]
    assert filled([1, 2, 3, 4], (2, 2)) == [[1, 2], [3, 4]]
    assert filled([-1, -1, 7, -1], (2, 2)) == [[7, 7], [7, 7]]
    assert filled([-1, 5, -1, 9], (2, 2)) == [[5, 5], [5, 9]]
