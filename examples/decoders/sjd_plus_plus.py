"""SJD++ (Teng et al., arXiv 2512.07503), as read in a third party's implementation:
phymhan/nanochat, `generate_sjd` in `scripts/demo_sjd_nanochat.py`. The paper's text was not read.

Up to the first rejection it is SJD. A later draft x stays where p(x) / q(x) > tau, else it is
redrawn from p; its q is now p either way. But a draft that stays by a threshold is not a sample of
p: tokens with p > tau q stay too often. SCD keeps x with probability min(1, p / q) and redraws from
R(p, q), which gives a sample of p. SJD++ promises no visible loss, not the same distribution."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings
from engine.decoders.speculate import chain_acceptance, speculate
from engine.numerics.distributions import exact, gather
from engine.settings import knob


@dataclass(frozen=True, slots=True)
class SJDPlusPlusSettings(SpeculativeSettings):
    tau: float = knob(0.5, "A guess stays while p / q is more than this.", low=0.0, high=10.0)


class SJDPlusPlus(JacobiWindowDecoder):
    name, title = "sjd-plus-plus", "SJD++"
    idea = "SJD that keeps the guesses of which the model is still sure."
    paper = "Teng et al., SJD++, 2025 (arXiv 2512.07503), as a third party implements it"
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = SJDPlusPlusSettings
    settings: SJDPlusPlusSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        verification = speculate(state, window, p, chain_acceptance(window, p))
        ratio = gather(p, window.drafts) / gather(window.q, window.drafts)
        offsets, room = state.offsets(len(p)), state.room.clamp_max(len(p) - 1)
        behind = (offsets >= verification.count) & (offsets < room)
        stays = behind & (ratio > self.settings.tau)
        verification.tokens = torch.where(stays, window.drafts, verification.tokens)
        return verification

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        return exact(p)  # if the draft were a sample of q
