"""Picture rows: a picture that fills in, one small image file for each row of tokens, so that only
changed rows travel."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

VISIBLE = 4.0  # mean difference of a token's patch, of 255, from which a row is worth sending again
RACING, FINAL = 80, 95  # WebP qualities
# pixels of a picture whose final rows are sent without loss: enlarged, the eye would find what is
# lost
SMALL = 2**16


class PictureRows:
    """The rows of one lane's picture, of committed cells only. `update` sends a row again when
    more of it is committed or one of its patches has visibly changed: a convolutional decoder sees
    a few tokens around each, so patches near the frontier keep changing a little."""

    def __init__(self, grid: tuple[int, int]) -> None:
        self.files = [""] * grid[0]  # base64 of one WebP file a row, "" where nothing is committed
        self.grid = grid
        # each row's committed patches as they were when sent
        self._sent: list[np.ndarray | None] = [None] * grid[0]

    def update(self, pixels: np.ndarray, committed: np.ndarray, final: bool) -> None:
        """Takes in a picture uint8 [H, W, 3], of which the `committed` cells, bool [h * w], are
        shown. `final` sends every row once more and well, a small picture's without loss."""
        rows, columns = self.grid
        patches = pixels.reshape(rows, len(pixels) // rows, columns, -1, 3)
        quality = RACING if not final else FINAL if pixels[..., 0].size > SMALL else None
        for row, shown in enumerate(committed.reshape(rows, columns)):
            patch = patches[row][:, shown]
            if shown.any() and (final or self._changed(row, patch)):
                self._sent[row] = patch
                self.files[row] = _row_file(patches[row], shown, quality)

    def _changed(self, row: int, patches: np.ndarray) -> bool:
        sent = self._sent[row]
        if sent is None or sent.shape != patches.shape:
            return True
        # as most rows far behind the frontier are: much quicker than the difference
        if np.array_equal(patches, sent):
            return False
        difference = np.abs(patches.astype(np.int16) - sent).mean((0, 2, 3))
        return bool((difference > VISIBLE).any())


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


def _row_file(patches: np.ndarray, visible: np.ndarray, quality: int | None) -> str:
    """One row of tokens, uint8 [s, w, s, 3], as base64 of a WebP file. Cells not `visible`,
    bool [w], repeat the last column of pixels of the visible cell before them: that costs hardly a
    byte, and puts no edge beside them."""
    last = np.maximum.accumulate(np.where(visible, np.arange(len(visible)), -1))
    last = np.where(last < 0, np.argmax(visible), last)  # before the first
    whole = np.where(visible[:, None, None], patches, patches[:, last, -1:])
    return base64.b64encode(webp(whole.reshape(len(patches), -1, 3), quality)).decode()
