"""Speculative Jacobi decoding (Teng et al., ICLR 2025)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.block import verify_block
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings
from engine.decoders.speculate import chain_acceptance, speculate
from engine.settings import knob


@dataclass(frozen=True, slots=True)
class SJDSettings(SpeculativeSettings):
    verification: str = knob(
        "token",
        "How guesses are tested: each alone, or as a block, where a later one can save an earlier.",
        choices=("token", "block"),
    )


class SJD(JacobiWindowDecoder):
    """Tests each draft x_i ~ q_i, where q_i is the model's distribution in an earlier iteration.

    Accept x_i with probability min(1, p_i(x) / q_i(x)) (Eq. 1, Eq. 4 in App. A). The first rejected
    draft is resampled from R(p_i, q_i) = norm(max(p_i - q_i, 0)) (Eq. 2, Eq. 5 in App. A) and ends
    the step. Later drafts are redrawn from p, which becomes their q (Eq. 3). The committed
    tokens have vanilla AR's distribution (App. A, Theorem 1).

    With `verification` = block the drafts of a pass are tested together (see `verify_block`).
    """

    name, title = "sjd", "SJD"
    idea = "The model drafts for itself; a test keeps the distribution what it was."
    paper = "Teng et al., Speculative Jacobi Decoding, ICLR 2025 (arXiv 2410.01699)"
    badge = Badge.SAME_DISTRIBUTION
    Settings = SJDSettings
    settings: SJDSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if self.settings.verification == "block":
            return verify_block(state, window, p)
        acceptance = chain_acceptance(window, p)
        return speculate(state, window, p, acceptance)
