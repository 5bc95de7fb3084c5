"""Parallel decoding in T rounds, as in masked image transformers; nothing is verified."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.decoders.priced import Priced
from engine.numerics.distributions import exact, sample
from engine.numerics.randomness import Purpose
from engine.settings import Settings, knob
from engine.trace import Status


@dataclass(frozen=True, slots=True)
class ParallelSettings(Settings):
    """Settings of parallel decoding; the default T = 8 is MaskGIT's for 16 x 16 codes (Table 1)."""

    T: int = knob(8, "Rounds, each of one pass: fewer are faster and fit worse.", low=1, high=64)


class Parallel(Priced):
    """MaskGIT's iterative decoding (Chang et al., CVPR 2022, Sec. 3.2).

    After round t the share cos(pi t / 2T) of the cells is still masked. The cells of a round are
    sampled independently, given those of earlier rounds. MaskGIT first fills in the cells of which
    it is most certain; here the infilling's fixed order decides (as in Halton MaskGIT, Besnier et
    al., ICLR 2025).

    A step reads the cells that the previous round sampled, and asks for the cells of its own round.
    The last round's cells are committed at once and not read, so there are T passes in all.
    """

    name, title = "parallel", "Parallel"
    idea = (
        "Many tokens at once, in a few rounds: nobody checks whether those of a round fit together."
    )
    paper = "Chang et al., MaskGIT, CVPR 2022 (arXiv 2202.04200)"
    default = False
    infills = True
    Settings = ParallelSettings
    settings: ParallelSettings

    @property
    def capturable(self) -> bool:
        return False  # each step has another width

    def propose(self, state: DecodeState) -> Window:
        ends = rounds(self.plan.length, self.settings.T)
        sampled, end = ends[state.step], ends[state.step + 1]
        unread, beside = sampled - state.frontier, end - sampled - 1
        drafts, q, _ = state.drafts_left(unread)
        drafts = drafts[:-1]
        # Copies of the chain's last row ask for the positions after that row's position.
        last = torch.cat([state.root, drafts])[-1:].expand(beside)
        chain = range(unread + 1)
        copies = range(unread + 1, unread + 1 + beside)
        parents = [max(0, row - 1) for row in chain] + [unread - 1 if unread else r for r in copies]
        return Window(
            torch.cat([drafts, drafts.new_full((1 + beside,), -1)]),
            torch.cat([q, q.new_zeros(beside, q.shape[-1])]),
            nodes=torch.cat([drafts, last]),
            depths=state.offsets(unread + 1 + beside)[1:],
            parents=tuple(parents),
        )

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        drafts = window.drafts
        offsets, unread = state.offsets(len(p)), (drafts >= 0).sum()
        ended = state.room < len(p)  # the last round
        count = torch.where(ended, len(p), unread + 1)
        status = torch.where(offsets < count, int(Status.FRESH), int(Status.REFINED))
        u = state.uniform(Purpose.DRAFT, len(p), 1)[:, 0]
        return Verification(
            count=count,
            tokens=torch.where(offsets < unread, drafts, sample(p, u)),
            q=p,
            status=torch.where(offsets < unread, int(Status.ACCEPTED), status),
            p=p,
            acceptance=torch.where(offsets < unread, 1.0, torch.nan),
            uniform=torch.full_like(p[:, 0], torch.nan),
        )

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        """Return q, because every draft is accepted."""
        return exact(q)

    def sampled_from(self, window: Window, verification: Verification) -> Tensor:
        accepted = verification.status == Status.ACCEPTED
        return torch.where(accepted[:, None], window.q, verification.p)


@functools.lru_cache(maxsize=64)
def rounds(length: int, T: int) -> tuple[int, ...]:
    """Return how many of `length` positions are sampled before each round, and after the last."""
    ends = [0]
    while ends[-1] < length:
        t = len(ends)
        masked = math.floor(length * math.cos(math.pi * t / (2 * T))) if t < T else 0
        ends.append(min(length, max(ends[-1] + 1, length - masked)))
    return tuple(ends)
