"""Fixed-point iteration: Jacobi decoding whose iterations share one noise.

The iterations converge to vanilla AR's own image.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi import commit_agreeing
from engine.decoders.jacobi_window import JacobiWindowDecoder


class FixedPoint(JacobiWindowDecoder):
    """Samples y_i = argmax_v log p_i(v) + G_i(v) in every iteration, with vanilla AR's noise G.

    G is keyed by (seed, position). A row that is computed on a final prefix gives AR's own token,
    so in exact arithmetic the image is identical, token for token. A draft survives a change from q
    to p with probability at least (1 - TV) / (1 + TV). With fresh noise the probability would be
    sum_v q(v) p(v).
    """

    name, title = "fpi", "Fixed point"
    idea = "Guesses from vanilla AR's own noise: they settle on exactly its picture."
    paper = "Wiggers & Hoogeboom, ICML 2020 (arXiv 2002.09928); Song et al., ICML 2021"
    badge = Badge.IDENTICAL

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        y = (p.log() + state.gumbel(len(p))).argmax(-1)
        return commit_agreeing(state, window, p, y, torch.full_like(p[:, 0], torch.nan))
