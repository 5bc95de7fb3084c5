"""How far floats may be apart. No number here is what one machine happened to give: processors
round sums, products and exponentials each in their own way.

What compares two ways through a network compares them in float64, where they differ by EXACT. Where
float32 itself is tested, `rounding` takes a tolerance from the numbers at hand; what is stored as a
share is off by STORED. `make processors` runs the comparisons as other processors round, and says
which part of its tolerance each one used: above a half, the next processor may break it.
"""

from __future__ import annotations

import functools
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.trace.shares import ONE

Module = TypeVar("Module", bound=nn.Module)
EXACT = {"rtol": 1e-12, "atol": 1e-12}
STORED = 1.5 / ONE  # a share is rounded by half a step, and what it is compared with a little


def rounding(
    largest: float | Tensor, guidance: float = 1.0, dtype: torch.dtype = torch.float32
) -> float:
    """16 roundings of the largest number, or of the largest of several. Guidance s is u + s (c - u)
    = s c - (s - 1) u: what c and u are off by it multiplies by up to 2 s - 1."""
    top = largest.abs().max().item() if isinstance(largest, Tensor) else largest
    return 16 * torch.finfo(dtype).eps * top * (2 * guidance - 1)


def widen(module: Module) -> Module:
    """The module in float64 throughout. transformers' RMS norms and rotary angles are computed in
    float32 whatever the module's dtype is; here they are not."""
    module.double()
    for each in module.modules():
        if hasattr(each, "variance_epsilon"):
            each.forward = functools.partial(_rms_norm, each)
        elif hasattr(each, "inv_freq"):
            each.forward = functools.partial(_rotary, each)
    return module


def _rms_norm(norm: nn.Module, x: Tensor) -> Tensor:
    return F.rms_norm(x, norm.weight.shape, norm.weight, norm.variance_epsilon)


def _rotary(rotary: nn.Module, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
    angles = (position_ids[..., None] * rotary.inv_freq).repeat(1, 1, 2)
    return angles.cos() * rotary.attention_scaling, angles.sin() * rotary.attention_scaling
