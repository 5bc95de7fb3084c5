"""Janus-Pro 1B and 7B (Chen et al. 2025, arXiv:2501.17811).

A Llama over text tokens and 24 x 24 image codes of 16 x 16 pixels. The files are those of
deepseek-community/Janus-Pro-*, in transformers' form. Only the parts of
JanusForConditionalGeneration that generate images are loaded. The vision tower, its aligner, the
language head and the VQ encoder are left out.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from huggingface_hub.errors import StrictDataclassError
from tokenizers import Tokenizer
from torch import Tensor
from transformers import (
    JanusConfig,
    JanusForConditionalGeneration,
    JanusVisionConfig,
    JanusVQVAEConfig,
    LlamaConfig,
)
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from engine.models.body import BodyModel
from engine.models.context import Prompt
from engine.models.supply.card import ModelCard, ModelError
from engine.models.supply.device import loading_device
from engine.models.supply.weights import fill, randomise, read_tokenizer, read_weights, require_file
from engine.settings import SettingError

BEGIN, IMAGE, PAD = "<｜begin▁of▁sentence｜>", "<begin_of_image>", "<｜▁pad▁｜>"
TEMPLATE = "<|User|>: {}\n\n<|Assistant|>:" + IMAGE
MAX_PROMPT_TOKENS = 512  # 1,000 characters can be 4,000 tokens, too many for the cache's memory
UNUSED = (
    "lm_head.",
    "model.vision_model.",
    "model.aligner.",
    "model.vqmodel.encoder.",
    "model.vqmodel.quant_conv.",
)
# Hidden size, feed-forward width, layers, heads: `language_config` of deepseek-ai/Janus-Pro-*.
SIZES = {"janus-pro-1b": (2048, 5632, 24, 16), "janus-pro-7b": (4096, 11008, 30, 32)}


def config(card: ModelCard) -> JanusConfig:
    """Return a model's configuration at its true size, for random weights."""
    width, inner, layers, heads = SIZES[card.name]
    return JanusConfig(
        text_config=LlamaConfig(
            vocab_size=102400,
            hidden_size=width,
            intermediate_size=inner,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            max_position_embeddings=16384,
        ),
        vision_config=JanusVisionConfig(projection_dim=width),
        vq_config=JanusVQVAEConfig(projection_dim=width, image_token_embed_dim=width),
    )


class JanusModel(BodyModel):
    """Janus-Pro.

    In the unconditional row, padding replaces every text token of the prompt. This padding is
    attended to.
    """

    template = TEMPLATE  # of a prompt, after the beginning token
    linear_head = False

    def __init__(
        self,
        card: ModelCard,
        folders: dict[str, Path] | None,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        """Load the model.

        `folders["model"]` has the repository's files. If `folders` is None, weights are random at
        the card's true size, and each byte of a prompt is a token. Raises ModelError where a file
        is missing or does not fit.
        """
        self.name, self.grid, self.sampling = card.name, card.grid, card.sampling
        self.device, self.dtype = device, dtype
        self.forced_ids = torch.full((card.grid[0] * card.grid[1],), -1)
        settings = config(card) if folders is None else read_config(folders["model"])
        # Read before the weights, which take minutes, so that a broken tokenizer fails at once.
        self.tokenizer = None if folders is None else _read_tokenizer(folders["model"])
        network = _empty(settings, device if folders is None else loading_device(device), dtype)
        if folders is None:
            randomise(network)
        else:
            fill(network, read_weights(folders["model"]), drop=UNUSED)
        # normalised, as the VQ decoder takes it
        self.codebook = F.normalize(
            network.model.vqmodel.quantize.embedding.weight.detach(), dim=-1
        ).to(device)
        self.network = network.to(device)
        self.body, self.vq = network.model.language_model, network.model.vqmodel
        self.vocab_size = settings.vq_config.num_embeddings
        if self.tokenizer is None:
            self.begin, self.image, self.pad = 256, 257, 258
        else:
            ids = self.tokenizer.get_vocab()
            self.begin, self.image, self.pad = (ids[token] for token in (BEGIN, IMAGE, PAD))

    def check_prompt(self, text: str) -> None:
        self.prompt_ids(text)

    def prompt_ids(self, text: str) -> list[int]:
        """Return the token ids of a prompt's conditional row.

        Raises SettingError if the prompt is too long or contains a special token.
        """
        if self.tokenizer is None:
            ids = [self.begin, *text.encode(errors="replace"), self.image]
        else:
            for token in self.tokenizer.get_added_tokens_decoder().values():
                if token.special and token.content in text:
                    raise SettingError(
                        f"The prompt holds {token.content}, which Janus-Pro keeps for itself: leave"
                        " it out."
                    )
            prompt = self.template.format(text.strip())
            ids = [self.begin, *self.tokenizer.encode(prompt, add_special_tokens=False).ids]
        if len(ids) > MAX_PROMPT_TOKENS:
            raise SettingError(
                f"The prompt has {len(ids)} tokens; Janus-Pro takes at most {MAX_PROMPT_TOKENS}"
                " here: make it shorter."
            )
        return ids

    def prompt(self, text: str, guided: bool) -> Prompt:
        ids = torch.tensor([self.prompt_ids(text)], device=self.device)
        if guided:
            ids = torch.cat(
                [ids, torch.where((ids == self.begin) | (ids == self.image), ids, self.pad)]
            )
        return Prompt(self.body.embed_tokens(ids), (0,) * len(ids))

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.network.prepare_embeddings_for_image_generation(tokens)

    def head(self, hidden: Tensor) -> Tensor:
        return self.network.model.generation_head(hidden)

    def decode(self, codes: Tensor) -> Tensor:
        # `vq.decode` takes images of one size only; swatches and rows have others.
        return self.vq.decoder(self.vq.post_quant_conv(self.codebook[codes].permute(0, 3, 1, 2)))


def read_config(folder: Path) -> JanusConfig:
    """Read the model's configuration. Raises ModelError where it is missing or another model's."""
    path = require_file(folder / "config.json")
    try:
        stored = json.loads(path.read_text("utf-8"))
        if stored["model_type"] != "janus":
            raise ModelError(
                f"{path.name} is of a model of type {stored['model_type']!r}, not janus: it is"
                " not this model's file."
            )
        return JanusConfig.from_dict(stored)
    except (ValueError, KeyError, TypeError, AttributeError, StrictDataclassError) as error:
        raise ModelError(
            f"{path.name} is not a configuration: delete it, and the next start downloads it again."
        ) from error


def _read_tokenizer(folder: Path) -> Tokenizer:
    """Read `tokenizer.json` with the tokenizers library.

    transformers 5 would replace the file's byte-level splitting by Llama's, and lose all spaces
    (huggingface/transformers issue 45488).
    """
    tokenizer = read_tokenizer(folder)
    for token in (BEGIN, IMAGE, PAD):
        if tokenizer.token_to_id(token) is None:
            raise ModelError(
                f"{folder / 'tokenizer.json'} does not know {token}: it is not this model's file."
            )
    return tokenizer


def _empty(
    settings: JanusConfig, device: torch.device, dtype: torch.dtype
) -> JanusForConditionalGeneration:
    """Return the network with uninitialised weights, and without the parts that are not needed.

    The VQ decoder has at least float32: it is small, and some of its activations overflow float16.
    """
    with torch.device("meta"):
        network = JanusForConditionalGeneration(settings)
    del network.lm_head, network.model.vision_model, network.model.aligner
    del network.model.vqmodel.encoder, network.model.vqmodel.quant_conv
    network.to(dtype).model.vqmodel.to(torch.promote_types(dtype, torch.float32))
    network.to_empty(device=device)
    # The rotary frequencies are not weights, and must not be rounded to the body's dtype.
    network.model.language_model.rotary_emb = LlamaRotaryEmbedding(settings.text_config).to(device)
    # Convolutions on a CPU are fastest in channels-last layout.
    network.model.vqmodel.to(memory_format=torch.channels_last)
    return network.eval().requires_grad_(False)
