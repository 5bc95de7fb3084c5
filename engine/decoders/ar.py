"""Vanilla autoregressive decoding, the baseline in speed and distribution: one token a pass."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.window import WindowDecoder
from engine.trace import Status


class VanillaAR(WindowDecoder):
    """Samples by the Gumbel-max rule, x_n = argmax_v log p_n(v) + G_n(v).

    The noise G is keyed by (seed, position), so the image is a function of the seed's noise alone.
    Fixed-point iteration reproduces that image.
    """

    name, title = "ar", "Vanilla AR"
    idea = "One token at a time: each pass of the model draws the next."
    paper = "the baseline of all five papers"
    badge = Badge.IDENTICAL

    def propose(self, state: DecodeState) -> Window:
        return Window(*state.nothing_drafted())

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        return commit_first(state, p, (p.log() + state.gumbel(len(p))).argmax(-1))


def commit_first(state: DecodeState, p: Tensor, tokens: Tensor) -> Verification:
    """Commit the first of `tokens` [rows]; token i is a sample of row i of p [rows, V].

    No draft was tested. The tokens after the first become drafts.
    """
    status = torch.where(state.offsets(len(p)) == 0, int(Status.FRESH), int(Status.REFINED))
    unknown = torch.full_like(p[:, 0], torch.nan)
    return Verification(
        count=torch.ones_like(state.n),
        tokens=tokens,
        q=p,
        status=status,
        p=p,
        acceptance=unknown,
        uniform=unknown,
        drafts=torch.full_like(status, -1),
    )
