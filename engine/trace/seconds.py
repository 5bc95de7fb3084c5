"""Seconds: where a step's time went; engine/clock.py says what is counted."""

from __future__ import annotations

from dataclasses import dataclass

PARTS = ("forward", "verify", "cache", "draft")  # of a step's time


@dataclass(frozen=True, slots=True)
class Seconds:
    """The seconds of each part of a step; `engine/clock.py` says what each part counts.

    `draft` is the time for proposing a window with a drafter's network; 0 if no drafter ran.
    """

    forward: float = 0.0
    verify: float = 0.0
    cache: float = 0.0
    draft: float = 0.0

    def __post_init__(self) -> None:
        if min(self.forward, self.verify, self.cache, self.draft) < 0:
            raise ValueError(f"time does not run backwards: {self}")

    @property
    def total(self) -> float:
        return self.forward + self.verify + self.cache + self.draft

    @property
    def micros(self) -> tuple[int, ...]:
        """The parts in whole microseconds, in the order of PARTS."""
        return tuple(round(1e6 * getattr(self, part)) for part in PARTS)
