"""EAGLE drafting: one decoder layer over the target's last hidden states.

Sources: Li et al. 2024, arXiv 2401.15077; LANTERN, Sec. 4.1 and App. C.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel

from engine.models.base import Drafter
from engine.models.body import BodyModel
from engine.models.cache import WindowCache
from engine.models.context import BodyContext, additive_mask, shape
from engine.models.lean import LeanBody
from engine.models.onnx_body import Body, fastest_body

MAX_TREE = 160  # largest number of drafts that are read in one step


class EagleDrafter(Drafter):
    """A drafter that predicts the target's hidden states.

    A row concatenates a token's embedding with the target's hidden state one slot before, and
    predicts the hidden state at its own slot. The target's head turns the predicted state into
    logits of the next token. When the drafter drafts ahead, its predictions replace the target's
    hidden states.

    The drafter's cache begins with the prompt's rows, if a subclass reads the prompt. The rows of
    committed tokens follow, and then the rows of the drafts. In the next step `extend` discards the
    drafts' rows.

    Shapes: R guidance rows, L rows of a call, D channels of a hidden state, S slots of the cache.
    """

    def __init__(
        self, network: PreTrainedModel, model: BodyModel, graphs: Path | None = None
    ) -> None:
        """Wrap a network; `graphs` is the folder with the ONNX graphs of the network's layer."""
        self.network, self.model, self.graphs = network, model, graphs

    @cached_property
    def lean(self) -> LeanBody:
        network = self.network
        return LeanBody([network.layer], network.norm, network.rotary, network.join)

    @cached_property
    def run_layers(self) -> Body:
        return fastest_body(self.lean, self.graphs)

    def extend(self, ctx: BodyContext, rows: Sequence[int], tokens: Tensor) -> Tensor:
        assert ctx.hidden is not None, "the target has read the tokens"
        cache, prompt = self._cache(ctx), self._prompt_rows(ctx)
        before = ctx.committed - len(tokens)
        cache.roll_back(prompt + before if before else 0)
        new = 0 if cache.base else prompt  # the first rows come with the prompt's
        cache.open(new + len(tokens))
        # Rows by numbers that the host knows: a list as index would be copied to the device.
        states = [ctx.hidden[:, row : row + 1] for row in rows]
        hidden = states[0] if len(states) == 1 else torch.cat(states, 1)
        inputs = self._inputs(ctx, tokens, cache.window[new:], hidden)
        if not cache.base:
            inputs = self._with_prompt(ctx, inputs)
        count = len(cache.window)
        chain = None
        if count > 1:
            _, chain = shape(None, count, inputs)
        ctx.drafter_states = self._read(ctx, inputs, cache.window, chain)[:, -1:]
        ctx.branches = None
        return self._logits(ctx, ctx.drafter_states, cache.window[-1:])[0]

    def next(self, ctx: BodyContext, token: Tensor) -> Tensor:
        assert ctx.drafter_states is not None, "`extend` drafts the first token"
        cache = self._cache(ctx)
        cache.open(1)
        inputs = self._inputs(ctx, token.view(1), cache.window, ctx.drafter_states)
        ctx.drafter_states = self._read(ctx, inputs, cache.window, None)
        return self._logits(ctx, ctx.drafter_states, cache.window)[0]

    def expand(self, ctx: BodyContext, tokens: Tensor, parents: Tensor) -> Tensor:
        assert ctx.drafter_states is not None, "`extend` drafts the first tokens"
        cache, count = self._cache(ctx), len(tokens)
        cache.open(count)
        if ctx.branches is None:
            ctx.branches = torch.ones(1, 0, dtype=torch.bool, device=tokens.device)
        above = ctx.branches[parents]
        slots = cache.window[:1] - above.shape[1] + above.sum(1)
        seen = torch.cat([above, torch.eye(count, dtype=torch.bool, device=tokens.device)], 1)
        inputs = self._inputs(ctx, tokens, slots, ctx.drafter_states[:, parents])
        predicted = self._read(ctx, inputs, slots, additive_mask(seen, self.model.dtype))
        ctx.branches = torch.cat([F.pad(ctx.branches, (0, count)), seen])
        ctx.drafter_states = torch.cat([ctx.drafter_states, predicted], 1)
        return self._logits(ctx, predicted, slots)

    def _logits(self, ctx: BodyContext, predicted: Tensor, slots: Tensor) -> Tensor:
        """Return logits [L, V] of the token after each row, from `predicted` states [R, L, D].

        `slots` [L] are the rows' slots in the drafter's cache.
        """
        targets = slots + (1 - self._prompt_rows(ctx))
        return self.model.guided_logits(ctx, predicted, targets)

    def _prompt_rows(self, ctx: BodyContext) -> int:
        """Return the number of the prompt's rows in the drafter's cache."""
        return 0

    def _with_prompt(self, ctx: BodyContext, inputs: Tensor) -> Tensor:
        """Put the prompt's rows before `inputs` [R, L, 2D], if the drafter reads the prompt."""
        return inputs

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.model.embed(tokens, positions)

    def _cache(self, ctx: BodyContext) -> WindowCache:
        if ctx.drafter_cache is None:
            ctx.drafter_cache = ctx.slot.cache(
                "drafter",
                1,
                ctx.batch,
                self.network.config.num_key_value_heads,
                self._prompt_rows(ctx) + self.model.plan.length + MAX_TREE,
                self.network.config.hidden_size // self.network.config.num_attention_heads,
                self.model.dtype,
                self.model.device,
            )
        return ctx.drafter_cache

    def _inputs(self, ctx: BodyContext, tokens: Tensor, slots: Tensor, hidden: Tensor) -> Tensor:
        """Return rows [R, L, 2D] of tokens [L] at slots [L] of the cache.

        `hidden` [R, L, D] has the state one slot before each token.
        """
        embedded = self._embed(tokens, slots - self._prompt_rows(ctx))
        return torch.cat([embedded.expand(len(hidden), -1, -1), hidden], -1)

    def _read(
        self, ctx: BodyContext, inputs: Tensor, slots: Tensor, newest: Tensor | None
    ) -> Tensor:
        """Run the layers on `inputs`, rows at `slots` [L]; return the predicted states [R, L, D].

        The drafter's cache keeps the rows until `extend` rolls it back. `newest` is as in `_mask`.
        """
        cache = self._cache(ctx)
        positions = self.model.position_ids(
            slots + (ctx.length - self._prompt_rows(ctx)), ctx.start
        )
        predicted = self._predict(inputs, self._mask(ctx, cache, newest), positions, cache)
        cache.keep(range(len(slots)))
        return predicted

    def _predict(
        self, inputs: Tensor, mask: Tensor | None, position_ids: Tensor, cache: WindowCache
    ) -> Tensor:
        """Return the predicted states [R, L, D] of the rows `inputs` [R, L, 2D]."""
        return self.run_layers(inputs, mask, position_ids, cache)

    def _mask(self, ctx: BodyContext, cache: WindowCache, newest: Tensor | None) -> Tensor | None:
        """Return the additive mask [R, 1, L, S] of L rows, or None if every row sees every slot.

        `newest` [L, N] is the additive mask of the last N slots; every row sees all slots before
        these. If `newest` is None, every row sees the last slots too.
        """
        if newest is None:
            return None
        return F.pad(newest, (cache.end - newest.shape[1], 0)).expand(ctx.batch, 1, -1, -1)
