"""LlamaGen at a tiny size, in the layout of its published files, and its architecture written out:
everything padded and masked, no cache, rope by complex numbers."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import (
    JanusVQVAEConfig,
    LlamaConfig,
    PretrainedConfig,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.models.t5.modeling_t5 import T5Stack

from engine.models.families import llamagen
from engine.models.families.llamagen_weights import LlamaGenNetwork, LlamaGenVQ, Sizes
from engine.models.families.llamagen_weights import config as true_sizes
from engine.models.supply.card import ModelCard
from tests.engine.models.families import tiny, vqgan
from tests.engine.models.families.tiny import (
    BODY,
    Tiny,
    drawn,
    narrowed,
    nearest,
    randomise,
    save,
    tiny_card,
)

SIDE, CODES, HEADS, SLOTS = 4, tiny.VQ["num_embeddings"], 2, 7
T5_DENSE = "block.0.layer.1.DenseReluDense.wo.weight"
WORDS = ["<pad>", "</s>", "<unk>", "a", "red", "fox", "on", "snow", "."]
ENDS = {"bos_token_id": None, "eos_token_id": None}
CAPTION = {"caption_slots": SLOTS, "caption_width": 24}
GPT_SIZES = {"vocab_size": CODES, **BODY, "num_attention_heads": HEADS, **ENDS, **CAPTION}
T5_SIZES = {"vocab_size": 264, "d_model": 24, "d_kv": 8, "d_ff": 40, "num_layers": 2}
SIZES = Sizes(
    LlamaConfig(**GPT_SIZES, rms_norm_eps=1e-5, tie_word_embeddings=False),
    JanusVQVAEConfig(**tiny.VQ),
    T5Config(**T5_SIZES, num_heads=3, feed_forward_proj="gated-gelu", use_cache=False),
)


def copied(text: T5Config) -> T5Config:
    """A copy of its own: T5's classes write into their configuration."""
    return T5Config.from_dict(text.to_dict())


def gpt_shapes(gpt: LlamaConfig) -> dict[str, tuple[int, ...]]:
    """The layout of the published files."""
    width, inner, codes = gpt.hidden_size, gpt.intermediate_size, gpt.vocab_size
    layer = {
        "attention.wqkv": (3 * width, width),
        "attention.wo": (width, width),
        **{f"feed_forward.w{i}": (inner, width) for i in (1, 3)},
        "feed_forward.w2": (width, inner),
        **{f"{of}_norm": (width,) for of in ("attention", "ffn")},
    }
    shapes = {**dict.fromkeys(("tok_embeddings", "output"), (codes, width)), "norm": (width,)}
    for i in range(gpt.num_hidden_layers):
        shapes |= {f"layers.{i}.{name}": shape for name, shape in layer.items()}
    if gpt.caption_slots == 1:
        condition = {"embedding_table.weight": (1001, width)}
    else:
        condition = {
            "uncond_embedding": (gpt.caption_slots, gpt.caption_width),
            "cap_proj.fc1.weight": (width, gpt.caption_width),
            "cap_proj.fc2.weight": (width, width),
        }
    stored = {f"cls_embedding.{name}": shape for name, shape in condition.items()}
    return stored | {f"{name}.weight": shape for name, shape in shapes.items()}


def vq_layers(vq: JanusVQVAEConfig) -> tuple[list[vqgan.Layer], list[vqgan.Layer]]:
    """The decoder's, and the encoder's."""
    levels = [vq.base_channels * multiple for multiple in vq.channel_multiplier]
    sizes, blocks = (vqgan.LLAMAGEN, vq.embed_dim, vq.latent_channels), vq.num_res_blocks
    return vqgan.decoder(*sizes, levels[::-1], blocks), vqgan.encoder(*sizes, levels, blocks)


def vq_shapes(vq: JanusVQVAEConfig) -> dict[str, tuple[int, ...]]:
    decoder, encoder = vq_layers(vq)
    return vqgan.shapes([*decoder, *encoder]) | {
        "quantize.embedding.weight": (vq.num_embeddings, vq.embed_dim),
        "quantize.codebook_used": (65536,),
    }


DECODER, ENCODER = vq_layers(SIZES.vq)
LAYER = ("attention.wqkv", "attention.wo", "feed_forward.w1", "feed_forward.w2", "feed_forward.w3")
GPT, VQ = drawn(gpt_shapes(SIZES.gpt), 1), drawn(vq_shapes(SIZES.vq), 2)


class TinyVQ16(Tiny):
    """What draws the codes of all of LlamaGen's kind."""

    def picture(self, codes: Tensor) -> Tensor:
        return vqgan.run(DECODER, VQ, self.codebook[codes].permute(0, 3, 1, 2))

    def encoded(self, pixels: Tensor) -> Tensor:
        return nearest(vqgan.run(ENCODER, VQ, pixels), self.codebook)

    @property
    def codebook(self) -> Tensor:
        book = VQ["quantize.embedding.weight"]
        return book / book.norm(dim=-1, keepdim=True)


class TinyLlamaGen(TinyVQ16):
    card = tiny_card("llamagen-256", (SIDE, SIDE), CODES)
    module = llamagen
    # The padding takes a little room, nearly all, and none; the last one is cut.
    prompts = ("A red fox  on Snow", "", "łoś 🦌 fox\t. .", "fox " * 50)
    weights = {
        "layers.1.feed_forward.w2.weight": "model.layers.1.mlp.down_proj.weight",
        "layers.0.attention.wqkv.weight": "model.layers.0.self_attn.q_proj.weight",
        "cls_embedding.uncond_embedding": "unconditional",
        "decoder.mid.1.k.bias": "decoder.mid.attn_1.k.bias",
        f"encoder.{T5_DENSE}": T5_DENSE,
    }
    unused = ("freqs_cis", "encoder.conv_in", "quant_conv.", "quantize.codebook_used")
    unused += ("decoder.block", "decoder.final")
    absent = ("vq.encoder", "vq.quant_conv", "text.lm_head")
    files = (
        "gpt/t2i_XL_stage1_256.pt",
        "vq/vq_ds16_t2i.pt",
        "text/tokenizer.json",
        "text/model-00002-of-*.safetensors",
    )

    small, options = SIZES, {"sizes": SIZES}

    @cached_property
    def text(self) -> T5ForConditionalGeneration:
        return randomise(T5ForConditionalGeneration(copied(SIZES.text)), 3)

    def save(self, root: Path) -> dict[str, Path]:
        folders = {part: root / part for part in ("gpt", "vq", "text")}
        for folder in folders.values():
            folder.mkdir()
        gpt = {"model": narrowed(GPT) | {"freqs_cis": torch.zeros(3)}, "steps": 7}
        torch.save(gpt, folders["gpt"] / "t2i_XL_stage1_256.pt")
        torch.save({"model": narrowed(VQ)}, folders["vq"] / "vq_ds16_t2i.pt")
        save(self.text, folders["text"], max_shard_size="20KB")
        words = {word: i for i, word in enumerate(WORDS)}
        tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A </s>", special_tokens=[("</s>", 1)]
        )
        tokenizer.save(str(folders["text"] / "tokenizer.json"))
        return folders

    def true_networks(self, card: ModelCard) -> tuple[list[nn.Module], PretrainedConfig]:
        sizes = true_sizes(card)
        with torch.device("meta"):
            networks = [LlamaGenNetwork(sizes.gpt), LlamaGenVQ(sizes.vq), T5Stack(sizes.text)]
        return networks, sizes.gpt

    @staticmethod
    def ids(prompt: str) -> list[int]:
        words = prompt.lower().replace(".", " . ").split()
        known = [WORDS.index(word) if word in WORDS else 2 for word in words]
        return [*known[: SLOTS - 1], 1]

    def rows(self, prompt: str, guided: bool) -> tuple[Tensor, tuple[int, ...]]:
        """T5 over ids padded on the right, rolled to the right, zero where there is padding; the
        unconditional row is learned, and has the same padding."""
        ids = self.ids(prompt)
        padding = SLOTS - len(ids)
        states = self.text.encoder(
            torch.tensor([ids + [0] * padding]), attention_mask=torch.arange(SLOTS)[None] < len(ids)
        ).last_hidden_state[0]
        states = states.roll(padding, 0) * (torch.arange(SLOTS) >= padding)[:, None]
        both = torch.stack([states, GPT["cls_embedding.uncond_embedding"]])[: 1 + guided]
        hidden = F.gelu(both @ GPT["cls_embedding.cap_proj.fc1.weight"].T, approximate="tanh")
        return hidden @ GPT["cls_embedding.cap_proj.fc2.weight"].T, (padding,) * len(both)

    def embed(self, tokens: Tensor) -> Tensor:
        return GPT["tok_embeddings.weight"][tokens]

    @torch.inference_mode()
    def logits(self, prompt: str, tokens: list[int], guidance: float) -> Tensor:
        rows, start = self.rows(prompt, guidance != 1)
        valid = torch.arange(SLOTS) >= start[0]
        codes = self.embed(torch.tensor(tokens, dtype=torch.long))
        logits = [gpt(GPT, torch.cat([row, codes]), valid) for row in rows]
        return logits[0] if guidance == 1 else logits[1] + guidance * (logits[0] - logits[1])


def gpt(w: dict[str, Tensor], x: Tensor, valid: Tensor) -> Tensor:
    """Logits [1 + n, V] behind the condition, of one row's inputs [P + n, D], of which `valid` [P]
    are no padding."""
    length, slots = len(x), len(valid)
    seen = torch.ones(length, length, dtype=torch.bool).tril()
    seen[:, :slots] &= valid
    seen |= torch.eye(length, dtype=torch.bool)
    cells = [None] * slots + list(range(length - slots))
    return layers(w, x, cells, seen)[slots - 1 :]


def layers(w: dict[str, Tensor], x: Tensor, cells: list[int | None], seen: Tensor) -> Tensor:
    """Logits [T, V] of inputs [T, D], each in its cell of the grid, or in none; bool `seen`
    [T, T] says which of them each attends to."""
    width = x.shape[1]

    def norm(x: Tensor, key: str) -> Tensor:
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * w[key]

    for i in range(SIZES.gpt.num_hidden_layers):
        layer = {key: w[f"layers.{i}.{key}.weight"] for key in LAYER}
        qkv = norm(x, f"layers.{i}.attention_norm.weight") @ layer["attention.wqkv"].T
        mixed = attention(*qkv.split(width, -1), seen, cells)
        x = x + mixed @ layer["attention.wo"].T
        y = norm(x, f"layers.{i}.ffn_norm.weight")
        y = F.silu(y @ layer["feed_forward.w1"].T) * (y @ layer["feed_forward.w3"].T)
        x = x + y @ layer["feed_forward.w2"].T
    return norm(x, "norm.weight") @ w["output.weight"].T


def turn(cell: int | None, dim: int) -> Tensor:
    """What the pairs of a head's channels [dim / 2] are rotated by: by the cell's row in the grid,
    then by its column. Zero for none: queries and keys vanish."""
    turns = torch.zeros(dim // 2, dtype=torch.complex128)
    for pair in range(dim // 4 if cell is not None else 0):
        for axis, place in enumerate(divmod(cell, SIDE)):
            angle = place * 10000.0 ** (-2 * pair / (dim // 2))
            turns[axis * dim // 4 + pair] = complex(math.cos(angle), math.sin(angle))
    return turns


def rotated(x: Tensor, turns: Tensor) -> Tensor:
    """Rows [T, D] as heads [T, H, d], whose neighbouring channels are rotated by [T, d / 2]."""
    pairs = torch.view_as_complex(x.reshape(len(x), HEADS, -1, 2).contiguous())
    return torch.view_as_real(pairs * turns[:, None]).flatten(2)


def attention(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, cells: list[int | None]) -> Tensor:
    """Of rows [T, D], whose queries and keys are rotated to their cells."""
    (length, width), dim = q.shape, q.shape[1] // HEADS
    turns = torch.stack([turn(cell, dim) for cell in cells])
    scores = torch.einsum("qhd,khd->hqk", rotated(q, turns), rotated(k, turns)) / dim**0.5
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
    return torch.einsum("hqk,khd->qhd", weights, v.view(length, HEADS, dim)).reshape(length, width)
