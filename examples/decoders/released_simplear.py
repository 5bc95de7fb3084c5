"""SJD as SimpleAR released it: wdrink/SimpleAR, `SimpARForCausalLM.generate_visual_sjd` in
`simpar/model/language_model/simpar_qwen2.py`.

The first pass reads padding. It commits the likeliest first token, and drafts the likeliest token
at every other position. Each draft's q is the p of this pass, though the draft was not sampled from
p. The second pass accepts the first of these drafts by force. So the first two tokens are not
samples of p, and the other drafts are tested as samples of q, which they are not.

From the third pass on, the draft that the release accepts by force is the residual sample of the
pass before, with q = p. That draft would pass its test anyway. Here each pass commits its residual
sample itself, so from the third pass on one draft fewer is accepted by force. The released window
is the whole rest of the picture. In a smaller window, new drafts begin as SJD's do."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, JacobiWindowSettings, window_knob
from engine.decoders.speculate import chain_acceptance, speculate
from engine.models.base import MAX_ROWS
from engine.numerics.distributions import one_hot
from engine.settings import knob


@dataclass(frozen=True, slots=True)
class ReleasedSimpleARSettings(JacobiWindowSettings):
    window: int = window_knob(MAX_ROWS)
    least: int = knob(1, "Guesses of a pass that are accepted whatever p is.", low=0, high=8)


class ReleasedSimpleAR(JacobiWindowDecoder):
    name, title = "released-simplear", "Released SimpleAR"
    idea = "SJD that begins with the likeliest tokens, and accepts one guess by force."
    paper = "Wang et al., SimpleAR, 2025 (arXiv 2504.11455), released code"
    badge = Badge.SAME_DISTRIBUTION
    Settings = ReleasedSimpleARSettings
    settings: ReleasedSimpleARSettings

    def propose(self, state: DecodeState) -> Window:
        window = super().propose(state)
        if not state.step:
            window.drafts = torch.zeros_like(window.drafts)  # padding
        return window

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        acceptance = chain_acceptance(window, p)
        if not state.step:
            likeliest = p.argmax(-1)
            first = one_hot(likeliest[:1], p.shape[-1])
            return speculate(
                state, window, p, 0 * acceptance, lambda draft, p, q: first, samples=likeliest
            )
        # From the third pass on, the first one is the residual sample that is committed already.
        forced = self.settings.least - (state.step > 1)
        acceptance = torch.where(state.offsets(len(acceptance)) < forced, 1.0, acceptance)
        return speculate(state, window, p, acceptance)
