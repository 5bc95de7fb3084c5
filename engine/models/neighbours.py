"""The codes nearest to each code, by L2 distance in the codebook; ties go to the smaller number."""

from __future__ import annotations

from collections.abc import MutableMapping

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from engine.numerics.ranking import rank_keys, ranked_index

CODES_AT_ONCE = 256  # codes whose distances to all others are in memory at once
# The widest table computed so far for each codebook.
_tables: MutableMapping[Tensor, Tensor] = WeakTensorKeyDictionary()


def neighbours(codebook: Tensor, k: int) -> Tensor:
    """Return the `k` - 1 other codes nearest to each code of a codebook [V, D], int32 [V, k - 1].

    The order is that of `nearest_codes`. The result is kept for the next call with the same
    codebook.
    """
    table = _tables.get(codebook)
    if table is None or table.shape[1] < k - 1:
        book = codebook.float()
        blocks = torch.split(torch.arange(len(book), device=book.device), CODES_AT_ONCE)
        table = torch.cat([nearest_codes(book, block, k).int() for block in blocks])
        _tables[codebook] = table
    return table[:, : k - 1]


def nearest_codes(codebook: Tensor, x: Tensor, k: int) -> Tensor:
    """Return the `k` - 1 other codes nearest to each code in `x` [H], nearest first [H, k - 1].

    `k` is at most V, the number of codes in the codebook [V, D].
    """
    # No matrix products: their rounding depends on how many codes are computed together, and would
    # change the order of near ties.
    distance = torch.cdist(codebook[x], codebook, compute_mode="donot_use_mm_for_euclid_dist")
    distance.scatter_(-1, x[:, None], torch.inf)
    return ranked_index(rank_keys(distance).topk(k - 1, largest=False).values)
