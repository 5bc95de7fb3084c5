"""Turns: who races next. One queue for all devices, bounded, in which nobody holds two places and
everybody has a fair share."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

REMEMBERED = 1000  # addresses whose last turn is known; others count as new
_numbers = itertools.count(1)


class FullError(Exception):
    """The queue is full; the message is fit for a visitor."""


@dataclass(slots=True, eq=False)
class Place:
    """One race's place. `lost` says why it is gone, in words for its visitor; a race that has the
    device ends itself then."""

    visitor: Hashable
    address: str
    device: str
    number: int = field(default_factory=lambda: next(_numbers))
    racing: bool = False
    lost: str = ""


class Turns:
    """A visitor's second race takes the place of their first. Those who wait are served in rounds,
    one race for each address a round, and within a round whoever raced longest ago comes first:
    many races from one address wait for their own, not for others' (behind a proxy that hides
    addresses, it is first come, first served). A race that comes to a full queue is refused, or
    takes the last place of an address that holds at least two more than its own."""

    def __init__(self, most: int, at_once: dict[str, int] | None = None) -> None:
        """`most` places to wait in; `at_once` races on a device, one where it does not say."""
        self._most, self._at_once = most, at_once or {}
        self._lock = threading.Lock()
        self._places: list[Place] = []
        self._turns = itertools.count(1)
        self._last: OrderedDict[str, int] = OrderedDict()

    def take(self, visitor: Hashable, address: str, device: str) -> Place:
        """A place to wait in. Raises FullError."""
        with self._lock:
            for old in [place for place in self._places if place.visitor == visitor]:
                self._lose(old, "Your later race has taken this one's place.")
            waiting = [place for place in self._places if not place.racing]
            if len(waiting) >= self._most:
                self._make_room(waiting, address)
            self._places.append(place := Place(visitor, address, device))
            return place

    def ahead(self, place: Place) -> int:
        """How many races come before this one. 0: it is its turn, and the device is its own until
        it leaves."""
        with self._lock:
            if place.racing or place not in self._places:
                return 0
            here = [other for other in self._places if other.device == place.device]
            racing = [other for other in here if other.racing]
            before = self._order([other for other in here if not other.racing], racing).index(place)
            if before + len(racing) < self._at_once.get(place.device, 1):
                place.racing = True
                self._last[place.address] = next(self._turns)
                self._last.move_to_end(place.address)
                while len(self._last) > REMEMBERED:
                    self._last.popitem(last=False)
                return 0
            return before + len(racing)

    def leave(self, place: Place) -> None:
        """Gives the place, and the device, to others. May be called twice."""
        with self._lock:
            if place in self._places:
                self._places.remove(place)

    def drop(self, visitor: Hashable) -> None:
        """A visitor has gone: their race ends."""
        with self._lock:
            for place in [place for place in self._places if place.visitor == visitor]:
                self._lose(place, "The page was closed.")

    def _order(self, waiting: list[Place], racing: list[Place]) -> list[Place]:
        rounds: dict[str, int] = {}
        for place in racing:
            rounds[place.address] = rounds.get(place.address, 0) + 1
        keys = {}
        for place in sorted(waiting, key=lambda each: each.number):
            turn = rounds.get(place.address, 0)
            rounds[place.address] = turn + 1
            keys[place] = (turn, self._last.get(place.address, 0) if turn == 0 else 0, place.number)
        return sorted(waiting, key=keys.__getitem__)

    def _make_room(self, waiting: list[Place], address: str) -> None:
        held: dict[str, list[Place]] = {}
        for place in waiting:
            held.setdefault(place.address, []).append(place)
        most = max(held.values(), key=len)
        if len(most) < len(held.get(address, [])) + 2:
            raise FullError(
                f"{len(waiting)} races are waiting, and more are not let in. Try again in a minute."
            )
        self._lose(
            most[-1],
            "The queue is full, and others have no place in it yet: your race gave way. Try again"
            " in a minute.",
        )

    def _lose(self, place: Place, why: str) -> None:
        place.lost = why
        if not place.racing:  # one that races leaves by itself, when its step is over
            self._places.remove(place)
