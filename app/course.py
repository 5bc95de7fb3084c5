"""A race, run and drawn: as snapshots of the board, on whatever machine the model is."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from app.settings import SETTINGS
from app.trouble import words
from engine.race import Race
from engine.trace import Frame, LaneState, Trace
from visualize.board import Board
from visualize.swatches import sheet

# of the wall clock, at most; the lanes are not charged for it, but the visitor waits
DRAWING_SHARE = 0.4

log = logging.getLogger(__name__)


def run(
    race: Race, frames: list[Frame], note: str, end: float, why: str
) -> Iterator[dict[str, Any] | None]:
    """Yields snapshots, the first at once, then as often as drawing may; and None after each step
    without one. `frames` takes what happens. At `end`, on time.monotonic, the race is stopped and
    the board says `why`."""
    board = Board(race.header, race.model.pixels, sheet(race.model))
    board.note = note
    started, drawing, updates = time.monotonic(), 0.0, 0
    due = started
    yield board.snapshot()
    try:
        with contextlib.closing(iter(race)) as moves:
            for frame in moves:
                if frame.error and (said := words(frame.error)):
                    frame = replace(frame, error=said)
                frames.append(frame)
                board.fold(frame)
                begin = time.monotonic()
                if begin > end:
                    board.note = why
                    race.stop()
                if frame.step is None or begin < due:
                    yield None
                    continue
                yield board.snapshot()
                spent = time.monotonic() - begin
                due = begin + max(1 / SETTINGS.updates, spent / DRAWING_SHARE)
                drawing, updates = drawing + spent, updates + 1
        yield board.snapshot()
    finally:
        wall = time.monotonic() - started
        log.info(
            "race closed: %d frames, %.1f s, %d updates, drawing took %.0f%% of it",
            len(frames),
            wall,
            updates,
            100 * drawing / max(wall, 1e-9),
        )


def traced(race: Race, frames: Sequence[Frame]) -> Trace:
    """The trace of what there is of a race; lanes that were cut off have stopped."""
    last = {frame.lane: frame.state for frame in frames}
    cut = [
        Frame(lane, LaneState.STOPPED) for lane, state in last.items() if state is LaneState.RACING
    ]
    return race.trace((*frames, *cut))
