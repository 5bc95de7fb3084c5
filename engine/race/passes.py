"""What a pass of a public model takes on this machine's processor, before any weight is read."""

from __future__ import annotations

import functools
import time

import torch

from engine.decoders.rows import ParallelRows
from engine.models.base import MAX_ROWS
from engine.models.supply.card import ModelCard
from engine.race.request import Lane

_WEIGHT = (2**15, 2**11)  # larger than any cache, as a model's weights are


def pass_seconds(card: ModelCard, dtype: torch.dtype, rows: int) -> float:
    """Seconds of a pass over a window of `rows` tokens, guided and not: the time of one matrix
    product with so many rows, scaled to the weights of the layers. Attention, sampling and the
    decoder's own work are left out."""
    return card.layers * _seconds_a_weight(dtype, 2 * card.inputs * rows)


def lane_seconds(card: ModelCard, dtype: torch.dtype, lane: Lane) -> float:
    """Seconds that a lane takes if each of its passes commits one token: all that vanilla AR's
    take, and the most that another lane's can."""
    rows = getattr(lane.settings, "window", 1)
    if lane.decoder == ParallelRows.name:  # a window in each of as many rows of the picture
        rows *= min(card.grid[0], MAX_ROWS // rows)
    return card.length * pass_seconds(card, dtype, rows)


@functools.cache
def _seconds_a_weight(dtype: torch.dtype, rows: int) -> float:
    weight = torch.ones(_WEIGHT, dtype=dtype)
    x = torch.ones(rows, _WEIGHT[1], dtype=dtype)
    seconds = []
    for _ in range(3):  # the first prepares the kernel
        begin = time.perf_counter()
        torch.nn.functional.linear(x, weight)
        seconds.append(time.perf_counter() - begin)
    return min(seconds) / weight.numel()
