"""The KV cache: preallocated, with all layers in one tensor.

Bodies call one method, `update(k, v, layer)`. To roll back, or to keep a chain of rows, nothing is
copied. To keep a tree's path, the rows that have to move are copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


class WindowCache:
    """A KV cache: keys and values [layers, R, H, slots, D].

    R is the number of guidance rows, H the number of key heads, and D the size of a head. Slots
    0 .. base - 1 are permanent; the window's slots follow. `first` is the base as a tensor [] on
    the device: a captured graph reads it anew in each step, but cannot read a number on the host.
    """

    def __init__(
        self,
        layers: int,
        rows: int,
        heads: int,
        slots: int,
        dim: int,
        dtype: torch.dtype,
        device: torch.device,
        bucket: int = 1,
    ) -> None:
        """Allocate keys and values [layers, rows, heads, slots, dim].

        `slots` is rounded up to a multiple of `bucket`. Bodies attend to a multiple of `bucket`
        slots, of which those after the window are masked.
        """
        self.kind = layers, heads, dim, dtype, device, bucket
        slots = -(-slots // bucket) * bucket
        k = torch.zeros(layers, rows, heads, slots, dim, dtype=dtype, device=device)
        self._all = k, torch.zeros_like(k)
        self._slots = torch.arange(slots, device=device)
        self.slots, self.bucket = slots, bucket
        self.first = torch.zeros((), dtype=torch.long, device=device)
        self.reset(rows)

    @property
    def rows(self) -> int:
        """Number of rows R for which memory is allocated."""
        return self._all[0].shape[1]

    @property
    def layers(self) -> list[tuple[Tensor, Tensor]]:
        """Return each layer's keys and values [R, H, slots, D], contiguous."""
        return self._layers

    @property
    def repeats(self) -> bool:
        """True if later passes will have the shapes of the open window's pass.

        With buckets this holds for all passes except the one that reads the prompt. Without buckets
        it holds for none.
        """
        return self.bucket > 1 and self.base > 0

    @property
    def bytes(self) -> int:
        """Size on the device, in bytes."""
        return sum(part.nbytes for part in self._all)

    def reset(self, rows: int) -> None:
        """Discard all slots, and set R to `rows`, at most the number allocated.

        The memory keeps the old values. Attention masks them, but they must be finite.
        """
        self._k, self._v = (part[:, :rows] for part in self._all)
        self._layers = list(zip(self._k.unbind(0), self._v.unbind(0), strict=True))
        self._attended = self._layers  # the first `end` slots
        self.window = self._slots[:0]  # slots of the window's rows
        self.end = 0  # how many slots bodies attend to
        self._set_base(0)

    def open(self, window: int) -> None:
        """Reserve `window` slots for the next forward pass to write.

        Raises IndexError when the cache is full.
        """
        if self.base + window > self.slots:
            raise IndexError(
                f"the cache has {self.slots} slots; {self.base} are in use and {window} more were"
                " asked for"
            )
        self.window = self._slots[:window] + self.first
        self.end = self.reach(window)
        k, v = self._k[:, :, :, : self.end], self._v[:, :, :, : self.end]
        self._attended = list(zip(k.unbind(0), v.unbind(0), strict=True))

    def reach(self, window: int) -> int:
        """Return how many slots bodies attend to with a window of `window` rows."""
        return -(-(self.base + window) // self.bucket) * self.bucket

    def update(
        self, k: Tensor, v: Tensor, layer: int, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Write a layer's keys and values of the window's L rows [R, H, L, D].

        Returns the layer's keys and values in all attended slots [R, H, end, D].
        """
        keys, values = self._layers[layer]
        keys.index_copy_(2, self.window, k)
        values.index_copy_(2, self.window, v)
        return self._attended[layer]

    def hidden(self, before: int) -> Tensor:
        """Return which attended slots come after the window's first `before` rows (bool [end]).

        It is False for permanent slots.
        """
        return self._slots[: self.end] >= self.first + before

    def keep(self, rows: Sequence[int]) -> None:
        """Make `rows` of the window permanent, in this order, and discard the window's other rows.

        The numbers in `rows` must increase, as they do along every path of a tree.
        """
        for i, row in enumerate(rows):
            if row != i:  # indices from the host: the copy does not wait for the device
                to, source = self.base + i, self.base + row
                self._k[:, :, :, to] = self._k[:, :, :, source]
                self._v[:, :, :, to] = self._v[:, :, :, source]
        self._set_base(self.base + len(rows))

    def roll_back(self, base: int) -> None:
        """Discard all but the first `base` slots. Raises IndexError if fewer slots are in use."""
        if not 0 <= base <= self.base:
            raise IndexError(f"cannot go back to {base} slots: {self.base} are in use")
        self._set_base(base)

    def narrow(self) -> None:
        """From the next window on, read and write only the first of the R rows."""
        self._k, self._v = self._k[:, :1], self._v[:, :1]
        self._layers = list(zip(self._k.unbind(0), self._v.unbind(0), strict=True))

    def _set_base(self, base: int) -> None:
        self.base = base
        self.first.fill_(base)


def ancestors(parents: Sequence[int]) -> Tensor:
    """Return a tree's attention mask (bool [L, L]): row i attends to itself and its ancestors."""
    seen = np.eye(len(parents), dtype=bool)  # rows of a torch tensor take ten times as long
    for row, parent in enumerate(parents[1:], 1):
        seen[row] |= seen[parent]
    return torch.from_numpy(seen)
