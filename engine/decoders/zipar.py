"""ZipAR (He et al., ICML 2025, arXiv 2412.04062): several rows at once, with nothing verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.decoders.decode_state import DecodeState, Rows, Verification, Window
from engine.decoders.priced import Unverified
from engine.models.base import ImageModel, host_count
from engine.plan import Plan, waves
from engine.settings import Sampling, knob
from engine.settings import Settings as AnySettings
from engine.trace import MAX_SIDE, Status
from engine.wavefront import Wavefront


@dataclass(frozen=True, slots=True)
class ZipARSettings(AnySettings):
    """s is the released code's window size."""

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


class ZipAR(Unverified):
    """Row r + 1 begins once row r has s tokens; each pass draws one token of every row that has
    begun, w + (h - 1) s passes for h x w tokens; 2w + (h - 2) s with `reading` = code, where the
    first row is drawn alone. A token attends to the prompt and to what is there before it in raster
    order: what the rows above have not drawn yet is unknown to it.

    A row's first token comes from a stand-in: its place in raster order is that of the last token
    of the row above, which does not exist yet, and its code that row's newest. It leaves nothing
    in the cache. Where the model's layout fixes how a row ends, the stand-in is that very token.

    Tokens are drawn by vanilla AR's rule and noise, keyed by the position in the wavefront's order:
    with s the picture's width, its very picture. The released code has a stand-in in its cache
    for a pass, and no row that begins before the one above has ended knows that end; it also
    attends to slots that are empty yet. Neither is here, nor the paper's adaptive window.
    """

    name, title = "zipar", "ZipAR"
    idea = "Starts each row before the one above has ended; nobody checks whether they fit."
    paper = "He et al., ZipAR, ICML 2025 (arXiv 2412.04062)"
    default, rows = False, True
    Settings = ZipARSettings
    settings: ZipARSettings

    def __init__(
        self,
        model: ImageModel,
        settings: AnySettings | None = None,
        sampling: Sampling | None = None,
        plan: Plan | None = None,
    ) -> None:
        super().__init__(model, settings, sampling, plan)
        lag = self.settings.s if self.settings.s < model.grid[1] else self.plan.stride
        alone = self.settings.reading == "code"
        self._waves = Wavefront(self.plan.length, self.plan.stride, lag, alone)
        self.whole, self.plan = self.plan, waves(self.plan, self._waves)
        windows, device = self._waves.windows, model.device
        self._order = torch.tensor(self._waves.order, device=device)
        self._tables = [
            torch.from_numpy(table).to(device)
            for table in (windows.code, windows.place, windows.asked, windows.source)
        ]
        # The wave that begins at each position, and how many it draws.
        starts = (0, *self._waves.ends[:-1])
        wave = torch.zeros(self.plan.length, dtype=torch.long)
        wave[list(starts)] = torch.arange(len(starts))
        self._wave, self._drawn = wave.to(device), torch.tensor(windows.drawn, device=device)

    @property
    def own_order(self) -> tuple[Plan, Tensor]:
        return self.whole, self._order

    def propose(self, state: DecodeState) -> Window:
        wave = self._wave[state.n.view(1)]
        code, place, asked, source = (table[wave][0] for table in self._tables)
        windows = self._waves.windows
        rows = host_count(self.model, windows.rows[state.step], len(code))
        drawn = host_count(self.model, windows.drawn[state.step], len(source))
        code, place, asked, source = code[:rows], place[:rows], asked[:rows], source[:drawn]
        fed = state.ids(state.tokens[code], place)
        return Window(*state.nothing_drafted(), rows=Rows(fed, asked, source))

    def kept(self, state: DecodeState, path: list[int]) -> Sequence[int]:
        """The tokens of the wave before; a stand-in is none."""
        return range(self._waves.windows.drawn[state.step - 1] if state.step else 1)

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        unknown, rows = torch.full_like(p[:, 0], torch.nan), state.offsets(len(p))
        return Verification(
            count=self._drawn[self._wave[state.n.view(1)]].view(()),
            tokens=(p.log() + state.gumbel(len(p))).argmax(-1),
            q=p,
            status=torch.full_like(rows, int(Status.FRESH)),
            p=p,
            acceptance=unknown,
            uniform=unknown,
            drafts=torch.full_like(rows, -1),
            redraws=False,
        )
