"""Runs a race and yields what the board shows, in the page's process or a ZeroGPU worker."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.serving.gpu_errors import MESSAGES
from app.settings import SETTINGS
from engine.models.card import ModelCard
from engine.race import Race, RaceRequest
from engine.records import Frame, LaneState
from engine.trace import Header, Trace
from visualize.board import Board
from visualize.swatches import sheet

# Of the wall clock, at most: lanes are not charged for drawing, but it delays the race.
DRAWING_SHARE = 0.4

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueueUpdate:
    """So many races come first; none: the wait is over."""

    ahead: int

    @property
    def text(self) -> str:
        races = "race comes" if self.ahead == 1 else "races come"
        return f"In the queue: {self.ahead} {races} before yours." if self.ahead else ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the board shows now (`visualize.board.Board.snapshot`)."""

    board: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing new to show. Yielded often: between two events a race can be closed."""


Event = QueueUpdate | Snapshot | Idle
Events = Generator[Event, None, None]


def stream(
    race: Race, frames: list[Frame], note: str, deadline: float, deadline_note: str
) -> Generator[Snapshot | Idle, None, None]:
    """Yields a snapshot at once, then as often as DRAWING_SHARE and the settings allow, and Idle
    after every other step. Appends to `frames`. At `deadline`, of time.monotonic, the race is
    stopped with `deadline_note` on the board."""
    board = Board(Header.of(race), race.model.pixels, sheet(race.model))
    board.note = note
    started, drawing, updates = time.monotonic(), 0.0, 0
    due = started
    yield Snapshot(board.snapshot())
    try:
        with contextlib.closing(iter(race)) as moves:
            for frame in moves:
                if frame.failure in MESSAGES:
                    frame = replace(frame, error=MESSAGES[frame.failure])
                frames.append(frame)
                board.fold(frame)
                begin = time.monotonic()
                if begin > deadline:
                    board.note = deadline_note
                    race.stop()
                if frame.step is None or begin < due:
                    yield Idle()
                    continue
                yield Snapshot(board.snapshot())
                spent = time.monotonic() - begin
                due = begin + max(1 / SETTINGS.updates, spent / DRAWING_SHARE)
                drawing, updates = drawing + spent, updates + 1
        yield Snapshot(board.snapshot())
    finally:
        wall = time.monotonic() - started
        share = 100 * drawing / max(wall, 1e-9)
        log.info(
            "race closed: %d frames, %.1f s, %d updates, drawing took %.0f%% of it",
            *(len(frames), wall, updates, share),
        )


def waiting_snapshot(request: RaceRequest, card: ModelCard, note: str, machine: str) -> Snapshot:
    """The board before the model is loaded: its lanes, with nothing drawn and no forced tokens."""
    header = Header(
        prompt=request.prompt,
        seed=request.seed,
        model=card.name,
        grid=card.grid,
        vocab_size=card.codes,
        forced_ids=(-1,) * (card.grid[0] * card.grid[1]),
        sampling=request.sampling,
        lanes=request.lanes,
        machine=machine,
    )
    board = Board(header, lambda tokens: np.zeros((*tokens.shape, 3), np.uint8))
    board.note = note
    return Snapshot(board.snapshot())


def build_trace(race: Race, frames: Sequence[Frame]) -> Trace:
    """The trace of a race that may have been closed before its end: lanes that were racing are
    stopped."""
    last = {frame.lane: frame.state for frame in frames}
    racing = [lane for lane, state in last.items() if state is LaneState.RACING]
    return Trace.of(race, (*frames, *(Frame(lane, LaneState.STOPPED) for lane in racing)))
