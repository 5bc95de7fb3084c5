"""Swatches: what each code looks like alone, in one small image.

Drafts are drawn as swatches, so that any instant of any race can be drawn without its model.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from engine.models.base import ImageModel

SIDE, COLUMNS = 8, 32  # side of a swatch in pixels, and swatches a row
FITTED = 2  # pictures that `fitted` decodes
BATCH = 256  # codes decoded at a time: the grids of a large codebook need not all fit in memory


def swatches(pixels: Callable[[np.ndarray], np.ndarray], codes: int) -> bytes:
    """Return a WebP file with a swatch of every code, SIDE x SIDE pixels each.

    Code c is at row c // COLUMNS, column c % COLUMNS; unused places are white. A swatch is the
    middle of a 3 x 3 grid of its code alone, decoded by `pixels` and scaled to SIDE. `pixels`
    decodes B grids of codes, int [B, h, w], to B pictures, uint8 [B, H, W, 3]. There can be at most
    65,504 codes, because a WebP file cannot be higher. The work takes seconds, so keep the result.
    """
    tiles = np.empty((codes, SIDE, SIDE, 3), np.uint8)
    for start in range(0, codes, BATCH):
        batch = np.arange(start, min(codes, start + BATCH))
        pictures = pixels(batch[:, None, None].repeat(3, 1).repeat(3, 2))
        side = pictures.shape[1] // 3
        for code, picture in zip(batch, pictures[:, side : 2 * side, side : 2 * side], strict=True):
            tiles[code] = np.asarray(
                Image.fromarray(picture).resize((SIDE, SIDE), Image.Resampling.BOX)
            )
    return _file(tiles)


def fitted(
    pixels: Callable[[np.ndarray], np.ndarray], codebook: np.ndarray, grid: tuple[int, int]
) -> bytes:
    """Return a file like that of `swatches`, for a model that decodes pictures slowly.

    With such a model `swatches` would take minutes.

    Each swatch has one colour, which a linear map computes from the code's vector. `codebook`
    [V, D] has the vectors of V codes. The map is fitted by least squares to FITTED pictures, each a
    `grid` (rows, columns) of random codes. It explains 84% of the variance of the embedded model's
    colours.
    """
    codes = np.random.default_rng(0).integers(0, len(codebook), (FITTED, *grid))
    pictures = pixels(codes)
    side = pictures.shape[1] // grid[0]
    patches = pictures.reshape(FITTED, grid[0], side, grid[1], side, 3)
    scaled = (codebook - codebook.mean(0)) / (codebook.std(0) + 1e-6)
    vectors = np.pad(scaled, ((0, 0), (0, 1)), constant_values=1.0)
    map_, *_ = np.linalg.lstsq(vectors[codes.ravel()], patches.mean((2, 4)).reshape(-1, 3))
    colours = np.clip(vectors @ map_, 0, 255).astype(np.uint8)
    return _file(np.broadcast_to(colours[:, None, None], (len(codebook), SIDE, SIDE, 3)))


def _file(tiles: np.ndarray) -> bytes:
    """Return swatches, uint8 [V, SIDE, SIDE, 3], as the file that `swatches` describes."""
    rows = -(-len(tiles) // COLUMNS)
    sheet = np.full((rows * COLUMNS, SIDE, SIDE, 3), 255, np.uint8)
    sheet[: len(tiles)] = tiles
    sheet = sheet.reshape(rows, COLUMNS, SIDE, SIDE, 3).swapaxes(1, 2)
    buffer = io.BytesIO()
    image = Image.fromarray(sheet.reshape(rows * SIDE, COLUMNS * SIDE, 3))
    image.save(buffer, "WEBP", quality=80, method=6)
    return buffer.getvalue()


def sheet(model: ImageModel) -> bytes:
    """Return the image file of a model's swatches, which is made once and kept with the model."""
    if model.swatches is None:
        model.swatches = (
            fitted(model.pixels, model.codebook.float().cpu().numpy(), model.grid)
            if model.slow_pixels
            else swatches(model.pixels, model.vocab_size)
        )
    return model.swatches
