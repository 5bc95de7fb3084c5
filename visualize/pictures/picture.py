"""Pictures: the tokens that one is decoded from, and the file that it is sent as."""

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
    """Tokens int [h, w] to decode a picture from, of which only some are known: `tokens` [h * w],
    -1 elsewhere, at least one known. The other cells are not shown; they repeat the cell above, so
    that the decoder's view past the edge does the cells at the edge little harm."""
    width = grid[1]
    filled = tokens.tolist()
    for cell, token in enumerate(filled):
        if token < 0:
            above = filled[cell - width] if cell >= width else filled[cell - 1] if cell else -1
            filled[cell] = above if above >= 0 else int(tokens[tokens >= 0][0])
    return np.array(filled).reshape(grid)


def webp(pixels: np.ndarray, quality: int | None) -> bytes:
    """A picture uint8 [H, W, 3] as a WebP file, without loss if no quality is given."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(
        buffer, "WEBP", lossless=quality is None, quality=quality or RACING, method=2
    )
    return buffer.getvalue()


def final_webp(pixels: np.ndarray) -> bytes:
    """A picture that stays, uint8 [H, W, 3], as the page is sent it."""
    if pixels[..., 0].size > SMALL:
        return webp(pixels, FINAL)
    return webp(pixels & 0xFE, None)
