"""Encodes a visitor's own picture, with the encoder of a model's image tokenizer.

Races need no encoder, so no loaded model keeps one. When a visitor gives a picture, the encoder is
read from the model's files, runs on the CPU, and is freed again; this takes seconds. Two models
have no encoder here. Emu3's encoder is made for video: it takes every picture four times, which
needs minutes and much memory. SimpleAR's encoder would be one more TorchScript file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import JanusVQVAE, JanusVQVAEConfig
from transformers.models.chameleon.modeling_chameleon import ChameleonVQVAE

from engine.models.embedded.networks import EmbeddedVQ, read_network
from engine.models.families import chameleon, janus, llamagen
from engine.models.families.llamagen_weights import vq_key
from engine.models.supply.card import WEIGHTS, ModelCard
from engine.models.supply.weights import fill, read_weights

# Reads an encoder from the folders of a model's parts. The encoder turns pixels [B, 3, H, W] in
# -1 .. 1 into codes [B, h, w].
Reader = Callable[[ModelCard, Mapping[str, Path]], Callable[[Tensor], Tensor]]


@torch.inference_mode()
def encode(card: ModelCard, folders: Mapping[str, Path], picture: np.ndarray) -> list[int]:
    """Return the codes of a picture, row by row.

    `picture` is uint8 [H, W, 3] and has the size that `size(card)` gives. `folders` has the parts
    that `parts(card)` names. Raises ModelError where their files are missing or do not fit.
    """
    pixels = torch.from_numpy(picture).movedim(-1, 0)[None] / 127.5 - 1
    return _READERS[card.family](card, folders)(pixels).flatten().tolist()


def parts(card: ModelCard) -> tuple[str, ...] | None:
    """Return the parts from which a model's encoder is read; None if it has no encoder here."""
    return _PARTS.get(card.family)


def size(card: ModelCard) -> tuple[int, int]:
    """Return the width and height of a model's pictures, in pixels."""
    side = 8 if card.family == "embedded" else 16
    return card.grid[1] * side, card.grid[0] * side


def _embedded(card: ModelCard, folders: Mapping[str, Path]) -> Callable[[Tensor], Tensor]:
    return read_network(EmbeddedVQ, WEIGHTS / "vq", torch.float32).encode


def _janus(card: ModelCard, folders: Mapping[str, Path]) -> Callable[[Tensor], Tensor]:
    prefix, state = "model.vqmodel.", read_weights(folders["model"])
    own = {key.removeprefix(prefix): state[key] for key in state if key.startswith(prefix)}
    return _normalised(janus.read_config(folders["model"]).vq_config, own)


def _llamagen(card: ModelCard, folders: Mapping[str, Path]) -> Callable[[Tensor], Tensor]:
    stored = read_weights(folders["vq"] / card.source_of("vq").files[0])
    return _normalised(
        llamagen.config(card).vq, {vq_key(key): tensor for key, tensor in stored.items()}
    )


def _normalised(config: JanusVQVAEConfig, state: dict[str, Tensor]) -> Callable[[Tensor], Tensor]:
    """Return the encoder of Janus or LlamaGen, which takes the code nearest in direction.

    JanusVQVAE.encode does not normalise the vectors before it compares them. The published code and
    JanusVQVAE's own decoder normalise them.
    """
    with torch.device("meta"):
        vq = JanusVQVAE(config)
    del vq.decoder, vq.post_quant_conv
    fill(vq, state, drop=("decoder.", "post_quant_conv.", "quantize.codebook_used"))
    vq.float().eval()

    def encoded(pixels: Tensor) -> Tensor:
        vectors = F.normalize(vq.quant_conv(vq.encoder(pixels)), dim=1)
        book = F.normalize(vq.quantize.embedding.weight, dim=-1)
        return torch.einsum("bdhw,vd->bhwv", vectors, book).argmax(-1)

    return encoded


def _chameleon(card: ModelCard, folders: Mapping[str, Path]) -> Callable[[Tensor], Tensor]:
    """Return Chameleon's encoder, with the codes numbered in the order of the image tokens."""
    settings = chameleon.read_config(folders["model"])
    with torch.device("meta"):
        vq = ChameleonVQVAE(settings.vq_config)
    del vq.post_quant_conv
    prefix = "model.vqmodel."
    state = {
        key.removeprefix(prefix): tensor for key, tensor in read_weights(folders["vq"]).items()
    }
    fill(vq, state, drop=("decoder.", "post_quant_conv."))
    vq.float().eval()
    token_of = torch.tensor(chameleon.codes_in_order(settings)).argsort()
    return lambda pixels: token_of[vq.encode(pixels).image_tokens]


_READERS: dict[str, Reader] = {
    "embedded": _embedded,
    "janus": _janus,
    "llamagen": _llamagen,
    "llamagen_class": _llamagen,
    "randar": _llamagen,
    "chameleon": _chameleon,
}
_PARTS = {
    "embedded": (),
    "janus": ("model",),
    "llamagen": ("vq",),
    "llamagen_class": ("vq",),
    "randar": ("vq",),
    "chameleon": ("model", "vq"),
}
