from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from visualize.picture_rows import Strips, canvas, webp


def picture(value: int, rows: int = 2) -> np.ndarray:
    return np.full((8 * rows, 16, 3), value, np.uint8)


def read(text: str) -> np.ndarray:
    with Image.open(io.BytesIO(base64.b64decode(text)), formats=["WEBP"]) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_only_rows_with_committed_cells_travel() -> None:
    strips = Strips((2, 2))
    strips.update(picture(9), 0, final=True)
    assert strips.files == ["", ""]
    strips.update(picture(9), 2, final=False)
    assert strips.files[0]
    assert strips.files[1] == ""


def test_a_row_travels_again_when_more_of_it_is_committed() -> None:
    strips = Strips((1, 2))
    shown = picture(100, 1)
    shown[:, 8:] = 200
    strips.update(shown, 1, final=False)
    first = strips.files[0]
    strips.update(shown, 2, final=False)
    assert strips.files[0] != first


def test_a_row_travels_again_when_it_changed_visibly_and_not_before() -> None:
    strips = Strips((2, 2))
    strips.update(picture(100), 4, final=False)
    first = list(strips.files)
    strips.update(picture(103), 4, final=False)
    assert strips.files == first
    changed = picture(100)
    changed[8:, 8:] = 140
    strips.update(changed, 4, final=False)
    assert strips.files[0] == first[0]
    assert strips.files[1] != first[1]


def test_small_changes_add_up() -> None:
    strips = Strips((1, 2))
    strips.update(picture(100, 1), 2, final=False)
    first = strips.files[0]
    for value in (102, 104, 106):
        strips.update(picture(value, 1), 2, final=False)
    assert strips.files[0] != first


def test_what_is_not_committed_neither_travels_nor_shows() -> None:
    strips = Strips((1, 2))
    strips.update(picture(100, 1), 1, final=False)
    first = strips.files[0]
    changed = picture(100, 1)
    changed[:, 8:] = 200
    strips.update(changed, 1, final=False)
    assert strips.files[0] == first
    strips.update(changed, 1, final=True)
    np.testing.assert_array_equal(read(strips.files[0]), picture(100, 1))


def test_final_rows_are_without_loss() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (16, 32, 3), dtype=np.uint8)
    strips = Strips((2, 4))
    strips.update(noise, 6, final=True)
    np.testing.assert_array_equal(read(strips.files[0]), noise[:8])
    np.testing.assert_array_equal(read(strips.files[1])[:, :16], noise[8:, :16])
    np.testing.assert_array_equal(read(strips.files[1])[:, 16:], noise[8:, 15:16].repeat(16, 1))


def test_a_large_pictures_final_rows_are_good_and_not_huge() -> None:
    y, x = np.mgrid[:256, :512]
    smooth = (
        (128 + 60 * np.sin(x / 9) + 60 * np.cos(y / 7)).astype(np.uint8)[..., None].repeat(3, -1)
    )
    strips = Strips((2, 4))
    strips.update(smooth, 8, final=False)
    racing = [read(text) for text in strips.files]
    strips.update(smooth, 8, final=True)
    for row, before in enumerate(racing):
        there = smooth[128 * row : 128 * (row + 1)].astype(int)
        error = np.abs(read(strips.files[row]) - there).mean()
        assert 0 < error < np.abs(before - there).mean()
        assert len(strips.files[row]) < len(base64.b64encode(webp(there.astype(np.uint8), None)))


@pytest.mark.parametrize("quality", [None, 80])
def test_a_picture_is_a_webp_file(quality) -> None:
    with Image.open(io.BytesIO(webp(picture(50), quality)), formats=["WEBP"]) as image:
        assert image.size == (16, 16)


def test_canvas_repeats_what_is_above() -> None:
    assert canvas([4, 5, 6, 7], (3, 3)).tolist() == [[4, 5, 6], [7, 5, 6], [7, 5, 6]]
    assert canvas([4], (2, 2)).tolist() == [[4, 4], [4, 4]]
    assert canvas([1, 2, 3, 4], (2, 2)).tolist() == [[1, 2], [3, 4]]
