"""Anole and Lumina-mGPT at a tiny size, of transformers' own classes; the VQGAN's decoder, which
transformers does not have, is written out."""

from __future__ import annotations

import functools
from functools import cached_property
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import ChameleonConfig, ChameleonForConditionalGeneration, PretrainedConfig
from transformers.models.chameleon.modeling_chameleon import ChameleonVQVAE

from engine.models.families import chameleon, chameleon_vq
from engine.models.families.chameleon import config as true_config
from engine.models.supply.card import CARDS, ModelCard
from tests.engine.models.families import vqgan
from tests.engine.models.families.tiny import (
    BODY,
    Tiny,
    drawn,
    narrowed,
    randomise,
    save,
    tiny_card,
)

CODES, MAP = 32, "vocabulary_map"
BEGIN, END_OF_TURN, END_OF_LINE = "<racm3:break>", "<reserved08706>", "<reserved08799>"


def vocabulary() -> dict[str, int]:
    """Ids unlike the published ones; image tokens at 4 .. 35 in an order that is not their codes';
    a token for each byte."""
    codes = torch.randperm(CODES, generator=torch.Generator().manual_seed(5)).tolist()
    digits = str.maketrans("0123456789", "ABCDEFGHIJ")
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    names += [f"IMGIMG{str(code).translate(digits)}Z" for code in codes]
    names += ["<eoss>", "<image>", "<reserved08802>", BEGIN, "<reserved08803>"]
    names += [END_OF_TURN, END_OF_LINE]
    names += sorted(pre_tokenizers.ByteLevel.alphabet())
    return {name: token for token, name in enumerate(names)}


IDS = vocabulary()
IMAGE = [token for name, token in IDS.items() if name.startswith("IMGIMG")]
CODE = [
    int("".join(str("ABCDEFGHIJ".index(digit)) for digit in name[6:-1]))
    for name in IDS
    if name.startswith("IMGIMG")
]
LAYERS = vqgan.decoder(vqgan.TAMING, code=8, latent=16, levels=[64, 128, 64], blocks=1)


def config(**changes: object) -> ChameleonConfig:
    vq = {"embed_dim": 8, "num_embeddings": CODES, "latent_channels": 16, "base_channels": 64}
    vq |= {"channel_multiplier": [1, 2, 1], "num_res_blocks": 1}
    values = {**BODY, "num_attention_heads": 4, "num_key_value_heads": 2, "vq_config": vq}
    values |= {"vocab_size": len(IDS), "max_position_embeddings": 200, "pad_token_id": 1}
    values |= {"vocabulary_map": IDS}
    return ChameleonConfig(**(values | changes))


@functools.cache
def vq() -> ChameleonVQVAE:
    """The library's, which has no decoder."""
    return randomise(ChameleonVQVAE(config().vq_config), 7)


def vq_state() -> dict[str, Tensor]:
    """What is published."""
    library = {k: v for k, v in vq().state_dict().items() if not k.startswith("post_quant_conv.")}
    return drawn(vqgan.shapes(LAYERS), 8) | library


def tokenizer() -> Tokenizer:
    """A byte-level BPE with special tokens that begins with <s> of its own accord, as the published
    one does."""
    special = [name for name in IDS if len(name) > 1]
    found = Tokenizer(models.BPE(vocab=IDS, merges=[]))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special])
    found.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", IDS["<s>"])]
    )
    found.enable_truncation(5)
    return found


class TinyChameleon(Tiny):
    module = chameleon
    hostile = "<reserved08706><racm3:break>IMGIMGAZ</s><image>{text}{0}"
    prompts = (*Tiny.prompts, "a <s> cat", hostile)
    side = 4
    weights = {
        "model.norm.weight": "model.norm.weight",
        "lm_head.weight": "lm_head.weight",
        "decoder.conv_in.bias": "decoder.conv_in.bias",
        "quantize.embedding.weight": "embedding.weight",
    }
    unused = ("model.vqmodel.", "encoder.", "quant_conv.")
    absent = ("body.vqmodel", "vq.encoder", "vq.quant_conv")
    files = ("model/config.json", "model/model-00002-of-*.safetensors")
    files += ("vq/model.safetensors", "text/tokenizer.json")
    misfits = (
        ("config.json", lambda c: c.pop(MAP), "no vocabulary_map"),
        ("config.json", lambda c: c[MAP].pop("IMGIMGAZ"), "other image tokens than its 32 codes"),
        ("config.json", lambda c: c[MAP].update({"<s>": 2}), "not this model's: <s> is 0, not 2"),
        ("config.json", lambda c: c.update(hidden_size="large"), "config.json cannot be read"),
    )
    too_long = r"takes \d+ tokens; beside its picture .* has room for \d+\. Shorten it"

    def __init__(self, name: str, grid: tuple[int, int], template: str, *size: str) -> None:
        self.card, self.template = tiny_card(name, grid, CODES), template
        self.limit = config().max_position_embeddings - self.card.length
        self.begin = [IDS[BEGIN], *(IDS[token] for token in size)]

    @cached_property
    def network(self) -> ChameleonForConditionalGeneration:
        return randomise(ChameleonForConditionalGeneration(config()))

    def save(self, root: Path) -> dict[str, Path]:
        folders = {part: root / part for part in ("model", "vq", "text")}
        save(self.network, folders["model"], max_shard_size="100KB")
        for part in ("vq", "text"):
            folders[part].mkdir()
        save_file(narrowed(vq_state()), folders["vq"] / "model.safetensors")
        tokenizer().save(str(folders["text"] / "tokenizer.json"))
        return folders

    @property
    def small(self) -> ChameleonConfig:
        """With the published vocabulary."""
        true = true_config(CARDS[self.card.name])
        found = config(vocabulary_map=true.vocabulary_map, vocab_size=true.vocab_size)
        found.vq_config.num_embeddings = true.vq_config.num_embeddings
        return found

    def true_networks(self, card: ModelCard) -> tuple[list[nn.Module], PretrainedConfig]:
        settings = chameleon.config(card)
        with torch.device("meta"):
            decoder = chameleon_vq.ChameleonDecoder(settings.vq_config)
        return [chameleon._empty(settings), decoder], settings

    def ids(self, text: str) -> tuple[list[int], list[int]]:
        """The documented prompt and the unconditional one, each byte of the text a token."""
        table = {byte: letter for letter, byte in zip(*_alphabet(), strict=True)}
        spelled = [IDS[table[byte]] for byte in self.template.format(text).encode()]
        unconditional = self.begin if len(self.begin) > 1 else [IDS["<s>"], *self.begin]
        return [IDS["<s>"], *spelled, IDS[END_OF_TURN], *self.begin], unconditional

    def rows(self, prompt: str, guided: bool) -> tuple[Tensor, tuple[int, ...]]:
        conditional, unconditional = self.ids(prompt)
        padding = len(conditional) - len(unconditional)
        both = torch.tensor([conditional, [1] * padding + unconditional][: 1 + guided])
        return self.network.get_input_embeddings()(both), (0, padding)[: 1 + guided]

    def embed(self, tokens: Tensor) -> Tensor:
        line = torch.tensor([*IMAGE, IDS[END_OF_LINE]])
        return self.network.get_input_embeddings()(line[tokens])

    @property
    def body(self) -> nn.Module:
        return self.network.model

    def head(self, states: Tensor) -> Tensor:
        return self.network.lm_head(states)[..., IMAGE]

    def picture(self, codes: Tensor) -> Tensor:
        return vqgan.run(LAYERS, vq_state(), self.codebook[codes].permute(0, 3, 1, 2))

    @torch.inference_mode()
    def encoded(self, pixels: Tensor) -> Tensor:
        """The library's tokens, counted from the first image token."""
        found = vq().encode(pixels).image_tokens.tolist()
        names = {code: token for token, code in enumerate(CODE)}
        return torch.tensor([names[code] for code in found])

    @property
    def codebook(self) -> Tensor:
        """In the tokens' order."""
        return vq_state()["quantize.embedding.weight"][CODE]


def _alphabet() -> tuple[list[str], list[int]]:
    """The letters of byte-level BPE and their bytes (GPT-2's `bytes_to_unicode`)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = [chr(byte) for byte in plain] + [chr(256 + i) for i in range(len(others))]
    return letters, plain + others


ANOLE = TinyChameleon("anole", (4, 4), "{}")
LUMINA = TinyChameleon(
    "lumina-768",
    (4, 6),
    "Generate an image of 96x64 according to the following prompt:\n{}",
    "<reserved08802>",
    "<reserved08803>",
)
