"""Block verification as vllm-ascend shipped it until pull request 7808 (issue 7807):
`rejection_random_sample_block_verify_kernel` in `vllm_ascend/ops/triton/reject_sample.py`.

Draft x_i was drawn from q_i, and p_i is the model's distribution there. Let a_0 = 1 and a_i =
min(1, a_{i-1} p_i(x_i) / q_i(x_i)), and let u_1, u_2, .. be uniform numbers. R(p, q) is the
residual: max(p - q, 0), scaled to sum to 1.

The kernel accepts all drafts up to the last draft i for which the product of u_1 to u_i is at most
a_i. It replaces the next draft by a sample of R(p, q), with p and q of that next position. In the
paper (Sun et al., ICLR 2025, arXiv 2403.10444, Alg. 2) draft i passes if u_i alone is at most h_i,
and the sample is of R(a_i p, q). h_i depends on a_i and on the sum of max(a_i p - q, 0) at the next
position (`verify_block`), and is never above a_i. A product of several numbers is below a_i with a
probability above a_i, so later drafts are accepted too often. vllm-ascend uses the kernel for three
and more drafts of a drafter; here the drafts are SJD's."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings, window_knob
from engine.decoders.speculate import speculate
from engine.numerics.distributions import gather


@dataclass(frozen=True, slots=True)
class VllmAscendBlockSettings(SpeculativeSettings):
    window: int = window_knob(16)


class VllmAscendBlock(JacobiWindowDecoder):
    name, title = "vllm-ascend-block", "Block of vllm-ascend"
    idea = "Tests guesses together, by a product of random numbers."
    paper = "Sun et al., Block Verification, ICLR 2025 (arXiv 2403.10444), vllm-ascend issue 7807"
    badge = Badge.SAME_DISTRIBUTION
    Settings = VllmAscendBlockSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        drafts, rows = window.drafts, len(p)
        ratio = gather(p, drafts).double() / gather(window.q, drafts).double()
        walk = torch.cat([ratio.new_zeros(1), ratio.log().cumsum(0)])  # log a, if a had no bound
        log_a = (walk - walk.cummax(0).values)[1:]
        u = state.verify_numbers(rows).accept
        room = state.room.clamp_max(rows - 1)
        failed = (u.log().cumsum(0) > log_a) | (state.offsets(rows) >= room)
        first = rows - failed.flip(0).int().cumprod(0).sum()
        return speculate(state, window, p, log_a.exp(), first=first)
