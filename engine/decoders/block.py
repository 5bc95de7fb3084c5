"""Block verification (Sun et al., ICLR 2025, arXiv 2403.10444): drafts are tested together.

Shapes: H drafts, V codes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.speculate import speculate
from engine.numerics.distributions import gather, residual


def verify_block(state: DecodeState, window: Window, p: Tensor) -> Verification:
    """Accepts drafts up to the last one that passes its own test: it saves those before it that
    did not (Alg. 2).

    With a_0 = 1, a_i = min(1, a_{i-1} p_i(x_i) / q_i(x_i)) and
    S_i = sum_v max(a_i p_{i+1}(v) - q_{i+1}(v), 0), draft i passes with probability
    h_i = S_i / (S_i + 1 - a_i), the last one with a_i. Behind t accepted drafts the next token is a
    sample of R(a_t p_{t+1}, q_{t+1}), or the bonus. No lossless rule accepts more drafts in
    expectation (Theorem 2). It is exact where the drafts of a pass are independent of one another
    and depend on earlier passes through their q alone, as redrawn drafts do. It is not exact where
    drafts are kept from pass to pass.

    p [H + 1, V]. The acceptance recorded of a draft is its h.
    """
    drafts, q = window.drafts, window.q
    H, room = len(drafts), state.room.clamp_max(len(drafts))
    ratio = gather(p[:-1], drafts).double() / gather(q, drafts).double()
    walk = torch.cat([ratio.new_zeros(1), ratio.log().cumsum(0)])  # log a, if a had no bound
    a = (walk - walk.cummax(0).values).exp()
    left = (a[:-1, None].to(p.dtype) * p[:-1] - q).clamp_min(0).sum(-1, dtype=torch.float64)
    left = torch.cat([left[1:], left.new_zeros(1)])[:H]
    # Where a draft is certain and p = q behind it, the fraction is 0 / 0: it passes.
    h = torch.where(a[1:] < 1, left / (left + 1 - a[1:]), 1.0)
    offsets = state.offsets(H)
    h = torch.where(offsets + 1 < room, h, a[1:])
    accept = state.verify_numbers(H + 1).accept[:-1]
    failed = (accept >= h) | (offsets >= room)
    first = H - failed.flip(0).int().cumprod(0).sum()

    def replacement(draft: Tensor, p: Tensor, q: Tensor) -> Tensor:
        return residual(a[first.view(1)].to(p.dtype)[:, None] * p, q)

    return speculate(state, window, p, h, replacement, first=first)
