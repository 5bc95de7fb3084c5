"""The EAGLE drafter at work: one decoder layer over the target's last hidden states (LANTERN, Sec.
3.1; Li et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from engine.cache import WindowCache
from engine.models.base import Drafter
from engine.models.body import BodyContext, BodyModel, guide


class EagleDrafter(Drafter):
    """A row joins a token's embedding with the target's hidden state one slot before, and guesses
    the hidden state at its own slot, which the target's head turns into the law of the next token.
    Drafting ahead, its guesses stand in for the target's.

    Its cache holds only what was committed; what it guessed is written over in the next step.
    """

    def __init__(self, network: nn.Module, model: BodyModel) -> None:
        self.network, self.model = network, model

    def extend(self, ctx: BodyContext, rows: Sequence[int], tokens: Tensor) -> Tensor:
        if ctx.drafter_cache is None:
            config = self.network.config
            dim = config.hidden_size // config.num_attention_heads
            ctx.drafter_cache = WindowCache(
                1,
                len(ctx.prompt.start),
                config.num_key_value_heads,
                self.model.length + 1,
                dim,
                self.model.dtype,
                tokens.device,
            )
        cache, count = ctx.drafter_cache, len(tokens)
        cache.roll_back(ctx.committed - count)
        return self._pass(ctx, tokens, ctx.hidden[:, list(rows)])

    def next(self, ctx: BodyContext, token: Tensor) -> Tensor:
        return self._pass(ctx, token.view(1), ctx.drafted)

    def _pass(self, ctx: BodyContext, tokens: Tensor, hidden: Tensor) -> Tensor:
        """Rows for image positions cache.base and following; hidden [R, L, D] are the states one
        slot before each."""
        cache, count = ctx.drafter_cache, len(tokens)
        positions = torch.arange(cache.base, cache.base + count, device=tokens.device)
        embedded = self.model.embed(tokens, positions).expand(len(hidden), -1, -1)
        seen = torch.ones(count, cache.base + count, dtype=torch.bool, device=tokens.device).tril(
            cache.base
        )
        mask = torch.zeros(seen.shape, dtype=hidden.dtype, device=tokens.device)
        mask.masked_fill_(~seen, torch.finfo(hidden.dtype).min)
        cache.open(count)
        guessed = self.network(
            torch.cat([embedded, hidden], -1),
            position_ids=ctx.prompt.embeddings.shape[1] + positions - ctx.prompt.start[:, None],
            attention_mask=mask[None, None].expand(len(hidden), -1, -1, -1),
            past_key_values=cache,
        )
        cache.keep(range(count))
        ctx.drafted = guessed[:, -1:]
        return guide(self.model.head(ctx.drafted), ctx.guidance)[0]
