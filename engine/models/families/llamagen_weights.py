"""The published weights of LlamaGen and RandAR, and the modules into which they are loaded.

The modules are a Llama body with 2-D RoPE, and Janus' VQ decoder. LlamaGen (Sun et al. 2024,
arXiv:2406.06525) is a Llama in the layout of gpt-fast: q, k and v are one matrix, and RoPE rotates
each channel of a head together with its neighbour. transformers instead rotates channel i with
channel i + D / 2, where a head has D channels. LlamaGen's VQ model is the same as Janus'.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import JanusVQVAE, JanusVQVAEConfig, LlamaConfig, LlamaForCausalLM, T5Config

from engine.models.supply.card import ModelCard, ModelError, Prompts

ROPE_BASE = 10000.0
CLASSES = 1000  # number of ImageNet's classes; row CLASSES of a table is for no class
# Layers, heads and width by the size in a card's name (gpt.py of FoundationVision/LlamaGen).
_SIZES = {
    "b": (12, 12, 768),
    "l": (24, 16, 1024),
    "xl": (36, 20, 1280),
    "xxl": (48, 24, 1536),
    "3b": (24, 32, 3200),
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The configurations of LlamaGen's networks.

    `gpt` has an additional field, `caption_slots`: how many slots the caption or class takes before
    the picture's. A class takes 1. For a model with a text encoder, `gpt` also has `caption_width`,
    the width of the encoder's states.
    """

    gpt: LlamaConfig
    vq: JanusVQVAEConfig
    text: T5Config | None = None


def config(card: ModelCard) -> Sizes:
    """Return the true sizes of a card's networks.

    The GPT of a model with classes has the size in the card's name. A model with captions has the
    size XL, and flan-t5-xl's encoder. The VQ model is VQ-16.
    """
    vq = JanusVQVAEConfig(num_embeddings=card.codes)
    if card.prompts is Prompts.CLASSES:
        return Sizes(_gpt(card, card.name.split("-")[1], caption_slots=1), vq)
    text = T5Config(
        d_model=2048,
        d_ff=5120,
        num_layers=24,
        num_heads=32,
        feed_forward_proj="gated-gelu",
        use_cache=False,
    )
    return Sizes(_gpt(card, "xl", caption_slots=120, caption_width=text.d_model), vq, text)


def _gpt(card: ModelCard, size: str, **fields: int) -> LlamaConfig:
    layers, heads, width = _SIZES[size]
    return LlamaConfig(
        vocab_size=card.codes,
        hidden_size=width,
        intermediate_size=256 * math.ceil(8 * width // 3 / 256),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        **fields,
    )


class Rope2D(nn.Module):
    """The 2-D RoPE of LlamaGen: a table with the cosines and sines of each slot.

    The first half of the rotated pairs encodes the row of the grid, the second half the column. For
    caption slots cosines and sines are zero. So queries and keys of these slots are zero too, and
    all caption slots get equal attention.
    """

    cos: Tensor
    sin: Tensor

    def __init__(
        self, grid: tuple[int, int], dim: int, caption_slots: int, dtype: torch.dtype
    ) -> None:
        super().__init__()
        speeds = ROPE_BASE ** -(torch.arange(0, dim // 2, 2, dtype=dtype) / (dim // 2))
        row, column = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
        angles = torch.stack([row, column], -1).flatten(0, 1)[..., None] * speeds
        angles = angles.flatten(1).repeat(1, 2)
        nothing = torch.zeros(caption_slots, dim, dtype=dtype)
        self.register_buffer("cos", torch.cat([nothing, angles.cos()]), persistent=False)
        self.register_buffer("sin", torch.cat([nothing, angles.sin()]), persistent=False)

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return cosines and sines [R, T, D] of slots `position_ids` [R, T], in `x`'s dtype."""
        return self.cos[position_ids].to(x.dtype), self.sin[position_ids].to(x.dtype)


class LlamaGenNetwork(LlamaForCausalLM):
    """The GPT with a caption.

    `caption` maps the text encoder's states to the first slots' inputs. `unconditional` has the
    states that stand for no caption. LlamaGenBody sets the RoPE, which depends on the grid.
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.caption = nn.Sequential(
            nn.Linear(config.caption_width, width, bias=False),
            nn.GELU("tanh"),
            nn.Linear(width, width, bias=False),
        )
        self.unconditional = nn.Parameter(
            torch.randn(config.caption_slots, config.caption_width) * config.caption_width**-0.5
        )


class LlamaGenClassNetwork(LlamaForCausalLM):
    """The GPT with a class.

    `classes` [CLASSES + 1, width] has the first slot's input for each class; the last row is for no
    class.
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        self.classes = nn.Embedding(CLASSES + 1, config.hidden_size)


class RandARNetwork(LlamaGenClassNetwork):
    """The GPT that can be asked for any cell.

    `instruction` [1, width] is the input that asks for a cell, before RoPE rotates it to that cell.
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.instruction = nn.Parameter(torch.randn(1, width) * config.initializer_range)


class LlamaGenVQ(JanusVQVAE):
    """The codebook and the decoder of LlamaGen's VQ model, without the encoder."""

    def __init__(self, config: JanusVQVAEConfig) -> None:
        super().__init__(config)
        del self.encoder, self.quant_conv


_GPT_KEYS = {
    "tok_embeddings.weight": "model.embed_tokens.weight",
    "norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
    "cls_embedding.cap_proj.fc1.weight": "caption.0.weight",
    "cls_embedding.cap_proj.fc2.weight": "caption.2.weight",
    "cls_embedding.uncond_embedding": "unconditional",
    "cls_embedding.embedding_table.weight": "classes.weight",
    "pos_instruct_embeddings": "instruction",
}
_LAYER_KEYS = {
    "attention.wq": "self_attn.q_proj",
    "attention.wk": "self_attn.k_proj",
    "attention.wv": "self_attn.v_proj",
    "attention.wo": "self_attn.o_proj",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w2": "mlp.down_proj",
    "feed_forward.w3": "mlp.up_proj",
    "attention_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_VQ_KEYS = (
    (r"^decoder\.conv_blocks\.", "decoder.up."),
    (r"^encoder\.conv_blocks\.", "encoder.down."),
    (r"\.(up|down)\.(\d+)\.res\.", r".\1.\2.block."),
    (r"coder\.mid\.0\.", "coder.mid.block_1."),
    (r"coder\.mid\.1\.", "coder.mid.attn_1."),
    (r"coder\.mid\.2\.", "coder.mid.block_2."),
)
VQ_UNUSED = ("encoder.", "quant_conv.", "quantize.codebook_used")
GPT_UNUSED = ("freqs_cis",)  # a table that LlamaGen's code computes
TEXT_UNUSED = ("decoder.", "lm_head.")


def gpt_key(key: str) -> str:
    """Map a key of `split_qkv`'s result to the network's key; an unknown key is unchanged."""
    layer = re.fullmatch(r"layers\.(\d+)\.(.+)\.weight", key)
    if layer and layer[2] in _LAYER_KEYS:
        return f"model.layers.{layer[1]}.{_LAYER_KEYS[layer[2]]}.weight"
    return _GPT_KEYS.get(key, key)


def vq_key(key: str) -> str:
    """Map a stored key to JanusVQVAE's."""
    for pattern, replacement in _VQ_KEYS:
        key = re.sub(pattern, replacement, key)
    return key


def text_key(key: str) -> str:
    """Map a stored key of a whole T5 model to the key of T5's encoder.

    `shared.weight` is the embedding of both encoder and decoder.
    """
    return "embed_tokens.weight" if key == "shared.weight" else key.removeprefix("encoder.")


def split_qkv(state: dict[str, Tensor], gpt: LlamaConfig) -> dict[str, Tensor]:
    """Return `state` with each layer's wqkv [3 width, width] split into wq, wk and wv.

    The rows of wq and wk are put in transformers' order. Raises ModelError, which names the key, if
    a wqkv has another shape.
    """
    split = {}
    width, heads = gpt.hidden_size, gpt.num_attention_heads
    for key, tensor in state.items():
        if not key.endswith(".attention.wqkv.weight"):
            split[key] = tensor
            continue
        if tensor.shape != (3 * width, width):
            raise ModelError(
                f"The weights do not fit: {key!r} has the shape {tuple(tensor.shape)}, not"
                f" {(3 * width, width)}."
            )
        for name, part in zip("qkv", tensor.chunk(3), strict=True):
            split[key.replace("wqkv", f"w{name}")] = (
                part if name == "v" else pairs_apart(part, heads)
            )
    return split


def pairs_apart(rows: Tensor, heads: int) -> Tensor:
    """Reorder the rows of q or k for transformers' RoPE.

    RoPE rotates the channels of a head in pairs. The stored pairs (0, 1), (2, 3) .. become the
    pairs (0, D / 2), (1, D / 2 + 1) .., where D is the size of a head.
    """
    return rows.view(heads, -1, 2, rows.shape[1]).transpose(1, 2).reshape(rows.shape)
