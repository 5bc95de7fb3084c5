"""Pictures: the tokens from which one is decoded, and the file in which it is sent."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

RACING = 80  # WebP quality of a picture that another one replaces
FINAL = 95  # of one that stays
# A final picture of so many pixels or fewer is not compressed as a photograph is, since the page
# enlarges it and the loss would show. It loses the last bit of a colour alone, which is noise and a
# sixth of its bytes.
SMALL = 2**16


def canvas(tokens: np.ndarray, grid: tuple[int, int]) -> np.ndarray:
    """Return tokens int [h, w] from which a picture with unknown cells can be decoded.

    `tokens` [h * w] has -1 for unknown cells; at least one is known. Unknown cells are not shown.
    They repeat the cell above, so that the decoder's view past the edge hardly changes the cells at
    the edge.
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
    """Return a picture that stays, uint8 [H, W, 3], as the file that the page receives."""
    if pixels[..., 0].size > SMALL:
        return webp(pixels, FINAL)
    return webp(pixels & 0xFE, None)
