"""ZipAR (He et al., ICML 2025, arXiv 2412.04062): several rows at once; nothing is verified."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Rows, Verification, Window
from engine.decoders.front_state import FrontState, Pace
from engine.decoders.rows import RowsAtOnce
from engine.models.base import MAX_ROWS
from engine.numerics.distributions import exact
from engine.settings import Settings as AnySettings
from engine.settings import knob
from engine.trace import MAX_SIDE, Status


@dataclass(frozen=True, slots=True)
class ZipARSettings(AnySettings):
    """ZipAR's settings; the released code calls `s` the window size."""

    s: int = knob(
        4,
        "How many tokens a row is ahead of the one below it; the picture's width is vanilla AR.",
        low=1,
        high=MAX_SIDE,
    )
    reading: str = knob(
        "paper",
        "The authors' code draws the whole first row before the second begins.",
        choices=("paper", "code"),
    )


class ZipAR(RowsAtOnce):
    """Parallel rows with a window of one: row r + 1 begins once row r has s tokens.

    Each pass draws one token of every row that has begun, so h x w tokens take w + (h - 1) s
    passes. With `reading` = code, where the first row is drawn alone, they take 2w + (h - 2) s. A
    token attends to the prompt and to the tokens that exist before it in raster order. It does not
    see what the rows above have not drawn yet.

    A row's first token should follow the last token of the row above, which does not exist yet. A
    stand-in takes that token's place in raster order, with the code of the upper row's newest
    token. The stand-in leaves nothing in the cache. Where the model's layout fixes how a row ends,
    the stand-in is the true last token.

    Tokens are drawn by vanilla AR's rule and noise: with s equal to the picture's width the picture
    is vanilla AR's. The released code differs in three ways. It keeps a stand-in in its cache for a
    pass; it attends to empty slots; and a row that begins before the row above has ended never
    learns that row's end. None of this is copied here, nor the paper's adaptive window.
    """

    name, title = "zipar", "ZipAR"
    idea = "Starts each row before the one above has ended; nobody checks whether they fit."
    paper = "He et al., ZipAR, ICML 2025 (arXiv 2412.04062)"
    Settings = ZipARSettings
    settings: ZipARSettings

    def paced(self) -> Pace:
        lag = self.lag(self.settings.s)
        first = self.plan.stride if self.settings.reading == "code" else lag
        return Pace(lag, first, 1, min(self.model.grid[0], MAX_ROWS))

    def propose(self, state: FrontState) -> Window:
        table = state.table
        fed = state.ids(state.tokens[table.root.clamp_min(0)], table.asked - 1)
        return Window(*state.nothing_drafted(), rows=Rows(fed, table.asked))

    def verify(self, state: FrontState, window: Window, p: Tensor) -> Verification:
        table, unknown = state.table, torch.full_like(p[:, 0], torch.nan)
        return Verification(
            count=table.bonus.sum(),  # a row that has ended, and padding, come last
            tokens=(p.log() + state.gumbel(len(p))).argmax(-1),
            q=p,
            status=torch.full_like(table.place, int(Status.FRESH)),
            p=p,
            acceptance=unknown,
            uniform=unknown,
            drafts=torch.full_like(table.place, -1),
            redraws=False,
            places=table.place,
        )

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        """Return p, because each token is a sample of its row's p."""
        return exact(p)
