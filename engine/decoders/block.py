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

    Drafts before that one are accepted even if they failed their own test. Draft i is the token
    x_i; p_i and q_i are the distributions p and q at its place. Let a_0 = 1, a_i = min(1, a_{i-1}
    p_i(x_i) / q_i(x_i)) and S_i = sum_v max(a_i p_{i+1}(v) - q_{i+1}(v), 0). Draft i passes with
    probability h_i = S_i / (S_i + 1 - a_i); for the last draft, h_i = a_i. After t accepted drafts
    the next token is drawn from max(a_t p_{t+1} - q_{t+1}, 0), scaled to sum to 1. If every draft
    was accepted, it is the bonus token, drawn from p_{t+1}. No lossless rule accepts more drafts in
    expectation (Theorem 2).

    The rule is exact if the drafts of a pass are independent of one another and depend on earlier
    passes through their q alone. Redrawn drafts meet this condition. Drafts that are kept from pass
    to pass do not meet it, so for them the rule is not exact.

    Row i - 1 of `p` [R, V] is p_i. The acceptance probability recorded for draft i is h_i.
    """
    rows, room = len(p), state.room.clamp_max(len(p) - 1)
    a, h = chain_tests(p, window.q, window.drafts, room, torch.ones_like(p[:1, 0]).double())
    h, offsets = h.roll(-1), state.offsets(rows)
    failed = (state.verify_numbers(rows).accept >= h) | (offsets >= room)
    first = rows - failed.flip(0).int().cumprod(0).sum()

    def replacement(draft: Tensor, p: Tensor, q: Tensor) -> Tensor:
        return residual(a[first.view(1)].to(p.dtype)[:, None] * p, q)

    return speculate(state, window, p, h, replacement, first=first)


def chain_tests(
    p: Tensor, q: Tensor, drafts: Tensor, room: Tensor, start: Tensor
) -> tuple[Tensor, Tensor]:
    """Return a_t and h_t of `verify_block` for t = 0 .. R - 1, each [R] in float64.

    The chain is the first `room` (0-dim) of `drafts` [R]. Its t-th draft is `drafts[t - 1]`. Row
    t - 1 of `p` [R, V] is p_t, and row t - 1 of `q` [R, V] is q_t. `start` [1] is a_0.

    h_t is the probability that the t-th draft passes once all later drafts have failed. h_0 belongs
    to the token before the chain. From t = `room` on, h_t is a_t, because no draft follows.
    """
    ratio = gather(p, drafts).double() / gather(q, drafts).double()
    # log a without a's bound of 1: a sum over the drafts so far.
    walk = torch.cat([start.log(), ratio[:-1].log()]).cumsum(0)
    a = (walk - walk.cummax(0).values.clamp_min(0)).exp()
    residual_mass = (a[:, None].to(p.dtype) * p - q).clamp_min(0).sum(-1, dtype=torch.float64)
    h = passing(a, residual_mass)
    return a, torch.where(torch.arange(len(p), device=p.device) < room, h, a)


def passing(a: Tensor, residual_mass: Tensor) -> Tensor:
    """Return S / (S + 1 - a), elementwise, where S is `residual_mass`; return 1 where a = 1.

    `verify_block` defines a and S. The result is the probability that a draft passes once the
    drafts after it have failed. With a = 1 the fraction is 1 or, where S = 0, undefined.
    """
    return torch.where(a < 1, residual_mass / (residual_mass + 1 - a), 1.0)
