"""Progress of loading a model, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum


class Phase(Enum):
    LOOKING_UP = "Looking for"
    DOWNLOADING = "Downloading"
    LOADING = "Loading"
    FITTING = "Fitting a preview decoder to"
    WARMING = "Warming up"


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress in a phase: `fraction`, from 0 to 1, is done.

    While downloading, `done` is the number of bytes received out of `total`.
    """

    phase: Phase
    fraction: float
    done: int = 0
    total: int = 0

    def within(self, start: float, width: float) -> Progress:
        """Return this progress as part of a longer process.

        The part begins at the fraction `start` of that process and takes the fraction `width` of
        it.
        """
        return replace(self, fraction=start + width * self.fraction)

    def text(self, title: str) -> str:
        """Return text like `Downloading Janus-Pro 1B, 43% (1.8 of 4.2 GB)`."""
        amount = f" ({self.done / 1e9:.1f} of {self.total / 1e9:.1f} GB)" if self.total else ""
        return f"{self.phase.value} {title}, {min(max(self.fraction, 0), 1):.0%}{amount}"


# May be called from any thread.
Report = Callable[[Progress], None]
