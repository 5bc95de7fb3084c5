"""Parallel rows with one bug each. The first ones are within the rule: what a row commits is no
sample of its p. The others are of what a row sees, or where it may go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders import front_state, rows
from engine.decoders.decode_state import DecodeState
from engine.decoders.front_state import FrontState
from engine.decoders.rows import ParallelRows
from engine.fronts import Front, fronts
from engine.numerics.distributions import exact
from engine.numerics.randomness import Purpose
from engine.trace import Status
from tests.engine.decoders.planted import Spoilt


class Replaced(ParallelRows):
    """A rejected draft is replaced by a sample of what the newest p leaves of itself: of p."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        with patch.object(rows, "residual", lambda p, q: p):
            return super().verify(state, window, p)


class RejectedBelowCommitted(Spoilt, ParallelRows):
    """Below the first row a draft that is rejected is committed all the same."""

    def spoil(self, v: Verification, state: FrontState, window: Window, p: Tensor) -> None:
        lower = (state.table.lower > 0)[state.table.front]
        v.tokens = torch.where(lower & (v.status == Status.RESAMPLED), v.drafts, v.tokens)


class UntestedStays(Spoilt, ParallelRows):
    """A draft that was not tested stays, and is called a sample of the newest p."""

    def spoil(self, v: Verification, state: FrontState, window: Window, p: Tensor) -> None:
        untested = (v.status == Status.REFINED) & (v.drafts >= 0)
        v.tokens = torch.where(untested, v.drafts, v.tokens)


class RedrawnWithOldDistribution(Spoilt, ParallelRows):
    """A draft that is redrawn keeps the distribution from before the row above moved on."""

    def spoil(self, v: Verification, state: FrontState, window: Window, p: Tensor) -> None:
        redrawn = (v.status == Status.REFINED) & (v.drafts >= 0)
        v.q = torch.where(redrawn[:, None], window.q, v.q)


class ColumnState(FrontState):
    def _draw(self, purpose: Purpose, rows: int, count: int) -> Tensor:
        if purpose is not Purpose.NOISE:
            return super()._draw(purpose, rows, count)
        starts, sizes = (
            self.numbers.asked[self.numbers.number == 0],
            np.bincount(self.numbers.front),
        )
        columns = (starts % self.plan.stride).tolist()
        noises = zip(columns, sizes.tolist(), strict=True)
        return torch.cat([self.noise.gumbel(column, size, count) for column, size in noises])


class NoiseOfTheColumn(ParallelRows):
    """The noise that draws a row's drafts is that which drew the row above."""

    State = ColumnState


class ReleasedCalledExact(ParallelRows):
    """The authors' rule of one half is said to keep p."""

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        return exact(p)


def one_too_far(counts: Sequence[int], read: int, **sizes: int) -> tuple[Front, ...]:
    """A row may have one token more than the one above it."""
    found = []
    for front in fronts(counts, read, **sizes):
        row, column = divmod(front.start, sizes["stride"])
        above = counts[row - 1] if row > read and not front.closing else sizes["stride"] - 1
        limit = above + 1 - column
        more = replace(front, room=min(front.drafts, limit), bonus=front.drafts < limit)
        found.append(front if front.closing else more)
    return tuple(found)


class FarState(FrontState):
    def _lay(self, left: dict[int, int]) -> None:
        with patch.object(front_state, "fronts", one_too_far):
            super()._lay(left)


class PassesTheRowAbove(ParallelRows):
    """A token is committed beside one that is missing above it."""

    State = FarState


class OthersDraftsVisible(ParallelRows):
    """A row sees all that stands before it in a pass, other rows' drafts too."""

    def propose(self, state: FrontState) -> Window:
        return replace(super().propose(state), parents=None)


class AllKept(FrontState):
    def kept(self, path: Sequence[int]) -> list[int]:
        return sorted({*super().kept(path), *path})


class BorrowedKept(ParallelRows):
    """What a row's first token was drawn behind stays in the cache, as if it were the end of the
    row above."""

    State = AllKept


class CommittedKept(FrontState):
    def kept(self, path: Sequence[int]) -> list[int]:
        return sorted(set(super().kept(path)) & set(path))


class EndNotRead(ParallelRows):
    """A row's last token, which is read once more for the rows below, does not stay."""

    State = CommittedKept
