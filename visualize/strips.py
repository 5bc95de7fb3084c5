"""Strips: a picture that fills in, one small image file for each row of tokens, so that only changed rows travel."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

VISIBLE = 4.0  # mean difference of a token's patch, of 255, from which a row is worth sending again


class Strips:
    """The strips of one lane's picture. `update` sends a row again only when a patch that is shown has visibly changed:
    a convolutional decoder sees a few tokens around each, so rows near the frontier keep changing a little."""

    def __init__(self, rows: int) -> None:
        self.files = [""] * rows  # base64 of one WebP file a row, "" where nothing has been reached
        self._sent: list[np.ndarray | None] = [None] * rows
        self._reached = [0] * rows

    def update(self, pixels: np.ndarray, reached: np.ndarray, exact: bool) -> None:
        """Takes in a picture uint8 [H, W, 3] whose tokens are shown where `reached` bool [h, w] is set. `exact` sends
        every row without loss."""
        rows, columns = reached.shape
        patches = pixels.reshape(rows, len(pixels) // rows, columns, -1, 3)
        for row in range(rows):
            count = int(reached[row].sum())
            if count and (exact or count > self._reached[row] or self._changed(row, patches[row], reached[row])):
                self._sent[row], self._reached[row] = patches[row], count
                self.files[row] = _webp(patches[row].reshape(patches.shape[1], -1, 3), exact)

    def _changed(self, row: int, patch: np.ndarray, reached: np.ndarray) -> bool:
        difference = np.abs(patch.astype(np.int16) - self._sent[row]).mean((0, 2, 3))
        return bool((difference[reached] > VISIBLE).any())


def _webp(pixels: np.ndarray, exact: bool) -> str:
    """One row of tokens, uint8 [s, W, 3], as base64 of a WebP file."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "WEBP", lossless=exact, quality=80, method=2)
    return base64.b64encode(buffer.getvalue()).decode()
