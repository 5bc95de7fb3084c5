"""The KV cache: preallocated, all layers in one tensor.

transformers bodies use it through the one method they call, `update(k, v, layer)`. Rolling back and
keeping a chain copy nothing; keeping a tree path is one gather.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class WindowCache:
    """Keys and values [layers, R, H, slots, D]; slots 0 .. base - 1 are permanent, then comes the
    window."""

    def __init__(
        self,
        layers: int,
        rows: int,
        heads: int,
        slots: int,
        dim: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._k = torch.zeros(layers, rows, heads, slots, dim, dtype=dtype, device=device)
        self._v = torch.zeros_like(self._k)
        self.slots = slots
        self.base = 0
        self._window = 0

    def open(self, window: int) -> None:
        """Reserves rows for the next forward pass to write. Raises IndexError when full."""
        if self.base + window > self.slots:
            raise IndexError(
                f"the cache has {self.slots} slots; {self.base} are in use and {window} more were"
                " asked for"
            )
        self._window = window

    def update(
        self, k: Tensor, v: Tensor, layer: int, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Writes the window's keys and values [R, H, L, D] of one layer; returns all up to the
        window's end."""
        end = self.base + self._window
        self._k[layer, :, :, self.base : end] = k
        self._v[layer, :, :, self.base : end] = v
        return self._k[layer, :, :, :end], self._v[layer, :, :, :end]

    def keep(self, rows: Sequence[int]) -> None:
        """Makes these rows of the window permanent, in this order, and discards the others."""
        if list(rows) != list(range(len(rows))):
            source = self.base + torch.tensor(rows, device=self._k.device)
            end = self.base + len(rows)
            self._k[:, :, :, self.base : end] = self._k.index_select(3, source)
            self._v[:, :, :, self.base : end] = self._v.index_select(3, source)
        self.base += len(rows)
        self._window = 0

    def roll_back(self, base: int) -> None:
        """Discards all but the first `base` slots. Raises IndexError where fewer are in use."""
        if not 0 <= base <= self.base:
            raise IndexError(f"cannot go back to {base} slots: {self.base} are in use")
        self.base, self._window = base, 0


def ancestors(parents: Sequence[int] | None, length: int) -> Tensor:
    """The tree attention mask, bool [L, L]: row i attends to row j if j is i or an ancestor of i.
    `parents` None is a chain."""
    if parents is None:
        return torch.ones(length, length, dtype=torch.bool).tril()
    seen = torch.eye(length, dtype=torch.bool)
    for row in range(1, length):
        seen[row] |= seen[parents[row]]
    return seen
