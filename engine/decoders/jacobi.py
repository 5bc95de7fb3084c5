"""Jacobi decoding with fresh samples: the baseline that SJD improves on (SJD, Sec. 2 and its code's
`jacobi` scheme)."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.refill import RefillDecoder
from engine.decoders.run import Run
from engine.decoders.speculate import leading, outcome, padded
from engine.decoders.verdict import Verdict, Window
from engine.distributions import gather, sample
from engine.randomness import Purpose


class Jacobi(RefillDecoder):
    """Each iteration draws a fresh y_i ~ p_i at every position. Drafts stand as long as they agree
    with it; the agreeing ones and one more are committed, all of them fresh samples of the exact
    law, and the rest become the next drafts. Two independent samples of flat laws hardly ever
    agree, so this barely beats vanilla AR."""

    name, title, order, default = "jacobi", "Jacobi", 1, False
    idea = "Guess many tokens at once and keep those that a second, independent guess repeats."
    paper = "Song et al. 2021; sampling baseline of SJD (Teng et al., ICLR 2025)"
    badge = Badge.SAME_DISTRIBUTION

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        y = sample(p, run.noise.uniform(Purpose.VERIFY, run.positions(len(p)), run.step, 1)[:, 0])
        return agree(window, p, y, gather(p[:-1], window.drafts))


def agree(window: Window, p: Tensor, y: Tensor, acceptance: Tensor) -> Verdict:
    """Commits y up to and including the first position where draft and y [H + 1] differ: that far
    every row of p was computed on a final prefix. The remaining y are the next drafts."""
    first = leading(window.drafts == y[:-1])
    status = outcome(first, len(window.drafts), p.device)
    # a draft is held against y, not against a uniform number
    untested = torch.full_like(p[:, 0], torch.nan)
    return Verdict(
        first + 1,
        y,
        p,
        status,
        padded(window.drafts, -1),
        p,
        padded(acceptance, torch.nan),
        untested,
    )
