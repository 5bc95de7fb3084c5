"""Adapts saved weights to another canvas or other names, for the stages' `--warm`.

Each slot's embedding belongs to the image token that the slot predicts, so the table of slots
is interpolated like a picture of the canvas. A caption token keeps its embedding if the new
tokenizer has a token of the same text.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor
from transformers import LlamaConfig, PreTrainedModel

from engine.models.embedded.infill import EmbeddedInfill
from engine.models.embedded.networks import CODES, EmbeddedTarget
from engine.reader.scene import SIDE
from train.captions import PAD, build, knows_names


def save_half(network: PreTrainedModel, folder: Path) -> None:
    """Save a network in `folder` as float16 safetensors files, each under 10 MB."""
    network.save_pretrained(
        folder,
        state_dict={k: v.half() for k, v in network.state_dict().items()},
        max_shard_size="9MB",
    )


def resized(table: Tensor, side: int) -> Tensor:
    """Interpolate the table [n * n, D] of a canvas of n x n tokens for one of side x side.

    The rows are in raster order. The interpolation is bilinear, and corner tokens keep their
    rows.
    """
    old = int(len(table) ** 0.5)
    if old == side:
        return table
    grid = table.float().T.unflatten(1, (old, old))[None]
    new_grid = F.interpolate(grid, size=(side, side), mode="bilinear", align_corners=True)
    return new_grid[0].flatten(1).T.to(table.dtype)


def resized_slots(slots: Tensor, caption_slots: int, side: int) -> Tensor:
    """Return a target's table `slots`, resized for a canvas of side x side tokens.

    `slots` has a row for each slot of the target: first `caption_slots` slots of the caption, then
    the begin-of-image slot, then a slot for each image token. Only the rows of slots that predict
    an image token are interpolated: from the begin-of-image slot to the last slot but one.
    """
    image = resized(slots[caption_slots:-1], side)
    return torch.cat([slots[:caption_slots], image, slots[-1:]])


def carried(embeddings: Tensor, old: Tokenizer, new: Tokenizer) -> Tensor:
    """Carry caption embeddings [old vocabulary, D] over to the vocabulary of `new`.

    A token that is in `old` too keeps its embedding. Any other token gets the mean embedding of
    its words, as far as they are single tokens in `old`. If no word is a single token there, the
    new token gets noise with the standard deviation of the embeddings.
    """
    shape = new.get_vocab_size(), embeddings.shape[1]
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    new_embeddings = noise.to(embeddings) * embeddings.std()
    had = old.get_vocab()
    for token, index in new.get_vocab().items():
        words = [[i for i in old.encode(word).ids if i != PAD] for word in token.split()]
        if token in had:
            new_embeddings[index] = embeddings[had[token]]
        elif known := [ids[0] for ids in words if len(ids) == 1]:
            new_embeddings[index] = embeddings[known].mean(0)
    return new_embeddings


@torch.no_grad()
def adapted(
    saved: EmbeddedTarget, old: Tokenizer, new: Tokenizer, side: int = SIDE, codes: int = CODES
) -> EmbeddedTarget:
    """Return a saved target, with or without infilling, for another tokenizer and canvas.

    The new canvas is side x side with `codes` codes; new codes begin as copies of the old
    codes, in order.
    """
    config = LlamaConfig.from_dict(
        saved.config.to_dict()
        | {"caption_vocab": new.get_vocab_size(), "image_tokens": side * side, "vocab_size": codes}
    )
    state = saved.state_dict()
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        state[name] = state[name][torch.arange(codes) % saved.config.vocab_size]
    state["captions.weight"] = carried(state["captions.weight"], old, new)
    state["slots.weight"] = resized_slots(state["slots.weight"], config.caption_slots, side)
    if "next.weight" in state:
        state["next.weight"] = resized(state["next.weight"], side)
    network = type(saved)(config)
    network.load_state_dict(state)
    return network


def adapt(weights: Path) -> None:
    """Adapt saved weights to the current names, canvas and number of codes.

    This adapts the target, the infilling weights and the captions' tokenizer. Nothing changes
    if they fit already.
    """
    file = weights / "captions/tokenizer.json"
    old = Tokenizer.from_file(str(file))
    new = old if knows_names(old) else build()
    kinds: dict[str, type[EmbeddedTarget]] = {"target": EmbeddedTarget, "infill": EmbeddedInfill}
    networks = {}
    for part, kind in kinds.items():
        if (weights / part / "config.json").exists():
            network = kind.from_pretrained(weights / part, dtype=torch.float32)
            sizes = network.config.image_tokens, network.config.vocab_size
            if new is not old or sizes != (SIDE * SIDE, CODES):
                networks[part] = adapted(network, old, new)
    for part, network in networks.items():
        for stale in (weights / part).glob("model*"):
            stale.unlink()
        save_half(network, weights / part)
    if new is not old:
        new.save(str(file.with_suffix(".tmp")))
        os.replace(file.with_suffix(".tmp"), file)
