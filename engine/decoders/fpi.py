"""Fixed-point iteration: Jacobi decoding whose iterations share one noise, so that they converge to
vanilla AR's own picture."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.jacobi import agree
from engine.decoders.refill import RefillDecoder
from engine.decoders.run import Run
from engine.decoders.verdict import Verdict, Window


class FixedPoint(RefillDecoder):
    """y_i = argmax_v log p_i(v) + G_i(v), with the G of (seed, position) that vanilla AR uses, in
    every iteration. A row that was computed on a final prefix is AR's own token, so the picture is
    identical, token for token, in exact arithmetic. A draft survives a change of law from q to p
    with probability at least (1 - TV) / (1 + TV), not sum q p as with fresh noise."""

    name, title, order, default = "fpi", "Fixed point", 2, False
    idea = (
        "Jacobi's guesses, but all from the same dice as vanilla AR: they settle on exactly its"
        " picture."
    )
    paper = "Wiggers & Hoogeboom, ICML 2020; Song et al., ICML 2021"
    badge = Badge.IDENTICAL

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        y = (p.log() + run.noise.gumbel(run.frontier, len(p), p.shape[-1])).argmax(-1)
        return agree(window, p, y, torch.full_like(window.laws[:, 0], torch.nan))
