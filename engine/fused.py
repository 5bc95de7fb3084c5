"""Whether the kernels of `engine.kernels` run on a device: each is tried once, and compared with
the PyTorch code that it replaces."""

from __future__ import annotations

import logging
from functools import cache
from typing import Protocol

import torch
from torch import Tensor

log = logging.getLogger(__name__)
_TRIED = (4, 1000), (2, 65536)  # rows and tokens of the distributions that are compared
_CLOSE = 1e-6


class RuleKernels(Protocol):
    """Those of `engine.numerics.distributions`."""

    def probs(self, logits: Tensor, temperature: float, top_k: int) -> Tensor: ...

    def sample(self, p: Tensor, u: Tensor) -> Tensor: ...

    def residual(self, p: Tensor, q: Tensor) -> Tensor: ...

    def normalise(self, p: Tensor) -> Tensor: ...

    def in_turn(
        self, p: Tensor, q: Tensor, tokens: Tensor, exists: Tensor
    ) -> tuple[Tensor, Tensor]: ...


@cache
def rule_kernels(device: torch.device) -> RuleKernels | None:
    """The module, where its distributions are PyTorch's; None on a processor, and with a warning
    where a kernel raises or differs."""
    if device.type != "cuda":
        return None
    try:
        from engine import kernels

        for rows, codes in _TRIED:
            _compare(kernels, device, rows, codes)
    except Exception as error:  # PyTorch's own do it, whatever keeps these from running
        log.warning("the rules run without fused kernels: %s", error)
        return None
    return kernels


def _compare(kernels: RuleKernels, device: torch.device, rows: int, codes: int) -> None:
    """Raises ValueError for a kernel that differs from PyTorch's code on the processor."""
    from engine.numerics import distributions
    from engine.settings import Sampling

    some = torch.Generator().manual_seed(0)
    logits = 4 * torch.randn(2, rows, codes, generator=some)
    u = torch.rand(rows, generator=some, dtype=torch.float64)
    sampling = Sampling(temperature=0.9, top_k=100)
    p, q = (distributions.logits_to_probs(each, sampling, None) for each in logits)
    there = [tensor.to(device) for tensor in (p, q, u)]
    one, other, at = there
    pairs: dict[str, tuple[Tensor, Tensor]] = {
        "probs": (kernels.probs(logits[0].to(device), 0.9, 100), p),
        "sample": (kernels.sample(one, at), distributions.sample(p, u)),
        "residual": (kernels.residual(one, other), distributions.residual(p, q)),
        "normalise": (kernels.normalise(one / 2), distributions.normalise(p / 2)),
    }
    tokens, exists = torch.tensor([3, 5, 5, 7]), torch.tensor([True, False, True, True])
    taken = kernels.in_turn(one[0], other, tokens.to(device), exists.to(device))
    expected = distributions.in_turn(p[0], q, tokens, exists)
    pairs |= {"in_turn": (taken[0], expected[0]), "in_turn's rest": (taken[1], expected[1])}
    for name, (found, oracle) in pairs.items():
        off = float((found.cpu().double() - oracle.double()).abs().max())
        if not off <= _CLOSE:
            raise ValueError(f"{name} is off by {off:.2g}")
