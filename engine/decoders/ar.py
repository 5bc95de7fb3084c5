"""Vanilla autoregressive decoding: one token a forward pass. The baseline, in speed and in
distribution."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.window import WindowDecoder
from engine.trace import Status


class VanillaAR(WindowDecoder):
    """Samples by the Gumbel-max rule, x_n = argmax_v log p_n(v) + G_n(v), with noise G keyed by
    (seed, position): a sample of p_n, and an image that is a function of the seed's noise alone,
    which fixed-point iteration then reproduces."""

    name, title = "ar", "Vanilla AR"
    idea = "One token at a time: each pass of the model draws the next."
    paper = "the baseline of all five papers"
    badge = Badge.IDENTICAL

    def propose(self, state: DecodeState) -> Window:
        return Window(state.drafts[:0], state.q[:0])

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        y = (p.log() + state.gumbel(len(p))).argmax(-1)
        unknown = torch.full_like(p[:, 0], torch.nan)
        return Verification(
            count=torch.ones_like(state.start),
            tokens=y,
            q=p,
            status=torch.full_like(y, int(Status.FRESH)),
            drafts=torch.full_like(y, -1),
            p=p,
            acceptance=unknown,
            uniform=unknown,
        )
