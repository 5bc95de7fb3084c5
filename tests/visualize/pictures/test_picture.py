from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from visualize.pictures.picture import RACING, canvas, final_webp, webp

NOISE = np.random.default_rng(1).integers(0, 256, (16, 32, 3), dtype=np.uint8)


def read(file: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(file), formats=["WEBP"]) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_a_small_picture_that_stays_loses_the_last_bit_of_its_colours_alone() -> None:
    np.testing.assert_array_equal(read(final_webp(NOISE)), NOISE // 2 * 2)
    np.testing.assert_array_equal(read(webp(NOISE, None)), NOISE)


def test_a_large_picture_that_stays_is_good_and_not_huge() -> None:
    y, x = np.mgrid[:256, :512]
    light = (128 + 60 * np.sin(x / 9) + 60 * np.cos(y / 7)).astype(np.uint8)
    smooth = light[..., None].repeat(3, -1)
    racing, final = webp(smooth, RACING), final_webp(smooth)
    error = np.abs(read(final) - smooth).mean()
    assert 0 < error < np.abs(read(racing) - smooth).mean()
    assert len(final) < len(webp(smooth, None))


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
