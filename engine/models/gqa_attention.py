"""Grouped-query attention under a mask of our own, without copies of the keys and values.

With a mask transformers' own "sdpa" repeats keys and values for every query head, in every layer of
every pass; torch's `enable_gqa` has no fast kernel that takes a mask. Here the heads that share a
key stand one after another on the query axis instead: G heads of L rows become G * L rows of one
head, the mask's rows G times over. The same sums, and only queries move.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

NAME = "fold_gqa"  # the `attn_implementation` of a body that uses it


def fold_gqa(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **kwargs: object,
) -> tuple[Tensor, None]:
    """Queries [R, H, L, D] over keys and values [R, H / G, T, D] under an additive mask [R, 1, L,
    T]; returns [R, L, H, D].

    Raises ValueError without a mask, which could mean a causal one or none."""
    if attention_mask is None:
        raise ValueError("fold_gqa needs the 4D mask that says which row sees which")
    rows, heads, length, dim = query.shape
    groups = key.shape[1]
    folded = query.reshape(rows, groups, heads // groups * length, dim)
    mask = attention_mask.repeat(1, 1, heads // groups, 1)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        folded, key, value, attn_mask=mask, scale=scaling
    )
    return mixed.reshape(rows, heads, length, dim).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, fold_gqa)
