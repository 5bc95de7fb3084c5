"""Keyed randomness: every random number is a function of (seed, position, purpose, draw) alone.

The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
2011), counter based and exact in integers, so a seed means the same on every device.
"""

from __future__ import annotations

from enum import IntEnum

import torch
from torch import Tensor

_MASK = 0xFFFFFFFF
_BLOCK = 32


class Purpose(IntEnum):
    """What a number is drawn for: a part of its key."""

    NOISE = 0  # the Gumbel noise that vanilla AR and fixed-point iteration share
    VERIFY = 1  # acceptance, residual samples, redrawn drafts
    FRESH = 2  # initial tokens
    DRAFT = 3  # a drafter's samples
    CANDIDATE = 4  # further candidates of a tree


def philox(counter: Tensor, key: tuple[int, int]) -> Tensor:
    """Counters int64 [4, ...], each entry below 2**32, and a key of two such numbers, to random
    words of the same shape."""
    multipliers = torch.tensor([0xD2511F53, 0xCD9E8D57], device=counter.device).view(
        2, *[1] * (counter.dim() - 1)
    )
    even, odd = counter[0::2], counter[1::2]
    k0, k1 = key
    for _ in range(10):
        product = even * multipliers  # wraps modulo 2**64, which keeps both halves right
        high, low = (product >> 32) & _MASK, product & _MASK
        keys = torch.tensor([k0, k1], device=counter.device).view_as(multipliers)
        even, odd = high.flip(0) ^ odd ^ keys, low.flip(0)
        k0, k1 = (k0 + 0x9E3779B9) & _MASK, (k1 + 0xBB67AE85) & _MASK
    return torch.stack([even[0], odd[0], even[1], odd[1]])


class Noise:
    """The random numbers of one image."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self.key, self.device = (seed & _MASK, seed >> 32 & _MASK), device
        self._gumbel: dict[int, Tensor] = {}

    def uniform(self, purpose: Purpose, positions: Tensor, draw: int, count: int) -> Tensor:
        """[len(positions), count] numbers strictly between 0 and 1, float32, with 23 random bits
        each."""
        blocks = -(-count // 4)
        counter = torch.empty(4, len(positions), blocks, dtype=torch.int64, device=self.device)
        counter[0] = torch.arange(blocks, device=self.device)
        counter[1] = positions[:, None]
        counter[2], counter[3] = int(purpose), draw
        words = philox(counter, self.key).movedim(0, -1).reshape(len(positions), 4 * blocks)
        return ((words[:, :count] >> 9).float() + 0.5) * 2.0**-23

    def gumbel(self, start: int, count: int, codes: int) -> Tensor:
        """Standard Gumbel noise [count, codes] of positions start, start + 1, .., the same at every
        call. Computed in blocks of positions, because one costs as much as a block; blocks before
        `start` are dropped."""
        first, last = start // _BLOCK, (start + count - 1) // _BLOCK
        self._gumbel = {block: noise for block, noise in self._gumbel.items() if block >= first}
        for block in range(first, last + 1):
            if block not in self._gumbel:
                positions = torch.arange(block * _BLOCK, (block + 1) * _BLOCK, device=self.device)
                u = self.uniform(Purpose.NOISE, positions, 0, codes)
                self._gumbel[block] = -torch.log(-torch.log(u))
        rows = torch.cat([self._gumbel[block] for block in range(first, last + 1)])
        return rows[start - first * _BLOCK :][:count]
