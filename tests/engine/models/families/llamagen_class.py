"""LlamaGen's class to image at a tiny size: what is read of its files, and its class; the rest is
that of `llamagen.py`."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, PretrainedConfig

from engine.models.families import llamagen, llamagen_class
from engine.models.families.llamagen_weights import LlamaGenClassNetwork, LlamaGenVQ, Sizes
from engine.models.families.llamagen_weights import config as true_sizes
from engine.models.supply.card import ModelCard
from tests.engine.models.families.llamagen import (
    CODES,
    GPT_SIZES,
    SIDE,
    SIZES,
    VQ,
    TinyVQ16,
    gpt,
    gpt_shapes,
)
from tests.engine.models.families.tiny import drawn, narrowed, tiny_card

SMALL = Sizes(LlamaConfig(**GPT_SIZES | {"caption_slots": 1}, rms_norm_eps=1e-5), SIZES.vq)
CLASSES = {"golden retriever": 207, "otter": 360, "valley": 979}


class TinyLlamaGenClass(TinyVQ16):
    card = tiny_card("llamagen-b-256", (SIDE, SIDE), CODES)
    module, reader = llamagen_class, llamagen
    prompts = tuple(CLASSES)
    typed = ("geyser", *CLASSES)
    weights = {
        "layers.1.feed_forward.w2.weight": "model.layers.1.mlp.down_proj.weight",
        "layers.0.attention.wqkv.weight": "model.layers.0.self_attn.q_proj.weight",
        "cls_embedding.embedding_table.weight": "classes.weight",
        "decoder.mid.1.k.bias": "decoder.mid.attn_1.k.bias",
    }
    unused = ("freqs_cis", "encoder.conv_in", "quant_conv.", "quantize.codebook_used")
    absent = ("vq.encoder", "vq.quant_conv", "text")
    files = ("gpt/c2i_B_256.pt", "vq/vq_ds16_c2i.pt")
    small, options = SMALL, {"sizes": SMALL}
    gpt = drawn(gpt_shapes(SMALL.gpt), 9)  # as stored

    def save(self, root: Path) -> dict[str, Path]:
        """The GPT under no key, as the larger ones are."""
        folders = {part: root / part for part in ("gpt", "vq")}
        for folder in folders.values():
            folder.mkdir()
        torch.save(narrowed(self.gpt) | {"freqs_cis": torch.zeros(3)}, root / self.files[0])
        torch.save({"model": narrowed(VQ)}, root / self.files[1])
        return folders

    def true_networks(self, card: ModelCard) -> tuple[list[nn.Module], PretrainedConfig]:
        sizes = true_sizes(card)
        with torch.device("meta"):
            return [LlamaGenClassNetwork(sizes.gpt), LlamaGenVQ(sizes.vq)], sizes.gpt

    def rows(self, prompt: str, guided: bool) -> tuple[Tensor, tuple[int, ...]]:
        """The rows of the class and of class 1000, which is none."""
        numbers = [CLASSES[prompt], 1000][: 1 + guided]
        return self.gpt["cls_embedding.embedding_table.weight"][numbers, None], (0,) * len(numbers)

    def embed(self, tokens: Tensor) -> Tensor:
        return self.gpt["tok_embeddings.weight"][tokens]

    @torch.inference_mode()
    def logits(self, prompt: str, tokens: list[int], guidance: float) -> Tensor:
        rows, _ = self.rows(prompt, guidance != 1)
        codes, valid = self.embed(torch.tensor(tokens, dtype=torch.long)), torch.tensor([True])
        logits = [gpt(self.gpt, torch.cat([row, codes]), valid) for row in rows]
        return logits[0] if guidance == 1 else logits[1] + guidance * (logits[0] - logits[1])
