"""Swatches: what each code looks like alone, in one small image. Drafts are drawn with them, so
that any instant of any race can be drawn without its model."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from engine.models.base import ImageModel

SIDE, COLUMNS = 8, 32  # pixels of one swatch, and swatches to a row
BATCH = 256  # codes decoded at a time: the grids of a large codebook need not all fit in memory


def swatches(pixels: Callable[[np.ndarray], np.ndarray], codes: int) -> bytes:
    """A WebP file with code c at row c // COLUMNS, column c % COLUMNS, SIDE pixels each; unused
    places are white.

    Each is the middle of a 3 x 3 grid of that one code, decoded by `pixels` (int [B, h, w] to uint8
    [B, H, W, 3]) and scaled to SIDE. At most 65,504 codes: no WebP file is higher. Takes seconds,
    so it is worth keeping.
    """
    rows = -(-codes // COLUMNS)
    tiles = np.full((rows, COLUMNS, SIDE, SIDE, 3), 255, np.uint8)
    flat = tiles.reshape(rows * COLUMNS, SIDE, SIDE, 3)
    for start in range(0, codes, BATCH):
        batch = np.arange(start, min(codes, start + BATCH))
        pictures = pixels(batch[:, None, None].repeat(3, 1).repeat(3, 2))
        side = pictures.shape[1] // 3
        for code, picture in zip(batch, pictures[:, side : 2 * side, side : 2 * side], strict=True):
            flat[code] = np.asarray(
                Image.fromarray(picture).resize((SIDE, SIDE), Image.Resampling.BOX)
            )
    buffer = io.BytesIO()
    image = Image.fromarray(tiles.swapaxes(1, 2).reshape(rows * SIDE, COLUMNS * SIDE, 3))
    image.save(buffer, "WEBP", quality=80, method=6)
    return buffer.getvalue()


def sheet(model: ImageModel) -> bytes:
    """A model's swatches, drawn once and kept with the model."""
    if model.swatches is None:
        model.swatches = swatches(model.pixels, model.vocab_size)
    return model.swatches
