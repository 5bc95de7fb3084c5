"""Estimates, without a public model's weights, how long its passes take on this processor."""

from __future__ import annotations

import functools
import math
import time

import torch
from transformers import LlamaConfig, LlamaModel

from engine.decoders.rows import ParallelRows
from engine.models.base import MAX_ROWS
from engine.models.cache import WindowCache
from engine.models.lean import LeanBody
from engine.models.supply.card import ModelCard
from engine.race.request import Lane

_MOST = 2**26  # weights that are timed: more than a processor's cache holds
_WIDEST = 2048  # width of timed layers at most: wider ones take as long for each weight
_TIMING = 0.5  # seconds
_HEAD = 64  # channels of a head of attention


def pass_seconds(card: ModelCard, dtype: torch.dtype, rows: int) -> float:
    """Return the seconds of a pass over a window of `rows` tokens, half way through a picture.

    The pass includes the rows of guidance. A few layers are timed, and their seconds per weight are
    multiplied by the weights of all layers and the head. The timed layers are as wide as the
    model's, up to a limit. Sampling and the decoder's own work are left out.
    """
    width = _HEAD * round(math.sqrt(card.layers / card.depth / 12) / _HEAD)
    timed = _seconds_a_weight(
        dtype, min(width, _WIDEST), card.inputs * rows, card.inputs * card.length // 2
    )
    return (card.layers + card.codes * width) * timed


def lane_seconds(card: ModelCard, dtype: torch.dtype, lane: Lane) -> float:
    """Return the seconds that a lane takes if each of its passes commits one token.

    For vanilla AR this is the whole time; for other lanes it is an upper bound.
    """
    rows = getattr(lane.settings, "window", 1)
    if lane.decoder == ParallelRows.name:  # a pass reads windows in several rows of the picture
        rows *= min(card.grid[0], MAX_ROWS // rows)
    return card.length * pass_seconds(card, dtype, rows)


@functools.cache
def _seconds_a_weight(dtype: torch.dtype, width: int, rows: int, before: int) -> float:
    """Return the seconds that a pass takes for each weight, in layers as wide as `width`.

    The pass reads `rows` tokens in each of two guidance rows, with `before` slots of the cache
    already in use. A layer's attention has 4 matrices of width x width; the rest of the layer has
    as many weights as 8 such matrices.
    """
    weights = 12 * width**2
    config = LlamaConfig(
        vocab_size=1,
        hidden_size=width,
        intermediate_size=8 * width // 3,
        num_hidden_layers=max(1, _MOST // weights),
        num_attention_heads=width // _HEAD,
        bos_token_id=None,
        eos_token_id=None,
    )
    with torch.device("meta"):
        model = LlamaModel(config).to(dtype)
    model.to_empty(device="cpu")
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.detach().fill_(1 / width)
    body = LeanBody(model.layers, model.norm, model.rotary_emb)
    heads, device = config.num_attention_heads, torch.device("cpu")
    layers: int = config.num_hidden_layers
    cache = WindowCache(layers, 2, heads, before + rows, _HEAD, dtype, device)
    cache.open(before)
    cache.keep(range(before))
    inputs = torch.full((2, rows, width), 1 / width, dtype=dtype)
    ids = torch.arange(before, before + rows).expand(2, -1)
    seconds: list[float] = []
    # The first pass prepares the kernels. Take the minimum: other programs can only add time.
    while len(seconds) < 3 or (sum(seconds) < _TIMING and len(seconds) < 20):
        cache.open(rows)
        begin = time.perf_counter()
        body(inputs, None, ids, cache)
        seconds.append(time.perf_counter() - begin)
    return min(seconds) / (layers * weights)
