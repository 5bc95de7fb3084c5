"""RandAR-L, class to image in any order: 256 px (Pang et al., CVPR 2025, arXiv 2412.01827).

It has 16 x 16 codes. Its layers are LlamaGen's, over another sequence. After the class, an
instruction before each token asks for the token's cell: [class, I(a), a, I(b), b, ..] for cells a,
b, .. in any order. Attention is causal, and an instruction's output predicts the token after it.
Instruction and token are both rotated to the cell itself. The weights are the authors' own, and
LlamaGen's `vq_ds16_c2i.pt`. Source: RandAR/model/randar_gpt.py of ziqipang/RandAR.
"""

from __future__ import annotations

import functools
from functools import cached_property

import torch
from torch import Tensor

from engine.core import Parents
from engine.infilling import Fills
from engine.models.context import BodyContext
from engine.models.families.llamagen_class import LlamaGenClassModel
from engine.models.families.llamagen_weights import RandARNetwork


class RandARModel(LlamaGenClassModel):
    """RandAR: a window's row has two inputs, its token and an instruction.

    The instruction asks for the row's target cell, and the instruction's output is the row's
    output. In chains and trees a row asks for the cell of the token that follows it. The cache
    therefore keeps the same inputs as when the authors' code decodes one token at a time
    (`num_inference_steps` = -1). Some decoders (ASSD, Parallel) feed several copies of the root,
    each of which asks for another cell. Such a copy sees what is committed, but no other row of the
    window. RandAR can draw a whole picture in any order. Here the order is raster, because the
    decoders ZipAR and Parallel rows draw rows of the grid.

    Guidance grows from 1 to the guidance s of the sampling. A token with n tokens before it in the
    order, known ones included, has scale 1 + (s - 1) n / N, where N is the number of tokens in the
    picture. (Where the authors draw several tokens at once, all these tokens have the first one's
    scale.) The sampling is that of the authors' `sample_c2i.py`: s = 4, all codes, temperature 1.
    """

    fills_in = Fills.ANY
    inputs = 2
    network_type = RandARNetwork

    @cached_property
    @torch.inference_mode(False)
    def instructions(self) -> Tensor:
        """The instruction of each cell [N, D].

        This is the learnt instruction, rotated by RoPE to the cell. In each head neighbouring
        channels are rotated, as the published layout does with queries and keys.
        """
        rope, learnt = self.body.rotary_emb, self.network.instruction
        half = rope.cos.shape[1] // 2  # the other half has the same angles
        cos, sin = (table[self.caption_slots :, None, :half] for table in (rope.cos, rope.sin))
        x, y = learnt.to(cos.dtype).view(-1, half, 2).unbind(-1)
        rotated = torch.stack([x * cos - y * sin, y * cos + x * sin], -1)
        return rotated.flatten(1).to(self.dtype)

    def embed_known(self, tokens: Tensor, slots: Tensor) -> Tensor:
        pairs = torch.stack([self.instructions[slots], self.embed(tokens, slots)], 1)
        return pairs.flatten(0, 1)

    def forward(
        self,
        ctx: BodyContext,
        tokens: Tensor,
        parents: Parents = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        plan, cache, before, length = ctx.plan, ctx.cache, ctx.prompt_rows, len(tokens)
        cache.open(before + 2 * length)
        if targets is None:
            targets = ctx.positions(parents, length) + 1
        slots, _ = ctx.standing(parents, targets)
        target_slots = ctx.slots[targets.clamp_max(plan.length - 1)]
        own = self.embed(tokens, slots).expand(ctx.batch, -1, -1)
        if not cache.base:
            # The first window's root is the prompt's last input, whatever id is given for it.
            root = ctx.prompt.embeddings[:, -1:]
            own = torch.where((slots == plan.root)[:, None], root, own)
        asking = self.instructions[target_slots].expand_as(own)
        embedded = torch.stack([own, asking], 2).flatten(1, 2)
        places = torch.stack([slots, target_slots], 1).flatten() + ctx.behind
        if before:
            embedded = torch.cat([ctx.prompt.embeddings[:, :-1], embedded], 1)
            places = torch.cat([ctx.cached[:before], places])
        order = places
        if plan.fronts:
            parents = tuple(range(length)) if parents is None else parents
            # In raster order an instruction stands between the token of the cell before
            # and the token of its own cell.
            token = 2 * (slots + ctx.behind)
            order = torch.stack([token, token + 1], 1).flatten()
        mask = ctx.mask(order, before, None if parents is None else _inputs(parents))
        ids = self.position_ids(places, ctx.start)
        hidden = self.run_layers(embedded, mask, ids, cache)
        ctx.hidden = hidden[:, before + 1 :: 2]
        wide = torch.promote_types(ctx.hidden.dtype, torch.float32)
        before_it = (targets + len(plan.known))[:, None].to(wide)
        guidance = 1 + (ctx.guidance - 1) * before_it / len(self.instructions)
        return self.guided_logits(ctx, ctx.hidden, targets, guidance)


# A graph that is captured finds its tree by these parents.
@functools.lru_cache(maxsize=256)
def _inputs(parents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the parents of a window's inputs, given the parents of its rows.

    Row i's inputs are 2 i, its token, and 2 i + 1, its instruction. A token follows the instruction
    that asked for it; a root's token is its own parent. An instruction follows its row's token.
    """
    roots = enumerate(parents)
    tokens = (2 * row if row == parent else 2 * parent + 1 for row, parent in roots)
    return tuple(each for row, token in enumerate(tokens) for each in (token, 2 * row))
