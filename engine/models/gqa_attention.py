"""Grouped-query attention with an explicit mask, without copies of the keys and values.

Given a mask, transformers' "sdpa" repeats keys and values for every query head, in every layer of
every pass, and torch's `enable_gqa` has no fast kernel. Here the heads that share a key are
concatenated on the query axis: G heads of L rows become G * L rows of one head, the mask's rows
repeated G times. The sums are the same, and only queries are copied.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

NAME = "gqa_attention"  # the `attn_implementation` of a body that uses it


def gqa_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **kwargs: object,
) -> tuple[Tensor, None]:
    """Queries [R, H, L, D], keys and values [R, H / G, T, D], additive mask [R, 1, L, T]; returns
    [R, L, H, D].

    Raises ValueError without a mask, which could mean a causal one or none."""
    if attention_mask is None:
        raise ValueError("gqa_attention needs the 4D mask")
    rows, heads, length, dim = query.shape
    groups = key.shape[1]
    folded = query.reshape(rows, groups, heads // groups * length, dim)
    mask = attention_mask.repeat(1, 1, heads // groups, 1)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        folded, key, value, attn_mask=mask, scale=scaling
    )
    return mixed.reshape(rows, heads, length, dim).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, gqa_attention)
