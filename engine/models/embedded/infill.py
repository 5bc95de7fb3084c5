"""The embedded model that fills in any cells of a picture given any other cells.

The raster model (`EmbeddedTarget`) draws cells in raster order. A row's input is the sum of two
embeddings, of its cell's token and of its slot, and the row predicts the next cell. Here a row may
predict any cell c, so `next[c]`, a learnt embedding of c, is added to its input. The query of such
a row is rotated to the place of cell c - 1, whose row predicts c in the raster model. With all
cells masked, in raster order and with `next` at zero, this is the raster model.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaConfig

from engine.core import Plan
from engine.infilling import MASKED, Fills, Infilling
from engine.models.body import BodyModel
from engine.models.context import BodyContext, Prompt
from engine.models.embedded.networks import EmbeddedTarget
from engine.models.slots import Slot
from engine.plan import anywhere


class EmbeddedInfill(EmbeddedTarget):
    """The target over another sequence: caption, known cells in raster order, masked cells.

    Slots are numbered as in the target: P caption slots, the begin-of-image slot, then the cells.
    The row with the token of cell c has that token's slot, P + 1 + c, as its position id. If the
    row asks for a cell t, its query instead has the id P + t, the slot just before t's. Queries and
    keys then have the distances that the target learnt.
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        self.next = nn.Embedding(config.image_tokens, config.hidden_size)
        self.layer_states = _layer  # of `states`; training compiles it
        self.post_init()

    @classmethod
    @torch.no_grad()
    def continued(cls, target: EmbeddedTarget) -> Self:
        """Return a network with the target's weights and with `next` at zero."""
        infill = cls(target.config).to(target.device, target.dtype)
        infill.load_state_dict(target.state_dict(), strict=False)
        nn.init.zeros_(infill.next.weight)
        return infill

    def embed_asking(self, cells: Tensor) -> Tensor:
        """Return the vectors [.., D] to add to inputs that ask for `cells` [..].

        For an input that asks for no cell, `cells` has MASKED (-1), and the vector is zero.
        """
        embeddings = F.embedding(cells.clamp_min(0), self.next.weight)
        return embeddings * (cells >= 0)[..., None]

    def states(self, inputs: Tensor, position_ids: Tensor, query_ids: Tensor) -> Tensor:
        """Return the hidden states [B, T, D] of `inputs` [B, T, D], with causal attention.

        Keys are rotated by `position_ids` [B, T], and queries by `query_ids` [B, T].
        """
        body, x = self.model, inputs
        keys, queries = body.rotary_emb(x, position_ids), body.rotary_emb(x, query_ids)
        for layer in body.layers:
            x = self.layer_states(layer, x, keys, queries)
        return body.norm(x)


def _layer(layer: Any, x: Tensor, keys: Any, queries: Any) -> Tensor:
    """Return the states [B, T, D] after one causal Llama layer; `x` has the states before it.

    Keys are rotated by the cosines and sines `keys` [B, T, d], and queries by `queries` [B, T, d].
    """
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
    """Rotate heads [B, H, T, d] by cosines and sines [B, T, d], as transformers' Llama does."""
    x1, x2 = x.chunk(2, -1)
    return x * cos.unsqueeze(1) + torch.cat([-x2, x1], -1) * sin.unsqueeze(1)


class EmbeddedInfiller(BodyModel):
    """The embedded model that fills in any cells.

    It has the codes and pixels of the `whole` model, but its own network. In its prompt the known
    cells follow the caption. The prompt's last row is the first window's root.
    """

    fills_in = Fills.ANY

    def __init__(self, whole: Any, network: EmbeddedInfill, weights: str) -> None:
        """Wrap a network; `whole` is the EmbeddedModel, and `weights` identifies the network."""
        self.whole, self.network, self.weights = whole, network, weights
        for name in ("name", "grid", "vocab_size", "codebook", "device", "dtype", "sampling"):
            setattr(self, name, getattr(whole, name))
        self.forced_ids, self.together = whole.forced_ids, whole.together
        self.preview, self.body = whole.preview, network.model

    @cached_property
    def plan(self) -> Plan:
        """The plan of a whole picture in raster order; the model also takes any other order."""
        height, width = self.grid
        return anywhere(self.grid, Infilling((MASKED,) * (height * width), "raster"))

    @property
    def swatches(self) -> bytes | None:
        """Picture of all codes, kept by `whole`, which has the same codes; None until it is set."""
        return self.whole.swatches

    @swatches.setter
    def swatches(self, image: bytes | None) -> None:
        self.whole.swatches = image

    def prompt(self, text: str, guided: bool) -> Prompt:
        rows = self.whole.caption_ids(text, guided)
        return Prompt(self.network.embed_caption(rows), (0,) * len(rows))

    def start(
        self,
        prompt: str,
        guidance: float,
        guided_tokens: int = 0,
        plan: Plan | None = None,
        slot: Slot | None = None,
    ) -> BodyContext:
        ctx = super().start(prompt, guidance, guided_tokens, plan, slot)
        # Each row in the root's place asks for a cell of its own.
        ctx.root = ctx.prompt.embeddings[:, -1:].clone()
        ctx.prompt.embeddings[:, -1] += self.network.embed_asking(ctx.slots[0])
        return ctx

    def embed_rows(
        self, ctx: BodyContext, tokens: Tensor, slots: Tensor, target_slots: Tensor | None
    ) -> Tensor:
        assert target_slots is not None, "its plans let rows ask ahead"
        own = self.embed(tokens, slots.clamp_min(0)).expand(ctx.batch, -1, -1)
        if not ctx.cache.base:
            assert ctx.root is not None, "`start` sets it"
            own = torch.where((slots == ctx.plan.root)[:, None], ctx.root, own)
        return own + self.network.embed_asking(target_slots)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.network.embed_codes(tokens, positions)

    def head(self, hidden: Tensor) -> Tensor:
        return self.network.lm_head(hidden)

    def decode(self, codes: Tensor) -> Tensor:
        return self.whole.decode(codes)
