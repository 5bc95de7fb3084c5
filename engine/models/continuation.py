"""A raster model that draws a picture on: everything behind some cell, given all before it."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.infilling import MASKED, Fills, Infilling
from engine.models.body import BodyModel, Prompt
from engine.models.view import BodyView


class Continuation(BodyView):
    """A body model without its first k sequence positions, whose tokens are known: they stand
    behind the prompt's rows, and the last of all these is the root of the first window.

    Its positions, and the noise keyed by them, count from 0: the seed that drew the known part
    draws another rest than before."""

    infilling: Infilling

    def __init__(self, whole: BodyModel, infilling: Infilling) -> None:
        """Raises SettingError where the infilling does not fit, or is not all behind some cell."""
        infilling.check(whole.grid, whole.vocab_size)
        infilling.check_model(Fills.BELOW, whole.name)
        super().__init__(whole)
        self.infilling = infilling
        cells = whole.cells
        k = cells.index(infilling.known.index(MASKED))
        self.forced_ids, self._cells = whole.forced_ids[k:], cells[k:]
        forced = whole.forced_ids[:k].tolist()
        known = [
            infilling.known[cell] if cell >= 0 else forced[n] for n, cell in enumerate(cells[:k])
        ]
        self._known = torch.tensor(known, dtype=torch.long, device=self.device)

    @property
    def cells(self) -> tuple[int, ...]:
        return self._cells

    @property
    def stride(self) -> int:
        return self.whole.stride

    def prompt(self, text: str, guided: bool) -> Prompt:
        begin, places = self.whole.prompt(text, guided), torch.arange(len(self._known))
        known = self.whole.embed(self._known, places.to(self.device))
        rows = known.expand(len(begin.start), -1, -1)
        return Prompt(torch.cat([begin.embeddings, rows], 1), begin.start)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.whole.embed(tokens, positions + len(self._known))
