"""PJD's rule within one row of the picture, as its authors released it.

Source: boyaliao/PJD, `SpeculativeSampler.__call__` in `scheduler/jacobi_iteration_lumina_mgpt.py`.

Up to the first rejection the rule is SJD's. A later draft x stays if p(x) / q(x) > 0.5, and keeps
its old q. All other later drafts are redrawn from p, which becomes their q. A draft that stays does
so because of its value, so it is a sample of neither q nor p. Its own test takes it for a sample of
q. PJD promises good pictures, not the same distribution.

PJD gives each row of the picture a window. Here one window goes through the picture in raster
order, and is verified as PJD verifies its topmost row. The window's new drafts are SJD's.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings, window_knob
from engine.decoders.speculate import chain_acceptance, speculate
from engine.numerics.distributions import exact

STAYS = 0.5  # the least p / q


@dataclass(frozen=True, slots=True)
class ReleasedPJDSettings(SpeculativeSettings):
    window: int = window_knob(8)


class ReleasedPJD(JacobiWindowDecoder):
    name, title = "released-pjd", "Released PJD, one row"
    idea = "SJD that keeps a guess while p is more than half of what it was."
    paper = "Liao et al., Parallel Jacobi Decoding, CVPR 2026 (arXiv 2606.05703), released code"
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = ReleasedPJDSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        acceptance = chain_acceptance(window, p)
        verification = speculate(state, window, p, acceptance)
        offsets, room = state.offsets(len(p)), state.room.clamp_max(len(p) - 1)
        behind = (offsets >= verification.count) & (offsets < room)
        stays = behind & (acceptance > STAYS)
        verification.tokens = torch.where(stays, window.drafts, verification.tokens)
        verification.q = torch.where(stays[:, None], window.q, p)
        return verification

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        return exact(p)  # if the draft were a sample of q
