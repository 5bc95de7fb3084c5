"""Strips: a picture that fills in, one small image file for each row of tokens, so that only
changed rows travel."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

VISIBLE = 4.0  # mean difference of a token's patch, of 255, from which a row is worth sending again
RACING, FINAL = 80, 95  # WebP qualities
# pixels of a picture whose final rows are sent without loss: enlarged, the eye would find what is
# lost
SMALL = 2**16


class Strips:
    """The strips of one lane's picture, of committed cells only. `update` sends a row again when
    more of it is committed or one of its patches has visibly changed: a convolutional decoder sees
    a few tokens around each, so patches near the frontier keep changing a little."""

    def __init__(self, grid: tuple[int, int]) -> None:
        self.files = [""] * grid[0]  # base64 of one WebP file a row, "" where nothing is committed
        self._grid = grid
        # each row's committed patches as they were when sent
        self._sent: list[np.ndarray | None] = [None] * grid[0]

    def update(self, pixels: np.ndarray, committed: int, final: bool) -> None:
        """Takes in a picture uint8 [H, W, 3], of which the first `committed` cells, row by row, are
        shown. `final` sends every row once more and well, a small picture's without loss."""
        rows, columns = self._grid
        patches = pixels.reshape(rows, len(pixels) // rows, columns, -1, 3)
        quality = RACING if not final else FINAL if pixels[..., 0].size > SMALL else None
        for row in range(rows):
            count = min(columns, committed - row * columns)
            if count > 0 and (final or self._changed(row, patches[row, :, :count])):
                self._sent[row] = patches[row, :, :count]
                self.files[row] = _strip(
                    patches[row].reshape(patches.shape[1], -1, 3), count * patches.shape[3], quality
                )

    def _changed(self, row: int, patches: np.ndarray) -> bool:
        sent = self._sent[row]
        if sent is None or sent.shape != patches.shape:
            return True
        # as most rows far behind the frontier are: much quicker than the difference
        if np.array_equal(patches, sent):
            return False
        difference = np.abs(patches.astype(np.int16) - sent).mean((0, 2, 3))
        return bool((difference > VISIBLE).any())


def canvas(tokens: Sequence[int], grid: tuple[int, int]) -> np.ndarray:
    """Tokens int [h, w] to decode a picture from that has only its first `tokens`, at least one.
    The other cells are not shown; they repeat the cell above, so that the decoder's view past the
    edge does the cells at the edge little harm."""
    height, width = grid
    filled = list(tokens)
    for cell in range(len(filled), height * width):
        filled.append(filled[cell - width] if cell >= width else filled[-1])
    return np.array(filled).reshape(height, width)


def webp(pixels: np.ndarray, quality: int | None) -> bytes:
    """A picture uint8 [H, W, 3] as a WebP file, without loss if no quality is given."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(
        buffer, "WEBP", lossless=quality is None, quality=quality or RACING, method=2
    )
    return buffer.getvalue()


def _strip(pixels: np.ndarray, shown: int, quality: int | None) -> str:
    """One row of tokens, uint8 [s, W, 3], as base64 of a WebP file. What lies behind its first
    `shown` columns of pixels repeats the last of them: that costs hardly a byte, and puts no edge
    beside what is shown."""
    behind = pixels[:, shown - 1 : shown].repeat(pixels.shape[1] - shown, 1)
    return base64.b64encode(webp(np.concatenate([pixels[:, :shown], behind], 1), quality)).decode()
