"""Slots: a lane's place on a loaded model, made once and used by race after race."""

from __future__ import annotations

from collections.abc import Hashable

import torch
from torch import Tensor

from engine.graphs import Graphs
from engine.models.cache import WindowCache


class Slot:
    """Caches, tensors that keep their address, and the graphs that were captured with both. Caches
    serve any lane, tensors and graphs the one that made them, as often as it comes back. `keeps`:
    whether its lane has such tensors, as with static shapes."""

    def __init__(self) -> None:
        self.graphs: Graphs | None = None
        self._caches: dict[str, WindowCache] = {}
        self._places: dict[Hashable, Tensor] = {}
        self._owner: Hashable = None
        self.keeps = False

    @property
    def bytes(self) -> int:
        """What its caches take on the device."""
        return sum(cache.bytes for cache in self._caches.values())

    def enter(self, lane: Hashable) -> None:
        """Begins a lane. Equal keys stand for lanes whose steps are the same operations on places
        of the same shapes; None for one that keeps nothing but the caches."""
        self.keeps = lane is not None
        if self.keeps and lane != self._owner:
            self._owner = lane
            self._forget()

    def place(self, name: Hashable, values: Tensor) -> Tensor:
        """The values, in the place that this name had in the lane's race before, if they fit."""
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
        """An empty cache of that name, as WindowCache makes it, with at least so many slots."""
        cache, kind = self._caches.get(name), (layers, heads, dim, dtype, device, bucket)
        if cache is None or cache.kind != kind or cache.rows < rows or cache.slots < slots:
            self._caches.pop(name, None)  # before the larger one is there
            cache = None
            self._forget()
            cache = WindowCache(layers, rows, heads, slots, dim, dtype, device, bucket)
            self._caches[name] = cache
        cache.reset(rows)
        return cache

    def clear(self) -> None:
        """Frees all that it holds."""
        self._caches.clear()
        self._forget()

    def _forget(self) -> None:
        """Graphs know addresses: they go with what they were captured with."""
        self._places.clear()
        self.graphs = None


class Slots:
    """The slots of one model: as many as lanes raced at once. The first that is free is given, so
    that lanes that come in the same order race after race get the same ones."""

    def __init__(self) -> None:
        self._all: list[Slot] = []
        self._free: list[Slot] = []

    def take(self, lane: Hashable = None) -> Slot:
        """A free slot, or one more; `lane` as in `Slot.enter`. It is given back by `release`."""
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
        """What the caches of the first `lanes` free slots take on the device."""
        return sum(slot.bytes for slot in self._idle()[:lanes])

    def trim(self, lanes: int) -> int:
        """Frees what the free slots hold but for the first `lanes`. Returns how many bytes the
        caches were."""
        others = self._idle()[lanes:]
        freed = sum(slot.bytes for slot in others)
        for slot in others:
            slot.clear()
        return freed

    def _idle(self) -> list[Slot]:
        return [slot for slot in self._all if slot in self._free]
