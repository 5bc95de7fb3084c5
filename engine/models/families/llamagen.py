"""LlamaGen XL, text to image (Sun et al. 2024, arXiv:2406.06525).

Stage 1 draws 256 px (16 x 16 codes), stage 2 512 px (32 x 32). The first 120 slots hold the hidden
states that flan-t5-xl computes from the caption's tokens, padded on the left. The row of the last
caption slot predicts the image's first code. The unconditional row has learned states instead, with
the same padding. The weights are the authors' `t2i_XL_stage1_256.pt`, `t2i_XL_stage2_512.pt` and
`vq_ds16_t2i.pt`. LANTERN's authors have published EAGLE drafters for both stages
(`engine/models/families/lantern_drafter.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedModel
from transformers.models.t5.modeling_t5 import T5Stack

from engine.models.body import BodyModel
from engine.models.context import Prompt
from engine.models.families.lantern_drafter import llamagen_drafter
from engine.models.families.llamagen_weights import (
    GPT_UNUSED,
    TEXT_UNUSED,
    VQ_UNUSED,
    LlamaGenNetwork,
    LlamaGenVQ,
    Rope2D,
    Sizes,
    config,
    gpt_key,
    split_qkv,
    text_key,
    vq_key,
)
from engine.models.supply.card import ModelCard
from engine.models.supply.weights import fill, read_tokenizer, read_weights

__all__ = ["LlamaGenModel", "config"]

END = 1  # T5's </s>


class LlamaGenBody(BodyModel):
    """LlamaGen's models and RandAR: a condition (a caption or a class), then the picture's codes.

    A code stands for 16 x 16 pixels. `network_type` is the Python class of the transformer, which
    LlamaGen's code calls the GPT.
    """

    network_type: type[PreTrainedModel]

    def __init__(
        self,
        card: ModelCard,
        folders: dict[str, Path] | None,
        device: torch.device,
        dtype: torch.dtype,
        *,
        sizes: Sizes | None = None,
    ) -> None:
        """Load the model.

        `folders` has the parts "gpt" and "vq", and any parts that the model's condition needs. If
        `folders` is None, weights are random. `sizes` are by default the published model's. Raises
        ModelError where a file is missing or does not fit.
        """
        sizes = sizes or config(card)
        self.name, self.grid, self.sampling = card.name, card.grid, card.sampling
        self.device, self.dtype = device, dtype
        self.random = folders is None
        self.network = new_network(lambda: self.network_type(sizes.gpt), device, dtype, self.random)
        # The VQ decoder is small, and 16 bits show in flat areas.
        wide = torch.promote_types(dtype, torch.float32)
        self.vq = new_network(lambda: LlamaGenVQ(sizes.vq), device, wide, self.random)
        if folders is not None:
            stored = read_weights(folders["vq"] / card.source_of("vq").files[0])
            fill(self.vq, stored, vq_key, VQ_UNUSED)
            stored = read_weights(folders["gpt"] / card.source_of("gpt").files[0])
            fill(self.network, split_qkv(stored, sizes.gpt), gpt_key, GPT_UNUSED)
        self.body = self.network.model
        self.caption_slots = sizes.gpt.caption_slots
        rope = Rope2D(card.grid, sizes.gpt.head_dim, self.caption_slots, wide)
        self.body.rotary_emb = rope.to(device)
        self.vocab_size = sizes.gpt.vocab_size
        # normalised, as the VQ decoder sees it
        self.codebook = F.normalize(self.vq.quantize.embedding.weight, dim=-1)
        self.forced_ids = torch.full((card.grid[0] * card.grid[1],), -1)
        self.load_condition(sizes, folders)

    def load_condition(self, sizes: Sizes, folders: dict[str, Path] | None) -> None:
        """Load what the condition needs besides the GPT, if anything."""

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.body.embed_tokens(tokens)

    def head(self, hidden: Tensor) -> Tensor:
        return self.network.lm_head(hidden)

    def position_ids(self, slots: Tensor, start: Tensor) -> Tensor:
        """Return the position ids [R, T]: in each of the R guidance rows they are `slots` [T].

        Slots count from the first caption slot, padding included, so `start` is not used. Code i
        therefore has the same position id for a caption of any length.
        """
        return slots.expand(len(start), -1)

    def decode(self, codes: Tensor) -> Tensor:
        return self.vq.decoder(self.vq.post_quant_conv(self.codebook[codes].permute(0, 3, 1, 2)))


class LlamaGenModel(LlamaGenBody):
    """LlamaGen with a caption.

    The sampling is that of the authors' `sample_t2i.py`: guidance 7.5, top-k 1000, temperature 1.
    """

    network_type = LlamaGenNetwork

    def load_condition(self, sizes: Sizes, folders: dict[str, Path] | None) -> None:
        """Load the text encoder from part "text", and a drafter if there is a part "drafter"."""
        # T5 overflows in float16.
        wide = torch.promote_types(self.dtype, torch.float32)
        text_dtype = self.dtype if self.dtype == torch.bfloat16 else wide
        self.text = new_network(lambda: T5Stack(sizes.text), self.device, text_dtype, self.random)
        self.tokenizer = None
        if folders is not None:
            self.tokenizer = _tokenizer(folders["text"], self.caption_slots)
            fill(self.text, read_weights(folders["text"]), text_key, TEXT_UNUSED)
            if "drafter" in folders:
                self.drafter = llamagen_drafter(self, folders["drafter"])

    def tokens(self, text: str) -> list[int]:
        """Return T5's token ids of a prompt, `</s>` included.

        There are at most as many ids as caption slots. The prompt is put in lower case, as in
        LlamaGen's training. With random weights each byte is a token.
        """
        text = " ".join(text.lower().split())
        if self.tokenizer is None:
            return [*text.encode("utf-8", "replace")[: self.caption_slots - 1], END]
        return self.tokenizer.encode(text).ids

    def prompt(self, text: str, guided: bool) -> Prompt:
        ids = torch.tensor([self.tokens(text)], device=self.device)
        # No token attends to padding, so the states are the same without it.
        states = self.text(input_ids=ids).last_hidden_state.to(self.dtype)
        padding = self.caption_slots - ids.shape[1]
        rows = F.pad(states, (0, 0, padding, 0))
        if guided:
            rows = torch.cat([rows, self.network.unconditional[None]])
        return Prompt(self.network.caption(rows), (padding,) * len(rows))


def new_network(
    make: Callable[[], PreTrainedModel], device: torch.device, dtype: torch.dtype, random: bool
) -> PreTrainedModel:
    """Return the network that `make` makes, frozen, on `device` and in `dtype`.

    Its weights are random if `random`; else they are uninitialised, which takes no time.
    """
    with device if random else torch.device("meta"):
        network = make().to(dtype)
    return (network if random else network.to_empty(device=device)).eval().requires_grad_(False)


def _tokenizer(folder: Path, limit: int) -> Tokenizer:
    """Read T5's tokenizer, and let it truncate at `limit` tokens.

    Raises ModelError where the file is missing or broken.
    """
    tokenizer = read_tokenizer(folder)
    tokenizer.enable_truncation(limit)
    return tokenizer
