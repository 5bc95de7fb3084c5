"""What a rule commits where it tests a draft, exactly: p', and its distance from p, the shift.

A draft x ~ q is accepted with probability a(x) and replaced by a sample of r(. | x), so
p'(y) = q(y) a(y) + sum_x q(x) (1 - a(x)) r(y | x), over every x of q's support: no sampling noise
and nothing left out. The shift is of one test on the lane's own prefix, not of whole images.

Shapes: H drafts, V codes. p and q are normalised in float64, as a sample of them is drawn.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.models.base import ImageModel, host_count
from engine.settings import Sampling


def most_true(where: Tensor, model: ImageModel, bound: int) -> tuple[int, Tensor]:
    """How many of bool `where` [T, N] are true in a row at most, at least 1, and bool [T, 1], in
    which rows more are: none of them, without static shapes. With them the number cannot follow
    `where`: it is `bound`, or N."""
    held = where.sum(-1, keepdim=True)
    largest = torch.cat([held.flatten(), held.new_ones(1)]).max()
    most = host_count(model, largest, min(where.shape[-1], bound))
    return most, held > most


def most_tokens(where: Tensor, model: ImageModel, sampling: Sampling) -> tuple[int, Tensor]:
    """`most_true` of tokens that have a probability, [T, V]: no more than top-k, which keeps ties;
    twice as many are allowed for."""
    return most_true(where, model, 2 * sampling.top_k or where.shape[-1])


def committed_by_residual(p: Tensor, q: Tensor, acceptance: Tensor) -> Tensor:
    """p' [H, V] of a rule that replaces every rejected draft by a sample of R(p, q); `acceptance`
    [H, V] of each token as a draft. Inputs in float64."""
    accepted = q * acceptance
    left = (p - q).clamp_min(0)
    total = left.sum(-1, keepdim=True)
    residual = torch.where(total > 0, left / total, p)
    return accepted + (1 - accepted.sum(-1, keepdim=True)) * residual
