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

    Its cache keeps committed tokens only, behind the prompt where a subclass reads it; rows of
    drafts are overwritten in the next step.
    """

    reads_prompt = False

    def __init__(self, network: PreTrainedModel, model: BodyModel) -> None:
        self.network, self.model = network, model

    @cached_property
    def lean(self) -> LeanBody:
        return LeanBody([self.network.layer], self.network.norm, self.network.rotary)

    def extend(self, ctx: BodyContext, rows: Sequence[int], tokens: Tensor) -> Tensor:
        assert ctx.hidden is not None, "the target has read the tokens"
        cache, before = self._cache(ctx), ctx.committed - len(tokens)
        cache.roll_back(self._prompt_rows(ctx) + before if before else 0)
        # Rows by numbers that the host knows: a list as index would be copied to the device.
        states = [ctx.hidden[:, row : row + 1] for row in rows]
        return self._pass(ctx, tokens, torch.cat(states, 1))

    def next(self, ctx: BodyContext, token: Tensor) -> Tensor:
        assert ctx.drafted is not None, "`extend` drafts the first token"
        return self._pass(ctx, token.view(1), ctx.drafted)

    def _prompt_rows(self, ctx: BodyContext) -> int:
        return ctx.length - 1 if self.reads_prompt else 0

    def _prompt_inputs(self, ctx: BodyContext) -> Tensor:
        """The prompt's rows [R, P - 1, 2D]: of all its slots but the first, which has none before
        it."""
        raise NotImplementedError("of drafters that read the prompt")

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.model.embed(tokens, positions)

    def _cache(self, ctx: BodyContext) -> WindowCache:
        if ctx.drafter_cache is None:
            ctx.drafter_cache = WindowCache(
                1,
                ctx.rows,
                self.network.config.num_key_value_heads,
                self._prompt_rows(ctx) + self.model.length + 1,
                self.network.config.hidden_size // self.network.config.num_attention_heads,
                self.model.dtype,
                self.model.device,
            )
        return ctx.drafter_cache

    def _pass(self, ctx: BodyContext, tokens: Tensor, hidden: Tensor) -> Tensor:
        """Logits [V] after rows for the next image positions; `hidden` [R, L, D] are the states one
        slot before each. The first rows come with the prompt's."""
        cache, prompt = self._cache(ctx), self._prompt_rows(ctx)
        new = 0 if cache.base else prompt
        count = new + len(tokens)
        cache.open(count)
        embedded = self._embed(tokens, cache.window[new:] - prompt)
        inputs = torch.cat([embedded.expand(len(hidden), -1, -1), hidden], -1)
        if new:
            inputs = torch.cat([self._prompt_inputs(ctx), inputs], 1)
        slots = cache.window + (ctx.length - prompt)
        positions = self.model.position_ids(slots, ctx.start)
        predicted = self._predict(inputs, self._mask(ctx, cache, count), positions, cache)
        cache.keep(range(count))
        ctx.drafted = predicted[:, -1:]
        return guide(self.model.head(ctx.drafted), ctx.guidance)[0]

    def _predict(
        self, inputs: Tensor, mask: Tensor | None, position_ids: Tensor, cache: WindowCache
    ) -> Tensor:
        """Hidden states [R, L, D] of rows [R, L, 2D]."""
        return self.lean(self.network.join(inputs), mask, position_ids, cache)

    def _mask(self, ctx: BodyContext, cache: WindowCache, count: int) -> Tensor | None:
        """Additive mask [R, 1, count, S] of the cache's next rows; None where all is seen."""
        if count == 1:
            return None
        _, chain = layout(None, count, self.model.device, self.model.dtype)
        return F.pad(chain, (cache.base, 0)).expand(ctx.rows, 1, -1, -1)
