"""Emu3 at a tiny size, of transformers' own classes."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from tokenizers.pre_tokenizers import ByteLevel
from torch import Tensor, nn
from transformers import (
    Emu3Config,
    Emu3ForConditionalGeneration,
    Emu3Processor,
    GPT2Tokenizer,
    PretrainedConfig,
)
from transformers.models.emu3.image_processing_emu3 import Emu3ImageProcessor

from engine.models.families import emu3
from engine.models.families.emu3 import NEGATIVE, POSITIVE
from engine.models.supply.card import ModelCard
from tests.engine.models.families.tiny import BODY, Tiny, randomise, save, tiny_card

CODES, HEIGHT, WIDTH = 48, 3, 4
LENGTH = HEIGHT * (WIDTH + 1)
NAMES = {
    "image_token": "<image>",
    "boi_token": "<|image start|>",
    "eoi_token": "<|image end|>",
    "image_wrapper_token": "<|image token|>",
    "eof_token": "<|extra_201|>",
}
MAP, CODE_7, WORDS = (
    "vocabulary_map",
    "<|visual token 000007|>",
    ("boi_token", "extra_special_tokens"),
)
UNNAMED = "does not name 48 visual tokens and an end of"
HEAD = "text_model.lm_head.weight"


def tokenizer() -> GPT2Tokenizer:
    """Bytes, then marks, then the visual tokens; these with a gap between them, and not in the
    codes' order."""
    letters = sorted(ByteLevel.alphabet())
    marks = ["<|pad|>", "<|extra_203|>", "<|extra_204|>", *NAMES.values(), "<|extra_200|>"]
    order = np.random.default_rng(0).permutation(CODES).tolist()
    visual = [f"<|visual token {code:06d}|>" for code in order]
    found = GPT2Tokenizer(
        vocab={letter: i for i, letter in enumerate(letters)},
        merges=[],
        unk_token="a",
        pad_token="<|pad|>",
        bos_token="<|extra_203|>",
        eos_token="<|extra_204|>",
        extra_special_tokens=NAMES,
        padding_side="left",
    )
    found.add_tokens([*marks, *visual[:20], "<|between|>", *visual[20:]], special_tokens=True)
    return found


def config() -> Emu3Config:
    words = tokenizer()
    names = words.get_vocab()
    marks = {"pad": "<|pad|>", "bos": "<|extra_203|>", "eos": "<|extra_204|>"}
    text = {**BODY, "num_attention_heads": 4, "num_key_value_heads": 2}
    text |= {"vocab_size": len(words), "max_position_embeddings": 600}
    text |= {f"{of}_token_id": names[mark] for of, mark in marks.items()}
    vq = {"codebook_size": CODES, "base_channels": 64, "channel_multiplier": [1, 1, 1, 1]}
    vq |= {"num_res_blocks": 1, "hidden_size": 64}
    known = {name: i for name, i in names.items() if name.startswith("<|") or name == "<image>"}
    return Emu3Config(text_config=text, vq_config=vq, vocabulary_map=known)


class TinyEmu3(Tiny):
    card = tiny_card("emu3", (HEIGHT, WIDTH), CODES)
    module = emu3
    # rows shorter and longer than the negative prompt
    prompts = ("a cat", "", "naïve 日本 🙂 \n", "a long portrait of a young girl, " * 8)
    side = 8
    weights = {
        "text_model.model.layers.1.mlp.up_proj.weight": "body.layers.1.mlp.up_proj.weight",
        HEAD: "output.weight",
        "vqmodel.decoder.conv_out.bias": "vq.decoder.conv_out.bias",
    }
    unused = ("vqmodel.encoder.", "vqmodel.quant_conv.")
    absent = ("vq.encoder", "vq.quant_conv")
    files = ("model/config.json", "model/tokenizer.json", "model/model-00002-of-*.safetensors")
    misfits = (
        ("config.json", lambda c: c.update({MAP: None}), UNNAMED),
        ("config.json", lambda c: c[MAP].pop("<|extra_200|>"), UNNAMED),
        ("config.json", lambda c: c[MAP].pop(CODE_7), UNNAMED),
        ("config.json", lambda c: c[MAP].update({"<|visual token x|>": 3}), UNNAMED),
        ("config.json", lambda c: c[MAP].update({CODE_7: 9999}), "ids beyond the model's vocab"),
        ("config.json", lambda c: c["text_config"].update(hidden_size="wide"), "not the config"),
        ("tokenizer_config.json", lambda c: list(map(c.pop, WORDS)), "has no boi_token"),
    )
    limit, too_long = 585, r"takes 586 of the model's tokens, and there is room for 585"

    @cached_property
    def network(self) -> Emu3ForConditionalGeneration:
        return randomise(Emu3ForConditionalGeneration(config()))

    @cached_property
    def processor(self) -> Emu3Processor:
        return Emu3Processor(Emu3ImageProcessor(), tokenizer())

    def save(self, root: Path) -> dict[str, Path]:
        save(self.network, root, max_shard_size="100KB")
        self.processor.save_pretrained(root)
        return {"model": root}

    @property
    def small(self) -> Emu3Config:
        return config()

    def true_networks(self, card: ModelCard) -> tuple[list[nn.Module], PretrainedConfig]:
        settings = emu3.config(card)
        with torch.device("meta"):
            return [emu3._Network(settings, card.codes, torch.bfloat16)], settings.text_config

    def inputs(self, *texts: str) -> dict[str, Tensor]:
        size = {"ratio": f"{WIDTH}:{HEIGHT}", "image_area": 64 * HEIGHT * WIDTH}
        options = {"return_for_image_generation": True, "padding": True, "return_tensors": "pt"}
        return self.processor(text=[*texts], **size, **options)

    def rows(self, prompt: str, guided: bool) -> tuple[Tensor, tuple[int, ...]]:
        encoded = self.inputs(*[prompt + POSITIVE, NEGATIVE][: 1 + guided])
        padding = (encoded.attention_mask == 0).sum(1)
        return self.network.get_input_embeddings()(encoded.input_ids), tuple(padding.tolist())

    @cached_property
    def ids(self) -> Tensor:
        """Of each code, then of the end of a row."""
        known = self.network.vocabulary_mapping
        return torch.tensor([*(known.img2bpe[code] for code in range(CODES)), known.eol_token_id])

    def embed(self, tokens: Tensor) -> Tensor:
        return self.network.get_input_embeddings()(self.ids[tokens])

    @property
    def body(self) -> nn.Module:
        return self.network.model.text_model

    def head(self, states: Tensor) -> Tensor:
        return self.network.lm_head(states)[..., self.ids[:-1]]

    def picture(self, codes: Tensor) -> Tensor:
        return self.network.model.vqmodel.decode(codes)

    @property
    def codebook(self) -> Tensor:
        return self.network.model.vqmodel.quantize.embedding.weight

    def allowed(self, row: int, ids: Tensor) -> list[int]:
        """The layout as the library's documentation constrains it: the end of each row, then of
        frame, image and text."""
        names, known = self.processor.tokenizer, self.network.vocabulary_mapping
        ends = [names.eof_token_id, names.eoi_token_id, names.eos_token_id]
        offset = len(ids) - int((ids == names.image_wrapper_token_id).nonzero()[0])
        if offset > LENGTH:
            return [ends[min(offset - LENGTH - 1, 2)]]
        return [known.eol_token_id] if offset % (WIDTH + 1) == 0 else known.image_tokens

    def greedy(self, prompt: str, guidance: float) -> list[int]:
        encoded, negative = self.inputs(prompt + POSITIVE), self.inputs(NEGATIVE)
        guide = {"guidance_scale": guidance, "negative_prompt_ids": negative.input_ids}
        ids = self.network.generate(
            input_ids=encoded.input_ids,
            attention_mask=encoded.attention_mask,
            do_sample=False,
            max_new_tokens=LENGTH + 3,
            prefix_allowed_tokens_fn=self.allowed,
            **(guide if guidance > 1 else {}),
        )
        tokens = {token: code for code, token in enumerate(self.ids.tolist())}
        first = encoded.input_ids.shape[1]
        return [tokens[token] for token in ids[0, first : first + LENGTH].tolist()]
