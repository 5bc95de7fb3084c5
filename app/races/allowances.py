"""Allowances: how long each visitor's films, seeds and sweeps may keep this machine busy."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from app.workers.race_stream import duration_words
from engine.settings import SettingError

QUARTER = 900.0  # seconds
MAX_ADDRESSES = 1000  # the addresses whose spending is remembered; others count as new


class Allowance:
    """The seconds that one visitor may spend in any quarter of an hour, or no limit."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._lock = threading.Lock()
        self._spent = deque[tuple[float, float]]()  # the time and the seconds of each spending

    @property
    def left(self) -> float:
        """The seconds that are left now, at least 0."""
        with self._lock:
            before = self._clock() - QUARTER
            while self._spent and self._spent[0][0] <= before:
                self._spent.popleft()
            return max(0.0, self._seconds - sum(seconds for _, seconds in self._spent))

    @property
    def note(self) -> str:
        """The sentence that says how many seconds are left; "" if there is no limit."""
        if math.isinf(budget := self.left):
            return ""
        return (
            f"You have {budget:.0f} of {self._seconds:.0f} seconds left for films, seeds and sweeps"
            " in this quarter of an hour."
        )

    def spend(self, seconds: float) -> None:
        with self._lock:
            if math.isfinite(self._seconds):
                self._spent.append((self._clock(), seconds))

    def require(self) -> None:
        """Raise SettingError if no seconds are left."""
        if self.left:
            return
        with self._lock:
            wait = self._spent[0][0] + QUARTER - self._clock() if self._spent else QUARTER
        raise SettingError(
            f"Your {self._seconds:.0f} seconds for films, seeds and sweeps in a quarter of an hour"
            f" are used up. Try again in {duration_words(wait)}; single races go on."
        )


UNLIMITED = Allowance(math.inf)


def is_here(address: str) -> bool:
    """Return whether an address is this machine's own.

    The address "" counts as this machine's own, because a client on a local socket has no address.
    """
    return address in ("", "::/64") or address.startswith("127.")


class Allowances:
    """An allowance for each address; visitors on this machine itself have no limit."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Allowance] = OrderedDict()

    def of(self, address: str) -> Allowance:
        if is_here(address):
            return UNLIMITED
        with self._lock:
            allowance = self._known.setdefault(address, Allowance(self._seconds))
            self._known.move_to_end(address)
            while len(self._known) > MAX_ADDRESSES:
                self._known.popitem(last=False)
        return allowance
