"""Verify and auto-correct (SSD, 2026), without its trained heads."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import fill_up, initial_tokens
from engine.decoders.priced import Priced
from engine.decoders.speculate import chain_acceptance
from engine.models.base import MAX_ROWS
from engine.numerics.distributions import residual, sample
from engine.settings import Settings, knob
from engine.trace import MAX_SIDE, Status


@dataclass(frozen=True, slots=True)
class AutoCorrectSettings(Settings):
    """Settings of verify and auto-correct."""

    rounds: int = knob(
        3,
        "Passes over each row of the picture; with as many as a row has tokens the distribution"
        " stays the model's.",
        low=1,
        high=MAX_SIDE,
    )


class AutoCorrect(Priced):
    """Corrects a row of the picture in r = `rounds` passes, every token by itself.

    A row's first drafts copy the tokens above them, each with a one-hot q. A pass tests every draft
    x of the row, even after an earlier draft was rejected. It keeps x with probability min(1, p(x)
    / q(x)), and otherwise replaces x by a draw from the residual max(p - q, 0), scaled to sum to 1.
    Either way the new draft is a sample of p, and this p is the draft's q in the next pass.

    A pass computes a token's p from the tokens before it, as they were before the pass. In the t-th
    pass over a row, all tokens before the row's t-th token are final, so the pass commits the t-th
    token. After r passes the row's other tokens are not tested again. The first pass over the next
    row reads and commits them; in the picture's last row the r-th pass commits them itself. So h
    rows take h r passes. A row of more than 48 tokens is corrected in parts, one after another.

    The tokens that are committed without a further test have a price: their last p was computed
    from drafts that the same pass may have replaced. With r at least the row's width there are no
    such tokens, and the decoder is exact.

    SSD drafts with heads that it trains. Here nothing is trained.
    """

    name, title = "auto-correct", "Auto-correct"
    idea = (
        "A few passes over each row: every token is corrected by itself, and none is thrown away."
    )
    paper = "SSD, 2026 (arXiv 2606.20543), without its trained heads"
    default, whole_only = False, True
    Settings = AutoCorrectSettings
    settings: AutoCorrectSettings

    @property
    def capturable(self) -> bool:
        return False  # each pass over a row has another width

    def propose(self, state: DecodeState) -> Window:
        rows = self._end(state.frontier + self._kept(state)) - state.frontier
        drafts, q, there = (part[:rows] for part in state.drafts_left(rows))
        new = initial_tokens(state, drafts, there, "vertical repeat")
        has_draft = torch.ones_like(there)
        return Window(*fill_up(state, drafts, q, there, new, has_draft, fresh="one-hot"))

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        rows, kept = len(p), self._kept(state)
        passes = 1 if kept else state.frontier - self._begin(state.frontier) + 1
        is_last = passes == self.settings.rounds and state.frontier + rows == self.plan.length
        count = rows if is_last else kept + 1  # no later pass would commit the rest
        offsets = state.offsets(rows)
        is_kept, is_committed = offsets < kept, offsets < count
        accept, replace, _ = state.verify_numbers(rows)
        acceptance = torch.where(is_kept, 1.0, chain_acceptance(window, p))
        passed = is_kept | (accept < acceptance)
        accepted = torch.where(is_committed, int(Status.ACCEPTED), int(Status.REFINED))
        rejected = torch.where(is_committed, int(Status.RESAMPLED), int(Status.REJECTED))
        return Verification(
            count=torch.full_like(state.count, count),
            tokens=torch.where(passed, window.drafts, sample(residual(p, window.q), replace)),
            q=p,
            status=torch.where(passed, accepted, rejected),
            p=p,
            acceptance=acceptance,
            uniform=torch.where(is_kept, torch.nan, accept),
            drafts=window.drafts,
        )

    def sampled_from(self, window: Window, verification: Verification) -> Tensor:
        is_kept = verification.uniform.isnan()
        return torch.where(is_kept[:, None], window.q, verification.p)

    def _kept(self, state: DecodeState) -> int:
        """Return how many tokens the next pass commits without a test.

        These are the tokens that the last pass over a part of the row left uncommitted. The result
        is 0 while the part has passes left.
        """
        n, begin = state.frontier, self._begin(state.frontier)
        return self._end(n) - n if n - begin == self.settings.rounds else 0

    def _begin(self, position: int) -> int:
        """Return the first position of the row part that contains `position`."""
        column = position % self.plan.stride
        return position - column % (MAX_ROWS // 2)  # a pass reads up to two parts

    def _end(self, position: int) -> int:
        """Return the first position after the row part that contains `position`."""
        row_end = (position // self.plan.stride + 1) * self.plan.stride
        return min(row_end, self._begin(position) + MAX_ROWS // 2)
