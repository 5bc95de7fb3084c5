"""Does other work of this process between the lanes' steps, so that no lane is charged for it.

Other work means making films, pictures and figures, and reading uploads.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHARE = 0.25  # the largest share of the time for other work during a race
PART = 0.1  # seconds: the first step after a part is slower, since the part has filled the caches
PATIENCE = 5.0  # seconds that a step and a part wait for one another: either may hang


class Work:
    """A piece of other work, done in parts. Lanes may step between two parts."""

    def __init__(self, turns: BetweenSteps) -> None:
        self._turns = turns
        self._began = turns.begin()
        self._seconds = 0.0  # seconds of the parts that are done

    @property
    def seconds(self) -> float:
        """The seconds that this work has taken so far, without its waits between parts."""
        return self._seconds + self._part

    @property
    def _part(self) -> float:
        return self._turns.clock() - self._began

    def pause(self) -> None:
        """End this part if it has lasted PART seconds, and wait until the next part may begin.

        Lanes may step between the two parts. A part that has lasted less goes on at once.
        """
        if self._part >= PART:
            self.end()
            self._began = self._turns.begin()

    def end(self) -> None:
        self._seconds += self._turns.end(self._began)


class BetweenSteps:
    """Keeps the steps of lanes and other work from running at the same time.

    A step or a part of other work waits at most PATIENCE seconds for the other. Races on several
    devices may step at once. While a race is on, only one piece of work runs at a time, for at
    most SHARE of the time: after d seconds of work, no work starts for d (1 / SHARE - 1) seconds.
    A piece of work must not begin another one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.forget()

    def forget(self) -> None:
        """Start afresh, as a forked process must: it runs none of its parent's races and work."""
        lock = threading.Lock()
        self._lanes = threading.Condition(lock)  # lanes that wait for work to end
        self._next = threading.Condition(lock)  # the one piece of work that is next
        self._line = threading.Lock()  # where all other work waits; no step wakes it
        self._races = 0  # races that are on
        self._steps = 0  # steps that run now
        self._asked = False  # whether the next piece of work waits for the steps to end
        self._works = 0  # pieces of work whose parts run now
        self._due = 0.0  # the time from which the next part may run during a race

    @contextmanager
    def race(self) -> Iterator[None]:
        with self._lanes:
            self._races += 1
        try:
            yield
        finally:
            with self._lanes:
                self._races -= 1
                self._next.notify()

    @contextmanager
    def step(self) -> Iterator[None]:
        with self._lanes:
            self._lanes.wait_for(lambda: not (self._asked or self._works), PATIENCE)
            self._steps += 1
        try:
            yield
        finally:
            with self._lanes:
                self._steps -= 1
                if self._asked:
                    self._next.notify()

    @contextmanager
    def work(self) -> Iterator[Work]:
        work = Work(self)
        try:
            yield work
        finally:
            work.end()

    def begin(self) -> float:
        """Wait until a part of some work may begin. Returns the time at which the part begins."""
        with self._line, self._next:
            while self._races:
                rest = self._due - self.clock()
                if rest <= 0 and not self._works:
                    break
                self._next.wait(rest if rest > 0 else None)
            self._asked = True
            self._next.wait_for(lambda: not self._steps, PATIENCE)
            self._asked = False
            self._works += 1
            return self.clock()

    def end(self, began: float) -> float:
        """End a part of some work. Returns how many seconds the part took."""
        with self._lanes:
            now = self.clock()
            self._works -= 1
            if self._races:
                self._due = max(self._due, now + (now - began) * (1 / SHARE - 1))
            self._lanes.notify_all()
            self._next.notify()
            return now - began


BETWEEN_STEPS = BetweenSteps()
if hasattr(os, "register_at_fork"):  # a worker of ZeroGPU is forked, perhaps while a film is made
    os.register_at_fork(after_in_child=BETWEEN_STEPS.forget)
