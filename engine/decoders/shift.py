"""The exact distribution p' that a rule commits where it tests a draft, and its distance from p.

A draft x ~ q is accepted with probability a(x) and replaced by a sample of r(. | x), so p'(y) =
q(y) a(y) + sum_x q(x) (1 - a(x)) r(y | x). The sum runs over all of q's support, so there is no
sampling noise and nothing is left out. The shift is TV(p', p). It belongs to one test on the lane's
own prefix, not to whole images.

Shapes: H drafts, V codes. p and q are normalised in float64, as when they are sampled.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.models.base import ImageModel, host_count
from engine.settings import Sampling


def most_true(where: Tensor, model: ImageModel, bound: int) -> tuple[int, Tensor]:
    """Return a limit on the number of true values in a row of `where` [T, N], at least 1.

    Also returns which rows have more true values than the limit (bool [T, 1]). With dynamic shapes
    the limit is the maximum over the rows, so no row has more. With static shapes the limit cannot
    depend on `where`: it is the smaller of `bound` and N.
    """
    held = where.sum(-1, keepdim=True)
    largest = torch.cat([held.flatten(), held.new_ones(1)]).max()
    most = host_count(model, largest, min(where.shape[-1], bound))
    return most, held > most


def most_tokens(where: Tensor, model: ImageModel, sampling: Sampling) -> tuple[int, Tensor]:
    """Return `most_true` of `where` [T, V], which is True only for tokens with a probability > 0.

    With static shapes the bound is twice top-k, because top-k keeps ties. Without top-k it is V.
    """
    return most_true(where, model, 2 * sampling.top_k or where.shape[-1])


def committed_by_residual(p: Tensor, q: Tensor, acceptance: Tensor) -> Tensor:
    """Return p' [H, V] of a rule that replaces a rejected draft by a sample of the residual.

    `acceptance` [H, V] has the probability with which each token would be accepted as a draft. The
    inputs are in float64.
    """
    accepted = q * acceptance
    excess = (p - q).clamp_min(0)
    total = excess.sum(-1, keepdim=True)
    residual = torch.where(total > 0, excess / total, p)
    return accepted + (1 - accepted.sum(-1, keepdim=True)) * residual
