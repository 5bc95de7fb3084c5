"""The embedded model that fills in any cells of a picture given any others.

An input row is the raster model's, token + slot of its own cell, plus `next` of the cell that it
predicts, and its query is rotated to where that raster row would stand. With everything masked, in
raster order and with `next` at zero, it is the raster model.
"""

from __future__ import annotations

from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaConfig

from engine.infilling import MASKED, Fills, Infilling
from engine.models.body import BodyContext, Prompt
from engine.models.embedded_networks import EmbeddedTarget
from engine.models.view import BodyView


class EmbeddedInfill(EmbeddedTarget):
    """The target over sequences of caption, known cells in raster order, then masked cells.

    P caption slots and the begin-of-image slot are those of the target. A row's own position id is
    its slot, P + 1 + cell; where it asks for a cell, its query has that of the cell before it in
    raster order, P + cell: distances are those that the target learnt.
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        self.next = nn.Embedding(config.image_tokens, config.hidden_size)
        self.layer_states = _layer  # of `states`; training compiles it
        self.post_init()

    @classmethod
    @torch.no_grad()
    def continued(cls, target: EmbeddedTarget) -> Self:
        """A copy of the target, `next` at zero."""
        infill = cls(target.config).to(target.device, target.dtype)
        infill.load_state_dict(target.state_dict(), strict=False)
        nn.init.zeros_(infill.next.weight)
        return infill

    def embed_asking(self, cells: Tensor) -> Tensor:
        """What asking for cells [..] adds to rows [.., D]; nothing where a cell is MASKED."""
        asked = F.embedding(cells.clamp_min(0), self.next.weight)
        return asked * (cells >= 0)[..., None]

    def states(self, inputs: Tensor, position_ids: Tensor, query_ids: Tensor) -> Tensor:
        """Hidden states [B, T, D] of causal rows [B, T, D] whose keys and queries are rotated by
        position ids [B, T] of their own."""
        body, x = self.model, inputs
        keys, queries = body.rotary_emb(x, position_ids), body.rotary_emb(x, query_ids)
        for layer in body.layers:
            x = self.layer_states(layer, x, keys, queries)
        return body.norm(x)


def _layer(layer: Any, x: Tensor, keys: Any, queries: Any) -> Tensor:
    """One Llama layer, causal. `keys` and `queries`: cosines and sines [B, T, d]."""
    attention, inner = layer.self_attn, layer.input_layernorm(x)
    q, k, v = (
        project(inner).unflatten(-1, (-1, attention.head_dim)).transpose(1, 2)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    mixed = F.scaled_dot_product_attention(
        _rotate(q, *queries),
        _rotate(k, *keys),
        v,
        is_causal=True,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    x = x + attention.o_proj(mixed.transpose(1, 2).flatten(2))
    return x + layer.mlp(layer.post_attention_layernorm(x))


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Heads [B, H, T, d] by cosines and sines [B, T, d], as transformers' Llama does it."""
    x1, x2 = x.chunk(2, -1)
    return x * cos.unsqueeze(1) + torch.cat([-x2, x1], -1) * sin.unsqueeze(1)


class EmbeddedInfilling(BodyView):
    """The embedded model over the masked cells of one infilling. Its prompt is the caption and what
    is known; the last of these rows is the root of the first window."""

    whole: Any  # an EmbeddedModel
    infilling: Infilling

    def __init__(self, model: Any, network: EmbeddedInfill, infilling: Infilling) -> None:
        """`model` is the EmbeddedModel. Raises SettingError where the infilling does not fit it."""
        infilling.check(model.grid, model.vocab_size)
        super().__init__(model)
        self.static, self.capture = False, None  # its lanes run eagerly on a GPU, too
        self.network, self.infilling = network, infilling
        self.weights = model.infill_weights
        self.forced_ids = torch.full((infilling.masked,), -1)
        self.body = network.model
        height, width = model.grid
        masked = torch.tensor(self.cells, device=self.device)
        known = [cell for cell in range(height * width) if infilling.known[cell] != MASKED]
        self._masked, self._known = masked, torch.tensor(known, device=self.device).long()
        first = network.config.caption_slots + 1
        captions = torch.arange(first, device=self.device)
        # By cache slot: its row's own position id; what lies behind the last cell is of no use.
        self._ids = torch.cat([captions, first + self._known, first + masked, first + masked[-1:]])
        # Of the row that precedes the first masked cell, whose token is no sequence position's.
        self._root = network.slots.weight[first - 1].detach()
        if known:
            codes = torch.tensor([infilling.known[known[-1]]], device=self.device)
            self._root = network.embed_codes(codes, self._known[-1:])[0].detach()

    @property
    def lean(self) -> Any:
        """One for all infillings: the network's weights become views of it."""
        return self.whole.infill_lean

    def prompt(self, text: str, guided: bool) -> Prompt:
        network, infilling = self.network, self.infilling
        rows = self.whole.caption_ids(text, guided)
        codes = torch.tensor(infilling.known, device=self.device)[self._known]
        known = network.embed_codes(codes, self._known).expand(len(rows), -1, -1)
        embedded = torch.cat([network.embed_caption(rows), known], 1)
        embedded[:, -1] += network.embed_asking(self._masked[0])
        return Prompt(embedded, (0,) * len(rows))

    def embed_rows(self, tokens: Tensor, positions: Tensor, targets: Tensor | None) -> Tensor:
        own = self.embed(tokens, positions.clamp_min(0))
        own = torch.where((positions < 0)[:, None], self._root, own)
        return own + self.network.embed_asking(self._asked(positions, targets))

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.network.embed_codes(tokens, self._masked[positions])

    def _asked(self, positions: Tensor, targets: Tensor | None) -> Tensor:
        """The cells [L] that rows at positions [L] ask for; any, where there is none left."""
        asked = positions + 1 if targets is None else targets
        return self._masked[asked.clamp_max(self.length - 1)]

    def position_ids(self, slots: Tensor, start: Tensor) -> Tensor:
        return self._ids[slots.clamp_max(len(self._ids) - 1)].expand(len(start), -1)

    def query_ids(self, ctx: BodyContext, slots: Tensor, targets: Tensor | None) -> Tensor:
        before = ctx.prompt_rows
        asked = self._asked(slots[before:] - ctx.length, targets)
        asking = asked + self.network.config.caption_slots
        return torch.cat([self._ids[slots[:before]], asking]).expand(ctx.rows, -1)

    def head(self, hidden: Tensor) -> Tensor:
        return self.network.lm_head(hidden)

    @property
    def fills_in(self) -> Fills:
        return Fills.ANY
