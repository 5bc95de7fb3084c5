"""What this process computes for visitors beside the races: films, pictures, uploads, figures. It
is done between the lanes' steps, so that nobody's film is charged to somebody's lane."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHARE = 0.25  # of the time, at most, that other work takes while a race is on
PATIENCE = 5.0  # seconds; a longer step, of a device that hangs, say, holds nothing else up


class Work:
    """A piece of other work. Between two parts of it lanes go on."""

    def __init__(self, turns: BetweenSteps) -> None:
        self._turns = turns
        self._began = turns.begin()
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """How long it has worked; its waiting does not count."""
        return self._seconds

    def pause(self) -> None:
        """Lets the lanes go on, and returns when the next part is due."""
        self.end()
        self._began = self._turns.begin()

    def end(self) -> None:
        self._seconds += self._turns.end(self._began)


class BetweenSteps:
    """Has either lanes' steps computed or other work, never both.

    Several lanes may step at once, each on a device of its own. While a race is on, one piece of
    work is done at a time, and d seconds of it are followed by d (1 / SHARE - 1) seconds without.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._races = 0  # that are on
        self._steps = 0  # being computed
        self._asked = 0  # pieces of work that wait for the steps to end
        self._works = 0  # being done
        self._due = 0.0  # when the next one may be done beside a race

    @contextmanager
    def race(self) -> Iterator[None]:
        with self._changed:
            self._races += 1
        try:
            yield
        finally:
            with self._changed:
                self._races -= 1
                self._changed.notify_all()

    @contextmanager
    def step(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not (self._asked or self._works))
            self._steps += 1
        try:
            yield
        finally:
            with self._changed:
                self._steps -= 1
                self._changed.notify_all()

    @contextmanager
    def work(self) -> Iterator[Work]:
        work = Work(self)
        try:
            yield work
        finally:
            work.end()

    def begin(self) -> float:
        """Waits until a part of some work is due. Returns when it began."""
        with self._changed:
            while self._races and (self._asked or self._works or self._clock() < self._due):
                self._changed.wait(max(0.0, self._due - self._clock()) or None)
            self._asked += 1
            self._changed.wait_for(lambda: not self._steps, PATIENCE)
            self._asked -= 1
            self._works += 1
            return self._clock()

    def end(self, began: float) -> float:
        """Ends a part of some work. Returns how many seconds it took."""
        with self._changed:
            now = self._clock()
            self._works -= 1
            self._due = max(self._due, now + (now - began) * (1 / SHARE - 1))
            self._changed.notify_all()
            return now - began


BETWEEN_STEPS = BetweenSteps()
