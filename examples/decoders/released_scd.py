"""SCD's maximal coupling as its authors released it.

Source: junhyukso/SCD, `SpeculativeSampler.__call__` in
`lumina1/scheduler/jacobi_iteration_lumina_mgpt_SCDMC.py`.

After the first rejection a draft is kept with probability min(1, p / q), else redrawn from the
residual R(p, q). Either way the draft is then a sample of the newer p. But a kept draft is stored
with its old q, so the next test compares it with a distribution that it no longer has. A redrawn
draft is stored with p, as it should be.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings, window_knob
from engine.decoders.speculate import chain_acceptance, keep_coupled, speculate
from engine.numerics.randomness import Purpose
from engine.trace import Status


@dataclass(frozen=True, slots=True)
class ReleasedSCDSettings(SpeculativeSettings):
    window: int = window_knob(32)


class ReleasedSCD(JacobiWindowDecoder):
    name, title = "released-scd", "Released SCD"
    idea = "SCD with the coupling of its released code: a kept guess has its old q."
    paper = "So et al., Speculative Coupled Decoding, ICML 2026 (arXiv 2510.24211), released code"
    badge = Badge.SAME_DISTRIBUTION
    Settings = ReleasedSCDSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        verification = speculate(state, window, p, chain_acceptance(window, p))
        u = state.uniform(Purpose.COUPLING, len(p), 2)
        verification = keep_coupled(state, window, p, verification, u)
        kept = (verification.status == Status.REFINED) & (state.offsets(len(p)) < len(p) - 1)
        verification.q = torch.where(kept[:, None], window.q, p)
        return verification
