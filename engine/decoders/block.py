"""Block verification (Sun et al., ICLR 2025, arXiv 2403.10444): drafts are tested together.

Shapes: R rows of a window, V codes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.decoders.speculate import speculate
from engine.numerics.distributions import gather, residual


def verify_block(state: DecodeState, window: Window, p: Tensor) -> Verification:
    """Accept drafts up to the last one that passes its own test (Alg. 2).

    Drafts before that one are accepted even if they failed their own test. Let a_0 = 1, a_i =
    min(1, a_{i-1} p_i(x_i) / q_i(x_i)) and S_i = sum_v max(a_i p_{i+1}(v) - q_{i+1}(v), 0). Draft i
    passes with probability h_i = S_i / (S_i + 1 - a_i); for the last draft, h_i = a_i. After t
    accepted drafts the next token is a sample of R(a_t p_{t+1}, q_{t+1}), or the bonus token if no
    draft is left. No lossless rule accepts more drafts in expectation (Theorem 2).

    The rule is exact if the drafts of a pass are independent of one another and depend on earlier
    passes through their q alone. Redrawn drafts meet this condition. Drafts that are kept from pass
    to pass do not meet it, so for them the rule is not exact.

    `p` is [R, V]. The acceptance probability recorded for draft i is h_i.
    """
    rows, drafts, q = len(p), window.drafts, window.q
    ratio = gather(p, drafts).double() / gather(q, drafts).double()
    # log a of each row without a's bound of 1: a sum over the drafts before the row's own draft.
    walk = torch.cat([ratio.new_zeros(1), ratio[:-1].log().cumsum(0)])
    a = (walk - walk.cummax(0).values).exp()
    residual_mass = (a[:, None].to(p.dtype) * p - q).clamp_min(0).sum(-1, dtype=torch.float64)
    behind, residual_mass = a.roll(-1), residual_mass.roll(-1)  # of the next row
    # Where a draft is certain and p = q in the next row, the fraction is 0 / 0: the draft passes.
    h = torch.where(behind < 1, residual_mass / (residual_mass + 1 - behind), 1.0)
    offsets, room = state.offsets(rows), state.room.clamp_max(rows - 1)
    h = torch.where(offsets + 1 < room, h, behind)
    failed = (state.verify_numbers(rows).accept >= h) | (offsets >= room)
    first = rows - failed.flip(0).int().cumprod(0).sum()

    def replacement(draft: Tensor, p: Tensor, q: Tensor) -> Tensor:
        return residual(a[first.view(1)].to(p.dtype)[:, None] * p, q)

    return speculate(state, window, p, h, replacement, first=first)
