from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from tests.visualize.races import pixels
from visualize.pictures.swatches import BATCH, COLUMNS, SIDE, fitted, swatches


def sheet(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data), formats=["WEBP"]) as image:
        return np.asarray(image.convert("RGB")).astype(int)


@pytest.mark.parametrize("codes", [1, 31, 32, 33, 16 * COLUMNS])
def test_each_code_stands_at_its_place(codes) -> None:
    # greys: WebP keeps them, where it halves the resolution of colours
    def shades(tokens: np.ndarray) -> np.ndarray:
        tiles = (tokens * 97 % 251).astype(np.uint8).repeat(SIDE, 1).repeat(SIDE, 2)
        return tiles[..., None].repeat(3, -1)

    image = sheet(swatches(shades, codes))
    assert image.shape == (-(-codes // COLUMNS) * SIDE, COLUMNS * SIDE, 3)
    for code in range(codes):
        y, x = (at * SIDE + SIDE // 2 for at in divmod(code, COLUMNS))
        assert np.abs(image[y, x] - code * 97 % 251).max() <= 12
    unused = image[-SIDE:, (codes - 1) % COLUMNS * SIDE + SIDE :]
    assert (unused > 240).all()


def test_a_code_is_decoded_among_its_own_kind_and_only_the_middle_is_taken() -> None:
    asked = []

    def framed(tokens: np.ndarray) -> np.ndarray:
        """A black picture, white where the middle of a 3 x 3 grid is; patches of 4 x 4 pixels."""
        asked.append(tokens)
        out = np.zeros((len(tokens), 12, 12, 3), np.uint8)
        out[:, 4:8, 4:8] = 255
        return out

    assert (sheet(swatches(framed, BATCH + 1)) > 240).all()
    assert [len(tokens) for tokens in asked] == [BATCH, 1]
    for code, grid in enumerate(np.concatenate(asked)):
        assert grid.tolist() == [[code] * 3] * 3


def test_patches_of_another_size_are_scaled() -> None:
    def large(tokens: np.ndarray) -> np.ndarray:
        return pixels(tokens).repeat(2, 1).repeat(2, 2)

    np.testing.assert_array_equal(sheet(swatches(large, 40)), sheet(swatches(pixels, 40)))


def test_colours_that_are_linear_in_the_codebook_are_fitted_from_two_pictures() -> None:
    codebook = np.random.default_rng(1).uniform(size=(5 * COLUMNS, 4))
    greys = 40 + codebook @ [10.0, 60.0, 30.0, 80.0]
    decoded = []

    def pixels(tokens: np.ndarray) -> np.ndarray:
        decoded.append(tokens)
        return greys[tokens].repeat(4, 1).repeat(4, 2)[..., None].repeat(3, -1).astype(np.uint8)

    image = sheet(fitted(pixels, codebook, (8, 8)))
    assert [tokens.shape for tokens in decoded] == [(2, 8, 8)]
    for code, grey in enumerate(greys):
        y, x = (at * SIDE + SIDE // 2 for at in divmod(code, COLUMNS))
        assert np.abs(image[y, x] - grey).max() <= 12
