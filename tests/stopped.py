"""Races that someone stops."""

from __future__ import annotations

from engine.race import Race
from engine.trace import Trace


def run_until(race: Race, stop: int | None) -> Trace:
    """The trace of a race that is stopped after so many frames; of a whole one, if None."""
    frames = []
    for frame in race:
        frames.append(frame)
        if len(frames) == stop:
            race.stop()
    return race.trace(frames)
