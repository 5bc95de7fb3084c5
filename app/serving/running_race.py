"""A race in progress for one session."""

from __future__ import annotations

import threading

from app.serving.fair_queue import Ticket
from app.serving.race_stream import build_trace
from engine.race import Race
from engine.trace import Frame
from visualize.recorded_race import RecordedRace, record


class RunningRace:
    """A race in progress, and its result so far: frames if it runs in this process, else the text
    of its recording."""

    def __init__(self, ticket: Ticket) -> None:
        self.ticket, self.over = ticket, threading.Event()
        self.stopped = self.left = False  # left: the visitor has closed the page
        self.race: Race | None = None
        self.frames: list[Frame] = []
        self.recording = ""

    def stop(self) -> None:
        """Ends it after the step in progress; may be called from any thread."""
        self.stopped = True
        if self.race is not None:
            self.race.stop()

    def finish(self) -> RecordedRace | None:
        """None for a race that did not begin, or that ZeroGPU's worker did not finish."""
        if self.recording:
            return RecordedRace.loads(self.recording)
        if self.race is None or not self.frames:
            return None
        return record(build_trace(self.race, self.frames), self.race.model)
