"""Jacobi decoding with fresh samples: the baseline of SJD and GSD.

Sources: GSD, Table 1; the `jacobi` scheme of SJD's code.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder
from engine.decoders.speculate import chain_status, count_leading
from engine.numerics.distributions import gather, sample
from engine.numerics.randomness import Purpose


class Jacobi(JacobiWindowDecoder):
    """Draws a fresh y_i ~ p_i at every position in each iteration.

    The decoder commits the leading drafts that equal y, and the y after these drafts. All committed
    tokens are fresh samples of the exact distribution. The remaining y become the next drafts. Two
    independent samples of a flat distribution hardly ever agree, so Jacobi is barely faster than
    vanilla AR.
    """

    name, title, default = "jacobi", "Jacobi", False
    idea = "Guess many tokens at once; keep those that a second, independent guess repeats."
    paper = (
        "Song et al., ICML 2021 (arXiv 2002.03629); sampling baseline of SJD (Teng et al., 2025)"
    )
    badge = Badge.SAME_DISTRIBUTION

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        u = state.uniform(Purpose.VERIFY, len(p), 1)
        return commit_agreeing(state, window, p, sample(p, u[:, 0]), gather(p, window.drafts))


def commit_agreeing(
    state: DecodeState, window: Window, p: Tensor, y: Tensor, acceptance: Tensor
) -> Verification:
    """Commit y [R] up to and including the first position where draft and y differ.

    `y` has a sample of each row of p [R, V]. Up to that position every row of p was computed on a
    final prefix. The remaining y are the next drafts. `acceptance` [R] is only recorded.
    """
    room = state.room.clamp_max(len(p) - 1)
    first = count_leading(window.drafts == y, room)
    return Verification(
        first + 1,
        y,
        p,
        chain_status(first, len(p), room),
        p,
        acceptance,
        uniform=torch.full_like(p[:, 0], torch.nan),  # a draft is compared with y, not with u
    )
