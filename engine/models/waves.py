"""A raster model in the order of a wavefront: several rows of a picture at once, with no weights of
its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.models.base import Parents
from engine.models.body import BodyContext, BodyModel
from engine.models.view import BodyView
from engine.wavefront import Wavefront


class WaveModel(BodyView):
    """A body model whose sequence positions are in the order of `waves`. A window's rows are those
    of `Wavefront.windows`, with what they ask for as `targets`: each stands before that in raster
    order, and attends to what is there and stands no later."""

    waves: Wavefront

    def __init__(self, whole: BodyModel, waves: Wavefront) -> None:
        super().__init__(whole)
        self.waves = waves
        # One more: padding, which stands behind all others.
        self._raster = torch.tensor([*waves.order, waves.length + 1], device=self.device)
        self.forced_ids = whole.forced_ids[torch.tensor(waves.order)]

    @property
    def cells(self) -> tuple[int, ...]:
        cells = self.whole.cells
        return tuple(cells[at] for at in self.waves.order)

    def forward(
        self,
        ctx: BodyContext,
        tokens: Tensor,
        parents: Parents = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        assert targets is not None, "a row stands before what it asks for"
        before = ctx.prompt_rows
        ctx.cache.open(before + len(tokens))
        places = self._raster[targets] - 1
        embedded = self.embed(tokens, places.clamp(0, self.length - 1)).expand(ctx.rows, -1, -1)
        slots = places + ctx.length  # those of the same rows in a raster cache
        if not ctx.cache.base:
            embedded = torch.cat([ctx.prompt.embeddings, embedded[:, 1:]], 1)
            slots = torch.cat([torch.arange(before, device=self.device), slots])
        mask = self._seen(ctx, slots)
        positions = self.position_ids(slots.clamp_max(ctx.length + self.length - 1), ctx.start)
        hidden = self.lean(embedded, mask, positions, ctx.cache, None)[:, before:]
        return ctx.guide(self.head(hidden), targets)

    def _seen(self, ctx: BodyContext, slots: Tensor) -> Tensor:
        """Additive mask [R, 1, T, end] of a window's rows in raster slots [T]."""
        cache, drawn = ctx.cache, self._raster[:-1] + ctx.length
        kept = torch.cat([torch.arange(ctx.length, device=self.device), drawn])
        kept = torch.nn.functional.pad(kept, (0, max(0, cache.end - len(kept))))[: cache.end]
        nowhere = ctx.length + self.length + 2
        kept = torch.where(cache.hidden(0), nowhere, kept).index_copy(0, cache.window, slots)
        least = torch.finfo(self.dtype).min
        mask = torch.where(kept <= slots[:, None], ctx.padding[..., : cache.end], least)
        # A padding row sees itself alone, as in raster order.
        own = kept == slots[:, None]
        return torch.where(own, 0.0, mask).to(self.dtype)

    def keep(self, ctx: BodyContext, rows: Sequence[int]) -> None:
        """Keeps every token of the window, whichever rows the next wave came from: a stand-in is
        none."""
        before, drawn = ctx.prompt_rows, ctx.cache.base - ctx.length
        tokens = self._wave_end(drawn) - drawn if drawn >= 0 else 1
        ctx.cache.keep(range(before + tokens))
        ctx.advance(self._wave_end(ctx.cache.base - ctx.length))

    def _wave_end(self, drawn: int) -> int:
        """How many positions there are with the wave that begins behind `drawn`."""
        return next(end for end in self.waves.ends if end > drawn)
