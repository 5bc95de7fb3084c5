"""Parallel rows: several rows of a picture at once, each with its own window.

The method is PJD (Liao et al., CVPR 2026); a variant of it is exact within each row.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.core import Rows, Verification, Window
from engine.decoders.front_state import FrontState, Pace
from engine.decoders.jacobi_window import fill_up
from engine.decoders.priced import Priced
from engine.decoders.speculate import chain_acceptance
from engine.fronts import ELSEWHERE
from engine.models.base import MAX_ROWS
from engine.numerics.distributions import exact, residual, sample
from engine.numerics.randomness import Purpose
from engine.plan import rolling
from engine.settings import Settings as AnySettings
from engine.settings import knob
from engine.trace import MAX_SIDE, Status

KEPT = 0.5  # the released code keeps an untested draft whose p / q is above this


@dataclass(frozen=True, slots=True)
class ParallelRowsSettings(AnySettings):
    """Settings of parallel rows.

    The default `window` is the paper's W = 8. The paper's tables and code have c = 4 to 32; the
    default is 4.
    """

    c: int = knob(
        4,
        "How many tokens a row has when the one below it begins; the picture's width is one row"
        " after the other.",
        low=1,
        high=MAX_SIDE,
    )
    window: int = knob(
        8,
        "Rows of one forward pass for each row of the picture: its last committed token and the"
        " drafts after it.",
        low=2,
        high=MAX_ROWS,
    )
    lower_rows: str = knob(
        "residual",
        "What a row below the first does with a rejected draft: it takes the token that keeps its"
        " distribution, or postpones the position to the next pass.",
        choices=("residual", "postponed"),
    )
    draws: str = knob(
        "coupled",
        "What new drafts are drawn with: one noise for all passes, which changes few of them, or"
        " fresh numbers.",
        choices=("coupled", "fresh"),
    )
    reading: str = knob(
        "paper",
        "The authors' code also keeps an untested draft whose p / q is above one half, with its old"
        " q.",
        choices=("paper", "code"),
    )


class RowsAtOnce(Priced[FrontState]):
    """Draws several rows of a picture at once, each with its own window; `paced` gives the pace.

    Positions are numbered in raster order, not in the order in which they are committed.
    """

    default, whole_only = False, True
    State = FrontState

    def _prepare(self) -> None:
        self.plan = rolling(self.plan)
        self.pace = self.paced()

    @abstractmethod
    def paced(self) -> Pace:
        """Return how the rows of the plan advance."""

    def lag(self, tokens: int) -> int:
        """Return the lag (`Pace`) for a setting of `tokens`.

        The lag is `tokens` if that is less than the grid's width. Otherwise it is the plan's
        stride: the length of a whole row, forced tokens included.
        """
        return tokens if tokens < self.model.grid[1] else self.plan.stride


class ParallelRows(RowsAtOnce):
    """Draws rows in parallel; row r + 1 begins once row r has c tokens.

    A pass reads, for each row that has begun, its last committed token and W - 1 drafts. A token
    sees the prompt, the committed tokens before it in raster order and its own row's drafts, but
    never another row's drafts. Below the first row, a token is committed only below a committed
    token.

    With `lower_rows` = residual, each row's drafts are tested as in SJD, by u < min(1, p / q). The
    first rejected draft is replaced by a sample of the residual of p and q; without a rejection the
    row gets a bonus token. With `draws` = coupled, new drafts and bonus tokens are drawn as in SCD.
    With c equal to the picture's width the first row is SCD's, token for token; with `draws` =
    fresh it is SJD's.

    SJD's proof holds for each row by itself: a committed token is a sample of p given what its row
    saw. The reason is that no row above depends on this row's drafts, on their q, or on the random
    numbers of their tests. In each pass the rows above influence this row's p and how many of its
    drafts are tested, but both are fixed before any draft is tested. A token's price (`Priced`),
    measured after the race, says how much it matters what its row did not see.

    `lower_rows` = postponed is the paper's rule. Below the first row, a rejected draft and a bonus
    token become drafts of the next pass, drawn from the new p. The tokens that such a row commits
    are not samples of their p.

    If a row begins before the row above is complete, the newest token of the row above stands in
    for that row's last token, as in ZipAR.

    The released code deviates from the paper in five ways. `reading` = code copies the first: after
    a rejection, an untested draft whose p / q is above one half stays, with its old q. The other
    four are not copied. The released code keeps stand-ins in its cache. It limits drafts to columns
    that are committed above. Its mask is wrong from the third row on. In the pass after a row's
    end, its index is off by one.
    """

    name, title = "rows", "Parallel rows"
    idea = "Starts each row before the one above has ended, and tests guesses in all of them."
    paper = "Liao et al., PJD, CVPR 2026 (arXiv 2606.05703); exact within each row: ours"
    Settings = ParallelRowsSettings
    settings: ParallelRowsSettings

    def paced(self) -> Pace:
        lag, width = self.lag(self.settings.c), min(self.settings.window, self.plan.stride)
        return Pace(lag, lag, width, min(self.model.grid[0], MAX_ROWS // width))

    def propose(self, state: FrontState) -> Window:
        table = state.table
        has_draft = table.drafted > 0
        there, draft_rows = has_draft & (table.left >= 0), table.left.clamp_min(0)
        u = state.uniform(Purpose.FRESH, len(draft_rows), 1)[:, 0]
        new = (u * self.model.vocab_size).long()
        if (forced := state.forced(table.asked)) is not None:
            new = torch.where(forced, 0, new)
        q = state.q[draft_rows] * there[:, None]
        drafts, q = fill_up(state, state.drafts[draft_rows], q, there, new, has_draft, "one-hot")
        roots = state.tokens[table.root.clamp_min(0)]
        fed = torch.where(table.root > ELSEWHERE, roots, drafts.roll(1))
        fed = state.ids(fed, table.asked - 1)
        follows = state.numbers.number > 0
        parents = tuple((np.arange(len(follows)) - follows).tolist())
        return Window(drafts, q, parents=parents, rows=Rows(fed, table.asked))

    def verify(self, state: FrontState, window: Window, p: Tensor) -> Verification:
        table, settings = state.table, self.settings
        front, number, has_draft = table.front, table.number, table.drafted > 0
        accept, replace, redraw = state.verify_numbers(len(p))
        acceptance = chain_acceptance(window, p)
        passed = (accept < acceptance)[table.at]
        first = passed.int().cumprod(-1).sum(-1).minimum(table.room)
        rejected, replaces = first < table.room, torch.ones_like(table.room, dtype=torch.bool)
        bonus = table.bonus > 0
        if settings.lower_rows == "postponed":
            replaces = table.lower == 0
            bonus = bonus & replaces
        accepted, here = number < first[front], number == first[front]
        replaced = here & (rejected & replaces)[front]
        fresh = here & (~rejected & bonus)[front]
        committed = accepted | replaced | fresh
        if settings.draws == "coupled":
            samples = (p.log() + state.gumbel(len(p))).argmax(-1)
        else:
            samples = sample(p, redraw)
        tokens = torch.where(accepted, window.drafts, samples)
        # A row whose drafts are accepted to its end has no draft after them.
        last = first.clamp_max(table.at.shape[1] - 1)
        at = table.at.gather(1, last[:, None])[:, 0]
        resampled = sample(residual(p[at], window.q[at]), replace[at])
        tokens = torch.where(replaced, resampled[front], tokens)
        q = p
        if settings.reading == "code":
            kept = (number > first[front]) & rejected[front] & has_draft & (acceptance > KEPT)
            tokens = torch.where(kept, window.drafts, tokens)
            q = torch.where(kept[:, None], window.q, p)
        status = torch.where(accepted, int(Status.ACCEPTED), int(Status.REFINED))
        status = torch.where(here & rejected[front], int(Status.REJECTED), status)
        status = torch.where(replaced, int(Status.RESAMPLED), status)
        status = torch.where(fresh, int(Status.FRESH), status)
        tested = (number <= first[front]) & (number < table.room[front])
        return Verification(
            count=committed.sum(),
            tokens=tokens,
            q=q,
            status=status,
            p=p,
            acceptance=acceptance,
            uniform=torch.where(tested, accept, torch.nan),
            drafts=torch.where(has_draft, window.drafts, -1),
            places=table.place,
            rank=torch.where(committed, 0, 1 + (table.place == self.plan.length).long()),
        )

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        """Return p for the rule that is exact within each row; unknown (NaN) for other settings."""
        settings = self.settings
        exact_in_rows = settings.lower_rows == "residual" and settings.reading == "paper"
        return exact(p) if exact_in_rows else super().committed(p, q, i)
