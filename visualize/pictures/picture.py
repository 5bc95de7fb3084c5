"""Pictures: the tokens that a picture is decoded from, and the file that it is sent in."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

RACING = 80  # WebP quality of a picture that a later one replaces
FINAL = 95  # WebP quality of a final picture
# A final picture of at most this many pixels is compressed without loss, because the page enlarges
# it and a loss would show. Before compression the last bit of each colour is dropped: that bit is
# noise, and takes a sixth of the file's bytes.
SMALL = 2**16


def canvas(tokens: np.ndarray, grid: tuple[int, int]) -> np.ndarray:
    """Return tokens int [h, w] from which a picture with unknown cells can be decoded.

    `tokens` [h * w] is -1 in unknown cells; at least one cell is known. An unknown cell gets the
    token above it or, in the top row, the token to its left. If the first cell is unknown, it gets
    the first known token.

    The decoder also reads the tokens around a cell, so unknown cells need tokens. Repeated tokens
    hardly change the pixels of the known cells beside them. The pixels of the unknown cells mean
    nothing.
    """
    width = grid[1]
    filled = tokens.tolist()
    for cell, token in enumerate(filled):
        if token < 0:
            above = filled[cell - width] if cell >= width else filled[cell - 1] if cell else -1
            filled[cell] = above if above >= 0 else int(tokens[tokens >= 0][0])
    return np.array(filled).reshape(grid)


def webp(pixels: np.ndarray, quality: int | None) -> bytes:
    """Return a picture uint8 [H, W, 3] as a WebP file, lossless if `quality` is None."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(
        buffer, "WEBP", lossless=quality is None, quality=quality or RACING, method=2
    )
    return buffer.getvalue()


def final_webp(pixels: np.ndarray) -> bytes:
    """Return a final picture, uint8 [H, W, 3], as the WebP file that the page receives."""
    if pixels[..., 0].size > SMALL:
        return webp(pixels, FINAL)
    return webp(pixels & 0xFE, None)
