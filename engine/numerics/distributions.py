"""Distributions p and q: their computation from logits, and what the rules do with them.

Target and drafter logits take the same path in float32: guidance (which the model mixes in),
temperature, top-k, top-p, softmax. At a forced position the distribution is one-hot on index 0. The
window loop replaces index 0 by the forced id when it feeds or records the token. So no rule treats
forced positions apart.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.numerics.ranking import NO_RANK, rank_keys
from engine.settings import Sampling

log = logging.getLogger(__name__)
_TRIED = 1000, 65536  # numbers of tokens with which kernels are compared
_CLOSE = 1e-6
_BLOCK = 128  # tokens of one block of a sample's cumulative sum
_SUPPORTS_AT_ONCE = 64  # positions


def logits_to_probs(logits: Tensor, sampling: Sampling, forced: Tensor | None) -> Tensor:
    """Turn the logits of L positions [L, V] into distributions over the V codes [L, V].

    `forced` (bool [L]) marks forced positions; None if no position is forced. The result is
    float32, or float64 for logits in float64. Top-k and top-p keep ties: a token that is as likely
    as the least likely kept one stays too, so the result does not depend on the order of a sort.
    A row of the result is NaN if its logits have NaN or +inf, or are all -inf; the recorder ends
    the lane then (`StepRecorder.step`).
    """
    p = _unforced(logits, sampling)
    if forced is None:
        return p
    return torch.where(
        forced[:, None], one_hot(torch.zeros_like(p[:, 0], dtype=torch.long), p.shape[-1]), p
    )


def _unforced(logits: Tensor, sampling: Sampling) -> Tensor:
    top_k = sampling.top_k if sampling.top_k < logits.shape[-1] else 0
    kernels = rule_kernels(logits.device)
    if kernels and logits.dtype != torch.float64 and sampling.top_p == 1:
        return kernels.probs(logits, sampling.temperature, top_k)
    if logits.dtype != torch.float64:
        logits = logits.float()
    if sampling.temperature != 1:
        logits = logits / sampling.temperature
    if top_k:
        logits = torch.ops.photo_finish.likeliest_logits(logits, top_k)
    p = torch.softmax(logits, -1)
    if sampling.top_p < 1:
        ranked = p.sort(-1, descending=True).values
        # A token stays if the likelier tokens hold less than top_p; the likeliest always stays.
        outside = ranked.cumsum(-1, dtype=torch.float64) - ranked >= sampling.top_p
        least = ranked.masked_fill(outside, torch.inf).amin(-1, keepdim=True)
        p = p.masked_fill(p < least, 0)
    # A float32 softmax is off by up to 1e-6 in total; the p and q of a test would differ by as
    # much.
    return p / p.sum(-1, keepdim=True, dtype=torch.float64).to(p.dtype)


# An operation of torch's, so that whoever records the operations of a step sees it.
_LIBRARY = torch.library.Library("photo_finish", "DEF")  # type: ignore[no-untyped-call]
_LIBRARY.define(  # type: ignore[no-untyped-call]
    "likeliest_logits(Tensor logits, int top_k) -> Tensor"
)


@torch.library.impl(_LIBRARY, "likeliest_logits", "CompositeExplicitAutograd")
def _likeliest_logits(logits: Tensor, top_k: int) -> Tensor:
    """Return the `top_k` largest logits of each row [..., V], and those tied with the least.

    All other logits are -inf.
    """
    least = logits.topk(top_k, dim=-1, sorted=False).values.amin(-1, keepdim=True)
    return logits.masked_fill(logits < least, -torch.inf)


@torch.library.impl(_LIBRARY, "likeliest_logits", "CPU")
def _likeliest_on_cpu(logits: Tensor, top_k: int) -> Tensor:
    """Do the same on a CPU, where each row may come out shifted by a number.

    A partition takes half the time of `topk`, and a threshold a fifth of a mask's.
    """
    at = logits.shape[-1] - top_k
    least = np.partition(logits.numpy(), at)[..., at : at + 1]
    if not np.isfinite(least).all():
        return _likeliest_logits(logits, top_k)
    above = logits - torch.from_numpy(least)
    return F.threshold(above, -torch.finfo(logits.dtype).tiny, -torch.inf)


def one_hot(tokens: Tensor, codes: int) -> Tensor:
    """Return one-hot distributions [..., V] on tokens [...]."""
    return torch.zeros(*tokens.shape, codes, device=tokens.device).scatter_(
        -1, tokens[..., None], 1.0
    )


def sample(p: Tensor, u: Tensor) -> Tensor:
    """Sample distributions [..., V] by inverting their cumulative sum.

    u [...] are float64 numbers in (0, 1). The distributions need not be normalised. A token of
    probability 0 is never drawn; where all of p is 0 the token means nothing.

    The search has two levels, both in float64: first a block of tokens, then a token in it. A
    cumulative sum in float32 would be off by a total variation of 1e-3 at 65,536 tokens, and would
    not be reproducible on CUDA.
    """
    if kernels := _kernels(p):
        return kernels.sample(p, u)
    codes = p.shape[-1]
    padded = F.pad(p, (0, -codes % _BLOCK)) if codes % _BLOCK else p
    blocks = padded.view(*padded.shape[:-1], -1, _BLOCK)
    mass = blocks.sum(-1, dtype=torch.float64)
    until = mass.cumsum(-1)
    target = u[..., None] * until[..., -1:]
    block = _invert(until, target)
    inside = blocks.gather(-2, block[..., None].expand(*block.shape, _BLOCK))[..., 0, :]
    before = until.gather(-1, block) - mass.gather(-1, block)
    # Rounding can put the target before its block, where a token of probability 0 may stand.
    token = _invert(inside.cumsum(-1, dtype=torch.float64), (target - before).clamp_min(0))
    return (block * _BLOCK + token)[..., 0].clamp_max(codes - 1)


def _invert(cumulative: Tensor, target: Tensor) -> Tensor:
    """Return the index [..., 1] of the first sum in `cumulative` [..., V] above `target` [..., 1].

    If rounding puts the target at the total or beyond, return the last index that adds to the sum.
    """
    below_total = cumulative[..., -1:] * (1 - 2**-52)
    index = torch.searchsorted(cumulative, target.minimum(below_total), right=True)
    return index.clamp_max(cumulative.shape[-1] - 1)


def residual(p: Tensor, q: Tensor) -> Tensor:
    """Return the residual R(p, q) before normalisation: max(p - q, 0).

    `sample` needs no normalised distribution. Where rounding leaves only zeros, return p itself.
    """
    if kernels := _kernels(p):
        return kernels.residual(p, q)
    excess = (p - q).clamp_min(0)
    return torch.where(excess.sum(-1, keepdim=True) > 0, excess, p)


def in_turn(p: Tensor, q: Tensor, tokens: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
    """Subtract the K distributions q [K, V] from p [V] one after another.

    Each subtraction replaces p by its normalised residual R(p, q). p stays the same if the
    subtraction leaves nothing, or where `exists` (bool [K]) is False. Returns the probability of
    each token [K] in p just before the token's own q is subtracted, and the last p [V].
    """
    if kernels := _kernels(p):
        return kernels.in_turn(p, q, tokens, exists)
    masses = []
    for token, distribution in zip(torch.split(tokens, 1), q * exists[:, None], strict=True):
        masses.append(p.gather(0, token))
        rest = (p - distribution).clamp_min_(0)
        mass = rest.sum(dtype=torch.float64)
        p = torch.where(mass > 0, rest / mass, p)
    return torch.cat(masses), p


def likeliest(p: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return each distribution's `count` largest probabilities, largest first, and their tokens.

    p [H, V] has H distributions; both results are [H, count]. Tokens of equal probability may come
    in any order.
    """
    if kernels := _kernels(p):
        return kernels.likeliest(p, count)
    shares, tokens = p.topk(count)
    return shares, tokens


def ranks_around(p: Tensor, tokens: Tensor, below: int, above: int) -> Tensor:
    """Return the rank keys around one token of each of H distributions.

    p [H, V] has the distributions, and `tokens` [H] the tokens. Rank keys order all tokens from the
    least to the most probable (`rank_keys`). The result is [H, below + above], and each row is in
    ascending order: first the `below` keys just under the token's own key, then `above` keys from
    the own key on. Where there are too few tokens, a row begins with -NO_RANK or ends with NO_RANK.
    """
    if kernels := _kernels(p):
        return kernels.ranks_around(p, tokens, below, above)
    keys = rank_keys(p)
    own = keys.gather(-1, tokens[:, None])
    before = torch.where(keys < own, keys, -NO_RANK).topk(below).values.flip(-1)
    behind = torch.where(keys < own, NO_RANK, keys).topk(above, largest=False).values
    return torch.cat([before, behind], -1)


def _kernels(p: Tensor) -> RuleKernels | None:
    return rule_kernels(p.device) if p.dtype == torch.float32 else None


def normalise(p: Tensor) -> Tensor:
    """Return p [..., V] divided by its sum; all zeros stay zeros.

    The sum has no floor: a floor would make a distribution of extreme logits sum to less than one.
    """
    if kernels := _kernels(p):
        return kernels.normalise(p)
    total = p.sum(-1, keepdim=True, dtype=torch.float64)
    return torch.where(total > 0, p / total, 0).to(p.dtype)


def exact(p: Tensor) -> Tensor:
    """Return p [..., V] normalised in float64: the probabilities with which `sample` draws."""
    wide = p.double()
    return wide / wide.sum(-1, keepdim=True)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Return 1/2 sum |p - q| over the last axis."""
    return 0.5 * (p - q).abs().sum(-1)


def gather(p: Tensor, tokens: Tensor) -> Tensor:
    """Return the probability in p [..., V] of each of the tokens [...]."""
    return p.gather(-1, tokens[..., None])[..., 0]


@dataclass(frozen=True, slots=True)
class Support:
    """Distributions of N positions on the host, without the tokens of probability 0.

    `tokens` [N, k] are the tokens of probability above 0, and `shares` [N, k] their probabilities.
    k is the largest number of such tokens at one position. Other rows are padded with shares of 0.
    The distributions of a large picture take a gigabyte with all tokens, and a tenth of that with
    top-k.
    """

    tokens: Tensor
    shares: Tensor

    @classmethod
    def of(cls, q: Tensor) -> Support:
        """Return the support of q [N, V]. Waits for the device."""
        shares, tokens = q.topk(int((q > 0).sum(-1).max()))
        return cls(tokens.int().cpu(), shares.cpu())

    @classmethod
    def join(cls, parts: Sequence[Support]) -> Support:
        widest = max(part.tokens.shape[1] for part in parts)

        def joined(rows: Sequence[Tensor]) -> Tensor:
            return torch.cat([F.pad(row, (0, widest - row.shape[1])) for row in rows])

        return cls(joined([p.tokens for p in parts]), joined([p.shares for p in parts]))

    def rows(self, positions: Tensor, p: Tensor) -> Tensor:
        """Return the distributions at positions [n], with the shape and device of p [n, V]."""
        here = positions.cpu()
        tokens, shares = self.tokens[here].long().to(p.device), self.shares[here].to(p.device)
        return torch.zeros_like(p, dtype=shares.dtype).scatter_add_(-1, tokens, shares)


class Sampled:
    """Distributions of successive positions, kept as Supports.

    Positions wait until there are at least 64 of them and are then compressed together, because
    fewer would cost about the same.
    """

    def __init__(self) -> None:
        self._kept: list[Support] = []
        self._new: list[Tensor] = []

    def add(self, q: Tensor) -> None:
        """Add the distributions of the next positions, q [n, V].

        The distributions are copied, because a captured step overwrites q.
        """
        self._new.append(q.clone())
        if sum(map(len, self._new)) >= _SUPPORTS_AT_ONCE:
            self._keep()

    def all(self) -> Support:
        """Return one Support with all positions added so far; there must be at least one."""
        self._keep()
        return Support.join(self._kept)

    def _keep(self) -> None:
        if self._new:
            self._kept.append(Support.of(torch.cat(self._new)))
            self._new.clear()


# Kernels of a CUDA device, each tried once: the code above is their oracle


class RuleKernels(Protocol):
    """The functions of `engine.kernels` that replace functions of this module."""

    def probs(self, logits: Tensor, temperature: float, top_k: int) -> Tensor: ...

    def sample(self, p: Tensor, u: Tensor) -> Tensor: ...

    def residual(self, p: Tensor, q: Tensor) -> Tensor: ...

    def normalise(self, p: Tensor) -> Tensor: ...

    def in_turn(
        self, p: Tensor, q: Tensor, tokens: Tensor, exists: Tensor
    ) -> tuple[Tensor, Tensor]: ...

    def likeliest(self, p: Tensor, count: int) -> tuple[Tensor, Tensor]: ...

    def ranks_around(self, p: Tensor, tokens: Tensor, below: int, above: int) -> Tensor: ...


@cache
def rule_kernels(device: torch.device) -> RuleKernels | None:
    """Return a device's kernels if their results are the same as PyTorch's, else None.

    A CPU has no kernels. If a kernel raises or its result differs, a warning is logged.
    """
    if device.type != "cuda":
        return None
    try:
        from engine.kernels import Rules

        kernels = Rules()
        for codes in _TRIED:
            _compare_kernels(kernels, device, codes)
    except Exception as error:  # PyTorch's functions do, whatever keeps the kernels from running
        log.warning("the rules run without fused kernels: %s", error)
        return None
    return kernels


def _compare_kernels(kernels: RuleKernels, device: torch.device, codes: int) -> None:
    """Raise ValueError where a kernel differs from PyTorch's code on the CPU."""
    some = torch.Generator().manual_seed(0)
    logits = 4 * torch.randn(2, 4, codes, generator=some)
    u = torch.rand(4, generator=some, dtype=torch.float64)
    sampling = Sampling(temperature=0.9, top_k=100)
    p, q = (logits_to_probs(each, sampling, None) for each in logits)
    there = [tensor.to(device) for tensor in (p, q, u)]
    one, other, at = there
    pairs: dict[str, tuple[Tensor, Tensor]] = {
        "probs": (kernels.probs(logits[0].to(device), 0.9, 100), p),
        "sample": (kernels.sample(one, at), sample(p, u)),
        "residual": (kernels.residual(one, other), residual(p, q)),
        "normalise": (kernels.normalise(one / 2), normalise(p / 2)),
    }
    tokens, exists = torch.tensor([3, 5, 5, 7]), torch.tensor([True, False, True, True])
    output = kernels.in_turn(one[0], other, tokens.to(device), exists.to(device))
    expected = in_turn(p[0], q, tokens, exists)
    pairs |= {"in_turn": (output[0], expected[0]), "in_turn's rest": (output[1], expected[1])}
    shares, tokens = kernels.likeliest(one, 5)
    expected = likeliest(p, 5)
    pairs |= {"likeliest": (shares, expected[0]), "likeliest's tokens": (tokens, expected[1])}
    beside = torch.tensor([3, 5, 5, 7])
    pairs["ranks_around"] = (
        kernels.ranks_around(one, beside.to(device), 4, 5),
        ranks_around(p, beside, 4, 5),
    )
    for name, (result, oracle) in pairs.items():
        off = float((result.cpu().double() - oracle.double()).abs().max())
        if not off <= _CLOSE:
            raise ValueError(f"{name} is off by {off:.2g}")
