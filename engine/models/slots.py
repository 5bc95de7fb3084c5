"""Slots: what lanes keep on a loaded model from race to race."""

from __future__ import annotations

from collections.abc import Hashable

import torch
from torch import Tensor

from engine.graphs import Graphs
from engine.models.cache import WindowCache


class Slot:
    """Caches, tensors with fixed addresses, and captured graphs, for one lane at a time.

    The graphs read these caches and tensors. Every lane can use the caches. Lanes with equal keys
    run the same operations on the same shapes, so each can use the tensors and graphs of the lane
    before it; a lane with another key drops them. A lane of a model without static shapes has no
    key, and uses only the caches. `keeps` tells whether the current lane has a key.
    """

    def __init__(self) -> None:
        self.graphs: Graphs | None = None
        self._caches: dict[str, WindowCache] = {}
        self._places: dict[Hashable, Tensor] = {}
        self._owner: Hashable = None
        self.keeps = False

    @property
    def bytes(self) -> int:
        """Size of the slot's caches on the device, in bytes."""
        return sum(cache.bytes for cache in self._caches.values())

    def enter(self, lane: Hashable) -> None:
        """Begin a lane with the key `lane`.

        Lanes with equal keys run the same operations on tensors of the same shapes. A lane with the
        key None uses only the caches.
        """
        self.keeps = lane is not None
        if self.keeps and lane != self._owner:
            self._owner = lane
            self._forget()

    def place(self, name: Hashable, values: Tensor) -> Tensor:
        """Copy `values` into the slot's tensor called `name`, and return that tensor.

        The tensor stays at its address from race to race as long as `values` have its shape and
        dtype. If the lane has no key, `values` itself is returned.
        """
        if not self.keeps:
            return values
        place = self._places.get(name)
        if place is None or place.shape != values.shape or place.dtype != values.dtype:
            place = self._places[name] = torch.empty_like(values)
        return place.copy_(values)

    def cache(
        self,
        name: str,
        layers: int,
        rows: int,
        heads: int,
        slots: int,
        dim: int,
        dtype: torch.dtype,
        device: torch.device,
        bucket: int = 1,
    ) -> WindowCache:
        """Return the slot's cache called `name`, emptied, or a new one if kind or size do not fit.

        The cache has at least `rows` guidance rows and at least `slots` slots. If it is new, all
        the slot's tensors and graphs are dropped.
        """
        cache, kind = self._caches.get(name), (layers, heads, dim, dtype, device, bucket)
        if cache is None or cache.kind != kind or cache.rows < rows or cache.slots < slots:
            self._caches.pop(name, None)  # freed before the new cache is made
            cache = None
            self._forget()
            cache = WindowCache(layers, rows, heads, slots, dim, dtype, device, bucket)
            self._caches[name] = cache
        cache.reset(rows)
        return cache

    def clear(self) -> None:
        """Free all caches, tensors and graphs."""
        self._caches.clear()
        self._forget()

    def _forget(self) -> None:
        """Drop the graphs, and the tensors whose addresses the graphs use."""
        self._places.clear()
        self.graphs = None


class Slots:
    """The slots of one model: as many as the largest number of lanes that raced at once.

    Each lane takes the first free slot. So lanes that come in the same order in every race get the
    same slots.
    """

    def __init__(self) -> None:
        self._all: list[Slot] = []
        self._free: list[Slot] = []

    def take(self, lane: Hashable = None) -> Slot:
        """Return a free or new slot, for use until `release`; `lane` is as in `Slot.enter`."""
        slot = next(iter(self._idle()), None)
        if slot is None:
            slot = Slot()
            self._all.append(slot)
        else:
            self._free.remove(slot)
        slot.enter(lane)
        return slot

    def release(self, slot: Slot) -> None:
        self._free.append(slot)

    def bytes(self, lanes: int) -> int:
        """Return the size of the first `lanes` free slots' caches on the device, in bytes."""
        return sum(slot.bytes for slot in self._idle()[:lanes])

    def trim(self, lanes: int) -> int:
        """Clear all free slots but the first `lanes`; return the bytes of the caches freed."""
        others = self._idle()[lanes:]
        freed = sum(slot.bytes for slot in others)
        for slot in others:
            slot.clear()
        return freed

    def _idle(self) -> list[Slot]:
        return [slot for slot in self._all if slot in self._free]
