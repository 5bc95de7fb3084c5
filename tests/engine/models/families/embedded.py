"""The embedded model at a tiny size, with the captions that ship."""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, PretrainedConfig

from engine.models.embedded import model as embedded
from engine.models.embedded.model import EmbeddedModel
from engine.models.embedded.networks import (
    EmbeddedDrafter,
    EmbeddedTarget,
    EmbeddedVQ,
    VQConfig,
    target_config,
)
from engine.models.preview import FILE, PreviewDecoder
from engine.models.supply.card import WEIGHTS, ModelCard
from tests.engine.models.families.tiny import BODY, Tiny, randomise, save, tiny_card

CODES, SIDE = 40, 4


class TinyEmbedded(Tiny):
    """Has no parts on the hub: of the contract it takes what decoders and the page rely on."""

    card = tiny_card("embedded", (SIDE, SIDE), CODES)
    module = embedded
    prompts = ("cat on red", "red apple on sky clouds at the top left", "rocket on night stars")
    side = 8

    @cached_property
    def target(self) -> EmbeddedTarget:
        words = LlamaConfig.from_pretrained(WEIGHTS / "target").caption_vocab
        sizes = target_config(words, vocab_size=CODES, image_tokens=SIDE**2, **BODY)
        return randomise(EmbeddedTarget(sizes), 1)

    @cached_property
    def vq(self) -> EmbeddedVQ:
        return randomise(EmbeddedVQ(VQConfig(CODES, coarse=16, fine=8, depth=1)), 2)

    def save(self, root: Path) -> dict[str, Path]:
        save(self.target, root / "target", max_shard_size="100KB")
        save(self.vq, root / "vq")
        save(randomise(EmbeddedDrafter(self.target.config), 3), root / "drafter")
        (root / "preview").mkdir()
        PreviewDecoder(CODES, self.side).save(root / "preview" / FILE)
        shutil.copytree(WEIGHTS / "captions", root / "captions")
        shutil.copy(WEIGHTS / "world.json", root)
        return {"weights": root}

    def build(
        self, folders: dict[str, Path] | None, dtype: torch.dtype, card: ModelCard
    ) -> EmbeddedModel:
        return EmbeddedModel(folders["weights"], dtype=dtype)

    def true_networks(self, card: ModelCard) -> tuple[list[nn.Module], PretrainedConfig]:
        model = EmbeddedModel()
        return [model.target, model.vq, model.drafter.network], model.target.config

    def rows(self, prompt: str, guided: bool) -> tuple[Tensor, tuple[int, ...]]:
        """Every name and word of a caption is a token, padded on the left with token 0, which is
        attended to; a caption of padding alone is the unconditional row."""
        ids = self.model.tokenizer.encode(f"one: {prompt}").ids
        both = torch.tensor([ids, [0] * len(ids)][: 1 + guided])
        return self.target.embed_caption(both), (0,) * len(both)

    def embed(self, tokens: Tensor) -> Tensor:
        return self.target.embed_codes(tokens, torch.arange(len(tokens)))

    @property
    def body(self) -> nn.Module:
        return self.target.model

    @property
    def head(self) -> nn.Module:
        return self.target.lm_head

    def picture(self, codes: Tensor) -> Tensor:
        return self.vq.decode(codes)

    @property
    def codebook(self) -> Tensor:
        return self.vq.codebook
