"""Speculative Jacobi decoding (Teng et al., ICLR 2025)."""

from __future__ import annotations

from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.refill import RefillDecoder
from engine.decoders.run import Run
from engine.decoders.speculate import ratio, speculate
from engine.decoders.verdict import Verdict, Window
from engine.distributions import gather, residual


class SJD(RefillDecoder):
    """Every draft x_i was drawn from an earlier iteration's law q_i of the same model; now the law
    is p_i.

    Accept x_i with probability min(1, p_i(x) / q_i(x)) (Eq. 1); the first refused one is replaced
    by a draw from R(p_i, q_i) = norm(max(p_i - q_i, 0)) (Eq. 2) and ends the step; drafts behind it
    are redrawn from p, which becomes their q (Eq. 3). What is committed follows the law of vanilla
    AR (Theorem 1).
    """

    name, title, order = "sjd", "SJD", 3
    idea = (
        "The model drafts for itself; each guess is accepted or refused so that the law of the"
        " pictures stays the same."
    )
    paper = "Teng et al., Speculative Jacobi Decoding, ICLR 2025"
    badge = Badge.SAME_DISTRIBUTION

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        acceptance = ratio(gather(p[:-1], window.drafts), gather(window.laws, window.drafts))
        return speculate(run, window, p, acceptance, lambda draft, p, q: residual(p, q))
