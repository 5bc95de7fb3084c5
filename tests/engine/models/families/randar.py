"""RandAR at a tiny size, in the layout of its published file, and its sequence written out: class,
then instructions and tokens by turns, in any order, without a cache. The layers, the condition and
the picture are LlamaGen's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PretrainedConfig

from engine.models.families import llamagen, randar
from engine.models.families.llamagen_weights import LlamaGenVQ, RandARNetwork
from engine.models.families.llamagen_weights import config as true_sizes
from engine.models.supply.card import ModelCard
from tests.engine.models.families.llamagen import (
    CODES,
    HEADS,
    SIDE,
    VQ,
    gpt_shapes,
    layers,
    rotated,
    turn,
)
from tests.engine.models.families.llamagen_class import SMALL, TinyLlamaGenClass
from tests.engine.models.families.tiny import drawn, narrowed, tiny_card

CELLS, WIDTH = SIDE * SIDE, SMALL.gpt.hidden_size
STORED = gpt_shapes(SMALL.gpt) | {"pos_instruct_embeddings": (1, WIDTH)}


class TinyRandAR(TinyLlamaGenClass):
    card = tiny_card("randar-l", (SIDE, SIDE), CODES)
    module, reader = randar, llamagen
    weights = TinyLlamaGenClass.weights | {"pos_instruct_embeddings": "instruction"}
    unused = ("encoder.conv_in", "quant_conv.", "quantize.codebook_used")
    files = (f"gpt/{card.source_of('gpt').files[0]}", "vq/vq_ds16_c2i.pt")
    gpt = drawn(STORED, 10)

    def save(self, root: Path) -> dict[str, Path]:
        folders = {part: root / part for part in ("gpt", "vq")}
        for folder in folders.values():
            folder.mkdir()
        save_file(narrowed(self.gpt), root / self.files[0])
        torch.save({"model": narrowed(VQ)}, root / self.files[1])
        return folders

    def true_networks(self, card: ModelCard) -> tuple[list[nn.Module], PretrainedConfig]:
        sizes = true_sizes(card)
        with torch.device("meta"):
            return [RandARNetwork(sizes.gpt), LlamaGenVQ(sizes.vq)], sizes.gpt

    def logits(self, prompt: str, tokens: list[int], guidance: float) -> Tensor:
        """Of the first cells in raster order."""
        cells = torch.arange(min(CELLS, len(tokens) + 1))
        return self.in_order(prompt, cells.tolist(), tokens[: len(cells) - 1], guidance, cells)

    @torch.inference_mode()
    def in_order(
        self,
        prompt: str,
        cells: Sequence[int],
        tokens: Sequence[int],
        guidance: float,
        numbers: Tensor,
    ) -> Tensor:
        """Logits [n + 1, V] of cells [n + 1], each given the tokens [n] of those before it, guided
        by their numbers [n + 1] in the order of the whole picture."""
        asking = [self.instruction(cell) for cell in cells]
        pairs = [torch.stack(asking), self.embed(torch.tensor([*tokens, 0]))]
        picture = torch.stack(pairs, 1).flatten(0, 1)[:-1]
        where = [None, *(cell for cell in cells for _ in range(2))][:-1]
        seen = torch.ones(len(where), len(where), dtype=torch.bool).tril()
        rows, _ = self.rows(prompt, guidance != 1)
        found = [layers(self.gpt, torch.cat([row, picture]), where, seen)[1::2] for row in rows]
        return self.guided(found, numbers, guidance)

    @staticmethod
    def guided(logits: list[Tensor], numbers: Tensor, guidance: float) -> Tensor:
        """Logits [n, V] of [R][n, V]: guidance grows from 1, by the numbers [n] of the tokens."""
        if guidance == 1:
            return logits[0]
        scale = 1 + (guidance - 1) * numbers[:, None].double() / CELLS
        return logits[1] + scale * (logits[0] - logits[1])

    def instruction(self, cell: int) -> Tensor:
        """The input [D] that asks for a cell."""
        turns = turn(cell, WIDTH // HEADS)[None]
        return rotated(self.gpt["pos_instruct_embeddings"], turns).flatten()
