"""Vanilla autoregressive decoding: one token a forward pass. The others' baseline, in speed and in
law."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.jacobi import agree
from engine.decoders.run import Run
from engine.decoders.verdict import Verdict, Window
from engine.decoders.window import WindowDecoder


class VanillaAR(WindowDecoder):
    """Samples by the Gumbel-max rule, x_n = argmax_v log p_n(v) + G_n(v), with noise G keyed by
    (seed, position): a sample of p_n, and a picture that is a function of the seed's noise alone,
    which fixed-point iteration then reproduces."""

    name, title, order = "ar", "Vanilla AR", 0
    idea = "One token at a time: each forward pass of the model draws the next."
    paper = "the baseline of all five papers"
    badge = Badge.IDENTICAL

    def propose(self, run: Run, room: int) -> Window:
        return Window(run.drafts[:0], run.laws[:0])

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        y = (p.log() + run.noise.gumbel(run.frontier, len(p), p.shape[-1])).argmax(-1)
        return agree(window, p, y, torch.full_like(window.drafts, torch.nan, dtype=p.dtype))
