"""LiveRace: a race from the moment it is asked for to its end. It runs in a thread of its own and
goes on while a page is reloaded."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator

import gradio as gr

from app.serving.fair_queue import Ticket
from app.serving.race_stream import stopped_board
from engine.race import RaceRequest
from engine.trace import LaneState
from visualize.recorded_race import RecordedRace
from visualize.snapshot import Snapshot

WATCH_SECONDS = 0.25  # between two looks of a page at a race that has nothing new
PASS_ON_SECONDS = 0.5  # at most, for a page to pass a board on
UNWATCHED_SECONDS = 20.0  # after which a race that no page looks at is stopped
UNWATCHED = "Stopped: its page was gone."
OVER = (LaneState.FINISHED, LaneState.STOPPED)
Boards = Generator[Snapshot | None, None, None]  # None: nothing new


class LiveRace:
    """What its thread shows, and the pages that watch. `link` is the query with its settings."""

    def __init__(
        self, race_id: str, request: RaceRequest, link: str, ticket: Ticket, board: Snapshot
    ) -> None:
        """`board` is what there is to see before it begins."""
        self.id, self.request, self.link, self.ticket = race_id, request, link, ticket
        self.recording: RecordedRace | None = None
        self.stopped = threading.Event()  # by its visitor
        self._turn = threading.Condition()
        self._board = self._named(board, 0)
        self._last: Snapshot | None = None
        self._shown, self._passed_on = 1, 0  # boards
        self._watchers, self._seen = 0, time.monotonic()
        self._over = False
        self._error: gr.Error | None = None

    @property
    def ends(self) -> bool:
        """Whether it is to end after the step in progress."""
        return self.stopped.is_set() or bool(self.reason)

    @property
    def reason(self) -> str:
        """Why it ends, where its visitor did not stop it; user-readable."""
        gone = time.monotonic() - self._seen > UNWATCHED_SECONDS
        return self.ticket.cancelled or (UNWATCHED if gone else "")

    def stop(self) -> None:
        """Ends it after the step in progress, or takes it out of the queue."""
        self.stopped.set()

    def begin(self) -> None:
        """Waits until a page has passed the first board on, whose lanes are empty."""
        with self._turn:
            self._turn.wait_for(lambda: self._passed_on > 0, PASS_ON_SECONDS)

    def show(self, board: Snapshot) -> None:
        """Shows a snapshot and waits until a page has passed it on: that takes a processor, and
        happens between two steps, in no lane's seconds. The last one is shown by `end`, when the
        race can be asked for."""
        if board.state in OVER:
            self._last = board
            return
        with self._turn:
            self._show(board)
            self._turn.wait_for(
                lambda: self._passed_on == self._shown or not self._watchers, PASS_ON_SECONDS
            )

    def end(self, error: gr.Error | None) -> None:
        """Shows the race as it ended. Those who watch get the error."""
        note = error.message if error else self.reason
        with self._turn:
            self._over, self._error = True, error
            self._show(self._last or stopped_board(self._board, note))

    def watch(self) -> Boards:
        """Yields the newest board, again and again until the race has ended. Raises gr.Error."""
        number = 0
        with self._turn:
            self._watchers += 1
        try:
            while True:
                board, newest, over = self._wait(number)
                if newest == number and over:
                    break
                yield board if newest > number else None
                number = newest
        finally:
            with self._turn:
                self._watchers -= 1
                self._turn.notify_all()
        if self._error is not None:
            raise self._error

    def _wait(self, number: int) -> tuple[Snapshot, int, bool]:
        """The newest board, its number, and whether it is the last, once there is a newer one than
        `number`, which has been passed on, or WATCH_SECONDS are over."""
        with self._turn:
            self._passed_on, self._seen = max(self._passed_on, number), time.monotonic()
            self._turn.notify_all()
            self._turn.wait_for(lambda: self._shown > number or self._over, WATCH_SECONDS)
            return self._board, self._shown, self._over

    def _named(self, board: Snapshot, seq: int) -> Snapshot:
        return board.model_copy(update={"id": self.id, "link": self.link, "seq": seq})

    def _show(self, board: Snapshot) -> None:
        self._board = self._named(board, self._shown)
        self._shown += 1
        self._turn.notify_all()
