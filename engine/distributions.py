"""Distributions: from logits to the p and q that every rule works with, and operations on them.

One path for target and draft alike: guidance (mixed in by the model), temperature, top-k, top-p,
softmax, float32. At a forced position the distribution is one-hot on index 0, and the window loop
puts the forced id in its place when it feeds or records the token, so no rule treats it apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.settings import Sampling


def logits_to_probs(logits: Tensor, sampling: Sampling, forced: Tensor) -> Tensor:
    """Logits [L, V] to distributions [L, V], float32; `forced` bool [L]. Top-k keeps ties, so its
    support can exceed k."""
    logits = logits.float() / sampling.temperature
    if 0 < sampling.top_k < logits.shape[-1]:
        least = logits.topk(sampling.top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    p = torch.softmax(logits, -1)
    if sampling.top_p < 1:
        ranked, order = p.sort(-1, descending=True)
        # A token stays if those likelier than it do not yet hold top_p; the likeliest always stays.
        outside = ranked.cumsum(-1) - ranked >= sampling.top_p
        p = p.masked_fill(outside.scatter(-1, order, outside), 0)
        p = p / p.sum(-1, keepdim=True)
    return torch.where(
        forced[:, None], one_hot(torch.zeros_like(p[:, 0], dtype=torch.long), p.shape[-1]), p
    )


def one_hot(tokens: Tensor, codes: int) -> Tensor:
    """One-hot distributions [..., V] on tokens [...]."""
    return torch.zeros(*tokens.shape, codes, device=tokens.device).scatter_(
        -1, tokens[..., None], 1.0
    )


def sample(p: Tensor, u: Tensor) -> Tensor:
    """Samples distributions [..., V], which need not be normalised, by inverting their cumulative
    sum at u [...] in (0, 1)."""
    cumulative = p.cumsum(-1)
    found = torch.searchsorted(cumulative, (u * cumulative[..., -1])[..., None])[..., 0]
    return found.clamp_max(p.shape[-1] - 1)


def residual(p: Tensor, q: Tensor) -> Tensor:
    """R(p, q) = norm(max(p - q, 0)), not normalised (`sample` does not need it); p itself where
    rounding leaves nothing."""
    left = (p - q).clamp_min(0)
    return torch.where(left.sum(-1, keepdim=True) > 0, left, p)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """1/2 sum |p - q| over the last axis."""
    return 0.5 * (p - q).abs().sum(-1)


def gather(p: Tensor, tokens: Tensor) -> Tensor:
    """p[..., tokens[...]]."""
    return p.gather(-1, tokens[..., None])[..., 0]
