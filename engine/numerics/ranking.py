"""Rank keys: integers in the order of a stable sort, so that a `topk` can replace the sort."""

from __future__ import annotations

import torch
from torch import Tensor

BITS = 20  # bits of an index in a key
NO_RANK = 1 << 62  # beyond all keys; its index is 0


def rank_keys(values: Tensor) -> Tensor:
    """Return int64 keys of values [.., V] that order each row as a stable sort does.

    The order is by value in float32, and by index for equal values, so that no two keys of a row
    are equal. Values must not be negative, and V is at most 2^20.
    """
    # Bits of floats that are not negative are in the floats' own order.
    order = values.float().contiguous().view(torch.int32).long()
    index = torch.arange(values.shape[-1], device=values.device)
    return (order << BITS) | index


def ranked_index(keys: Tensor) -> Tensor:
    """Return the index that each of the `rank_keys` contains."""
    return keys & ((1 << BITS) - 1)
