"""EAGLE drafting: one decoder layer over the target's last hidden states (Li et al. 2024, arXiv
2401.15077; LANTERN, Sec. 4.1 and App. C)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel

from engine.cache import WindowCache
from engine.models.base import Drafter
from engine.models.body import BodyContext, BodyModel, guide, layout
from engine.models.lean import LeanBody


class EagleDrafter(Drafter):
    """A row concatenates a token's embedding with the target's hidden state one slot before, and
    predicts the hidden state at its own slot, from which the target's head gives logits of the next
    token. Drafting ahead, its predictions replace the target's hidden states.

    Its cache keeps committed tokens only; rows of drafts are overwritten in the next step.
    """

    def __init__(self, network: PreTrainedModel, model: BodyModel) -> None:
        self.network, self.model = network, model

    @cached_property
    def lean(self) -> LeanBody:
        return LeanBody([self.network.layer], self.network.norm, self.network.rotary)

    def extend(self, ctx: BodyContext, rows: Sequence[int], tokens: Tensor) -> Tensor:
        assert ctx.hidden is not None, "the target has read the tokens"
        self._cache(ctx).roll_back(ctx.committed - len(tokens))
        # Rows by numbers that the host knows: a list as index would be copied to the device.
        states = [ctx.hidden[:, row : row + 1] for row in rows]
        return self._pass(ctx, tokens, torch.cat(states, 1))

    def next(self, ctx: BodyContext, token: Tensor) -> Tensor:
        assert ctx.drafted is not None, "`extend` drafts the first token"
        return self._pass(ctx, token.view(1), ctx.drafted)

    def _cache(self, ctx: BodyContext) -> WindowCache:
        if ctx.drafter_cache is None:
            ctx.drafter_cache = WindowCache(
                1,
                ctx.rows,
                self.lean.kv_heads,
                self.model.length + 1,
                self.lean.head_dim,
                self.model.dtype,
                self.model.device,
            )
        return ctx.drafter_cache

    def _pass(self, ctx: BodyContext, tokens: Tensor, hidden: Tensor) -> Tensor:
        """Logits [V] after rows for image positions cache.base and following; `hidden` [R, L, D]
        are the states one slot before each."""
        cache, count = self._cache(ctx), len(tokens)
        cache.open(count)
        embedded = self.model.embed(tokens, cache.window).expand(len(hidden), -1, -1)
        mask = None
        if count > 1:
            _, chain = layout(None, count, hidden.device, hidden.dtype)
            mask = F.pad(chain, (cache.base, 0)).expand(len(hidden), 1, -1, -1)
        predicted = self.lean(
            self.network.join(torch.cat([embedded, hidden], -1)),
            mask,
            ctx.length + cache.window - ctx.start[:, None],
            cache,
        )
        cache.keep(range(count))
        ctx.drafted = predicted[:, -1:]
        return guide(self.model.head(ctx.drafted), ctx.guidance)[0]
