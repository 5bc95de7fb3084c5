"""Janus-Pro at a tiny size, of transformers' own classes."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import TemplateProcessing
from torch import Tensor, nn
from transformers import (
    JanusConfig,
    JanusForConditionalGeneration,
    JanusProcessor,
    JanusVisionConfig,
    JanusVQVAEConfig,
    LlamaConfig,
    PretrainedConfig,
    PreTrainedTokenizerFast,
)
from transformers.models.janus.image_processing_pil_janus import JanusImageProcessorPil

from engine.models.families import janus
from engine.models.families.janus import BEGIN, IMAGE, PAD
from engine.models.families.published import Published
from engine.models.supply.card import ModelCard
from tests.engine.models.families.tiny import BODY, VQ, Tiny, nearest, randomise, save, tiny_card

CODES, SIDE = VQ["num_embeddings"], 4
END = "<｜end▁of▁sentence｜>"
IMAGE_END, PLACEHOLDER = "<end_of_image>", "<image_placeholder>"
MARKS = (BEGIN, END, PAD, IMAGE, IMAGE_END, PLACEHOLDER, "<|User|>", "<|Assistant|>")
UP = "model.language_model.layers.1.mlp.up_proj.weight"
HEAD = "model.generation_head.vision_head.weight"
PIXELS = "model.vqmodel.decoder.conv_out.bias"


def config(words: int = 267) -> JanusConfig:
    sizes = {**BODY, "num_attention_heads": 4, "max_position_embeddings": 2000}
    patches = {"image_size": 4 * SIDE, "patch_size": 4, "num_image_tokens": SIDE * SIDE}
    layers = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    return JanusConfig(
        text_config=LlamaConfig(vocab_size=words, **sizes),
        vision_config=JanusVisionConfig(**layers, **patches, projection_dim=32),
        vq_config=JanusVQVAEConfig(**VQ, projection_dim=32, image_token_embed_dim=32),
        tie_word_embeddings=False,
    )


def unnamed(tokenizer: dict, mark: str) -> None:
    (added,) = (each for each in tokenizer["added_tokens"] if each["content"] == mark)
    added["content"] = "<other>"


class TinyJanus(Tiny):
    card = tiny_card("janus-pro-1b", (SIDE, SIDE), CODES)
    module = janus
    guidance = 5.0
    weights = {UP: UP, HEAD: HEAD, PIXELS: PIXELS}
    unused = janus.UNUSED
    absent = ("network.lm_head", "network.model.vision_model", "network.model.aligner")
    absent += ("vq.encoder", "vq.quant_conv")
    files = ("model/config.json", "model/tokenizer.json", "model/model-00002-of-*.safetensors")
    misfits = (
        (
            "config.json",
            lambda c: c.update(model_type="llama"),
            "a model of type 'llama', not janus",
        ),
        (
            "config.json",
            lambda c: c["text_config"].update(hidden_size="wide"),
            "not a configuration",
        ),
        ("tokenizer.json", lambda c: unnamed(c, IMAGE), "does not know <begin_of_image>"),
    )
    limit, too_long = 512, r"has 513 tokens; Janus-Pro takes at most 512 here: make it shorter"

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """Bytes, a few merges, then the marks; as in Janus' own file, the beginning is put there by
        a template."""
        merges = [("a", "t"), ("Ġ", "a"), ("Ċ", "Ċ")]
        names = [*sorted(ByteLevel.alphabet()), *(a + b for a, b in merges)]
        words = Tokenizer(BPE(vocab={name: i for i, name in enumerate(names)}, merges=merges))
        words.pre_tokenizer = ByteLevel(add_prefix_space=False)
        words.decoder = ByteLevelDecoder()
        words.add_special_tokens([*MARKS])
        words.post_processor = TemplateProcessing(
            single=f"{BEGIN} $A", special_tokens=[(BEGIN, words.token_to_id(BEGIN))]
        )
        image = {"image_token": PLACEHOLDER, "boi_token": IMAGE, "eoi_token": IMAGE_END}
        return PreTrainedTokenizerFast(
            tokenizer_object=words,
            bos_token=BEGIN,
            eos_token=END,
            pad_token=PAD,
            padding_side="left",
            extra_special_tokens=image,
        )

    @cached_property
    def network(self) -> JanusForConditionalGeneration:
        network = randomise(JanusForConditionalGeneration(config(len(self.tokenizer))))
        settings, names = network.generation_config, self.tokenizer.get_vocab()
        settings.bos_token_id, settings.pad_token_id = names[BEGIN], names[PAD]
        settings.eos_token_id = names[END]
        # `generate` asks for it; the hub's file has it.
        settings.generation_kwargs = {"boi_token_id": names[IMAGE]}
        return network

    @cached_property
    def processor(self) -> JanusProcessor:
        return JanusProcessor(JanusImageProcessorPil(), self.tokenizer)

    def save(self, root: Path) -> dict[str, Path]:
        save(self.network, root, max_shard_size="100KB")
        self.tokenizer.save_pretrained(root)
        return {"model": root}

    @property
    def small(self) -> JanusConfig:
        return config()

    def true_networks(self, card: ModelCard) -> tuple[list[nn.Module], PretrainedConfig]:
        settings = janus.config(card)
        network = janus._empty(settings, torch.device("meta"), torch.bfloat16)
        return [network], settings.text_config

    def inputs(self, text: str) -> dict[str, Tensor]:
        """The documented conversation's."""
        conversation = f"<|User|>: {text.strip()}\n\n<|Assistant|>:"
        return self.processor(text=[conversation], generation_mode="image", return_tensors="pt")

    def rows(self, prompt: str, guided: bool) -> tuple[Tensor, tuple[int, ...]]:
        """The unconditional row is padding but for the two marks, and its padding is attended to:
        it begins at 0."""
        ids = self.inputs(prompt)["input_ids"][0].tolist()
        pad = self.tokenizer.pad_token_id
        both = [ids, [ids[0], *[pad] * (len(ids) - 2), ids[-1]]][: 1 + guided]
        return self.network.get_input_embeddings()(torch.tensor(both)), (0,) * len(both)

    def embed(self, tokens: Tensor) -> Tensor:
        return self.network.prepare_embeddings_for_image_generation(tokens)

    @property
    def body(self) -> nn.Module:
        return self.network.model.language_model

    @property
    def head(self) -> nn.Module:
        return self.network.model.generation_head

    def picture(self, codes: Tensor) -> Tensor:
        if codes.shape[1:] == (SIDE, SIDE):
            return self.network.decode_image_tokens(codes.flatten(1)).permute(0, 3, 1, 2)
        vq = self.network.model.vqmodel  # whose `decode` takes images of one size only
        return vq.decoder(vq.post_quant_conv(self.codebook[codes].permute(0, 3, 1, 2)))

    @torch.inference_mode()
    def encoded(self, pixels: Tensor) -> Tensor:
        vq = self.network.model.vqmodel
        return nearest(vq.quant_conv(vq.encoder(pixels)), self.codebook)

    @property
    def codebook(self) -> Tensor:
        return F.normalize(self.network.model.vqmodel.quantize.embedding.weight, dim=-1)

    def greedy(self, prompt: str, guidance: float) -> list[int]:
        if guidance == 1:  # not offered by the library, which always guides
            return super().greedy(prompt, guidance)
        options = {"generation_mode": "image", "guidance_scale": guidance, "do_sample": False}
        return self.network.generate(**self.inputs(prompt), **options)[0].tolist()

    @cached_property
    def published(self) -> Published:
        """Made as transformers' test of the true weights has it."""
        text = "A portrait of young girl. masterpiece, film grained, best quality."
        inputs = self.processor(text=[text], generation_mode="image", return_tensors="pt")
        tokens = self.network.generate(**inputs, generation_mode="image", do_sample=False)[0]
        count = inputs.input_ids.shape[1]
        return Published("here", "float32", "{}" + IMAGE, text, count, 5.0, tuple(tokens.tolist()))
