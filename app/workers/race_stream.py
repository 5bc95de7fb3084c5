"""Runs a race and yields what the board shows.

The race runs in the page's process or in a worker: ZeroGPU's, or a racer of a cluster.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Generator
from dataclasses import dataclass, replace

from app.settings import SETTINGS
from app.workers.between_steps import BETWEEN_STEPS
from app.workers.device_thread import use_threads
from app.workers.gpu_errors import MESSAGES
from engine.failures import Failure
from engine.models.base import ImageModel
from engine.models.body import BodyModel
from engine.race import Lane, Race
from engine.race.passes import lane_seconds
from engine.trace import Frame, LaneState, Trace
from visualize.board.board import live_board
from visualize.board.snapshot import Snapshot, Update
from visualize.pictures.recorded_race import RecordedRace, record

# Of the wall clock, at most: lanes are not charged for drawing, but it delays the race.
DRAWING_SHARE = 0.25
SLOW = "On this machine's processor vanilla AR takes about {} a picture."
COLOURS = "A lane shows the colour of each token while it races, and its picture at the end."
SLOW_SECONDS = 3600.0  # at most, for a race on a public model on a CPU
RACE_LIMIT = "Stopped: a race may take at most {:g} seconds on this page."

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Idle:
    """An event with nothing to show. It comes often: a race can be ended only between events."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The last event from another process that ran a race: the race as a file's text."""

    text: str


@dataclass(frozen=True, slots=True)
class WorkerFailure:
    """The last event from another process if the race failed there.

    `message` is for the user. If it is empty, gpu_errors has a message for the kind of failure.
    """

    failure: Failure
    message: str


WorkerEvents = Generator[Snapshot | Update | Idle | Recording | WorkerFailure, None, None]


def duration_words(seconds: float) -> str:
    """Return a duration in words, rounded up: "40 seconds", "3 minutes"."""
    if seconds <= 90:
        return f"{max(10, 10 * math.ceil(seconds / 10))} seconds"
    return f"{math.ceil(seconds / 60)} minutes"


def race_seconds(race: Race) -> float:
    """Return the seconds after which a race is stopped.

    The settings give this time. A race on a public model on a CPU gets twice the estimated time
    of all its lanes' passes if that is longer, but at most SLOW_SECONDS.
    """
    model = race.model
    if not (isinstance(model, BodyModel) and model.card and model.slow_pixels):
        return SETTINGS.race_seconds
    estimates = [lane_seconds(model.card, model.dtype, lane) for lane in race.request.lanes]
    return max(SETTINGS.race_seconds, min(SLOW_SECONDS, 2 * sum(estimates)))


def slow_note(model: ImageModel) -> str:
    """Return how long a public model on a CPU takes for a picture, in vanilla AR's time.

    If the model has no preview decoder, the note also says what lanes show meanwhile. Returns ""
    for a model whose pictures are quick: one on a GPU, or the embedded model.
    """
    if not model.slow_pixels:
        return ""
    note = "" if model.preview else COLOURS
    if isinstance(model, BodyModel) and model.card:
        seconds = lane_seconds(model.card, model.dtype, Lane("ar"))
        note = f"{SLOW.format(duration_words(seconds))} {note}"
    return note.strip()


class RaceStream:
    """Runs a race and yields its events; after them, `trace` and `recording` return the race."""

    def __init__(self, race: Race, note: str, seconds: float, late: str = "") -> None:
        """Prepare a race; the board says `note` or, if that is "", the model's `slow_note`.

        After `seconds` the race is stopped and the board says `late`. By default `late` says
        that the page allows no more seconds.
        """
        self.race, self.frames = race, list[Frame]()
        self._board = live_board(race)
        self._board.note = note or slow_note(race.model)
        self._seconds, self._late = seconds, late or RACE_LIMIT.format(seconds)

    def events(self) -> Generator[Snapshot | Update | Idle, None, None]:
        """Yield a snapshot at once; then, for each frame of the race, an update or an Idle.

        Updates come as often as DRAWING_SHARE and the settings allow. The last event is an update.
        """
        use_threads(self.race.model)
        board, started, drawing, updates = self._board, time.monotonic(), 0.0, 0
        due = started + 1 / SETTINGS.updates
        yield board.snapshot()
        try:
            with BETWEEN_STEPS.race(), contextlib.closing(self._moves()) as moves:
                for frame in moves:
                    if frame.failure in MESSAGES:
                        frame = replace(frame, error=MESSAGES[frame.failure])
                    self.frames.append(frame)
                    board.fold(frame)
                    begin = time.monotonic()
                    if begin > started + self._seconds:
                        board.note = self._late
                        self.race.stop()
                    # The first update is of all lanes' first steps; the end is one, the last.
                    ready = begin >= due or (not updates and board.has_begun)
                    if frame.step is None or not ready or board.is_over:
                        yield Idle()
                        continue
                    yield board.update()
                    spent = time.monotonic() - begin
                    due = begin + max(1 / SETTINGS.updates, spent / DRAWING_SHARE)
                    drawing, updates = drawing + spent, updates + 1
            yield board.update()
        finally:
            wall = time.monotonic() - started
            log.info(
                "race closed: %d frames, %.1f s, %d updates, drawing took %.0f%% of it",
                len(self.frames),
                wall,
                updates,
                100 * drawing / max(wall, 1e-9),
            )

    def _moves(self) -> Generator[Frame, None, None]:
        with contextlib.closing(iter(self.race)) as moves:
            while True:
                with BETWEEN_STEPS.step():
                    frame = next(moves, None)
                if frame is None:
                    return
                yield frame

    def trace(self) -> Trace:
        """Return the race's trace, also if the race was closed before its end.

        Lanes that were still racing then are recorded as stopped.
        """
        last = {frame.lane: frame.state for frame in self.frames}
        racing = [lane for lane, state in last.items() if state is LaneState.RACING]
        ends = (Frame(lane, LaneState.STOPPED) for lane in racing)
        return self.race.trace((*self.frames, *ends))

    def recording(self) -> RecordedRace:
        """Return the race's recording. Raises TraceError if the race is too long for a file."""
        return record(self.trace(), self.race.model, self._board.pictures())
