"""Speculative Jacobi decoding (Teng et al., ICLR 2025)."""

from __future__ import annotations

from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings
from engine.decoders.speculate import chain_acceptance, speculate


class SJD(JacobiWindowDecoder):
    """Draft x_i was sampled from q_i, the model's distribution in an earlier iteration; now it is
    p_i.

    Accept x_i with probability min(1, p_i(x) / q_i(x)) (Eq. 1, Eq. 4 in App. A). The first rejected
    one is resampled from R(p_i, q_i) = norm(max(p_i - q_i, 0)) (Eq. 2, Eq. 5 in App. A) and ends
    the step. Drafts behind it are redrawn from p, which becomes their q (Eq. 3). The committed
    tokens have vanilla AR's distribution (App. A, Theorem 1).
    """

    name, title = "sjd", "SJD"
    idea = "The model drafts for itself; a test keeps the distribution what it was."
    paper = "Teng et al., Speculative Jacobi Decoding, ICLR 2025 (arXiv 2410.01699)"
    badge = Badge.SAME_DISTRIBUTION
    Settings = SpeculativeSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        acceptance = chain_acceptance(window, p)
        return speculate(state, window, p, acceptance)
