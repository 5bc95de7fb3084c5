"""EAGLE drafting: one decoder layer over the target's last hidden states (Li et al. 2024, arXiv
2401.15077; LANTERN, Sec. 4.1 and App. C)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from engine.cache import WindowCache
from engine.models.base import Drafter
from engine.models.body import BodyContext, BodyModel, guide, layout


class EagleDrafter(Drafter):
    """A row concatenates a token's embedding with the target's hidden state one slot before, and
    predicts the hidden state at its own slot, from which the target's head gives logits of the next
    token. Drafting ahead, its predictions replace the target's hidden states.

    Its cache keeps committed tokens only; rows of drafts are overwritten in the next step.
    """

    def __init__(self, network: PreTrainedModel, model: BodyModel) -> None:
        self.network, self.model = network, model

    def extend(self, ctx: BodyContext, rows: Sequence[int], tokens: Tensor) -> Tensor:
        assert ctx.hidden is not None, "the target has read the tokens"
        self._cache(ctx).roll_back(ctx.committed - len(tokens))
        return self._pass(ctx, tokens, ctx.hidden[:, list(rows)])

    def next(self, ctx: BodyContext, token: Tensor) -> Tensor:
        assert ctx.drafted is not None, "`extend` drafts the first token"
        return self._pass(ctx, token.view(1), ctx.drafted)

    def _cache(self, ctx: BodyContext) -> WindowCache:
        if ctx.drafter_cache is None:
            config = self.network.config
            ctx.drafter_cache = WindowCache(
                1,
                ctx.rows,
                config.num_key_value_heads,
                self.model.length + 1,
                config.hidden_size // config.num_attention_heads,
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
        mask = hidden.new_zeros(1, 1, count, cache.end)
        if count > 1:
            _, chain = layout(None, count, hidden.device, hidden.dtype)
            mask[..., cache.base :] = chain
        predicted = self.network(
            torch.cat([embedded, hidden], -1),
            position_ids=ctx.length + cache.window - ctx.start[:, None],
            attention_mask=mask.expand(len(hidden), -1, -1, -1),
            past_key_values=cache,
        )
        cache.keep(range(count))
        ctx.drafted = predicted[:, -1:]
        return guide(self.model.head(ctx.drafted), ctx.guidance)[0]
