"""LiveRace: a race from the moment it is asked for to its end.

The race runs in a thread of its own and goes on while a page is reloaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from dataclasses import dataclass, replace

import gradio as gr

from app.races.event_stream import NOTHING, EventStream
from app.races.fair_queue import Ticket
from app.workers.waiting import Waiting
from engine.race import RaceRequest
from engine.trace import LaneState
from visualize.board.snapshot import LaneFigures, LaneUpdate, Snapshot, Update
from visualize.pictures.recorded_race import RecordedRace

WATCH_SECONDS = 0.25  # a program looks at the race this often where nothing is new
BEGIN_SECONDS = 0.5  # a race waits no longer for a page to have its first message
PASS_ON_SECONDS = 0.05  # it waits no longer for its watchers to be sent an update
ALIVE_SECONDS = 10.0  # a stream sends something this often, so that no proxy takes it for dead
UNWATCHED_SECONDS = 20.0  # after which a race that nobody watches is stopped
UNWATCHED = "Stopped: no page was watching it any more."
MAX_BETS = 10_000
OVER = (LaneState.FINISHED, LaneState.STOPPED)
Boards = Generator[Snapshot | None, None, None]  # None: nothing new


@dataclass(slots=True, eq=False)
class _Watcher:
    """A reader of the race's stream. `wake` is called when there is something new."""

    wake: Callable[[], object]
    offset: int = 0  # chunks that it has been given
    ack: int = 0  # chunks that it had when it last asked for more
    gone: bool = False


class LiveRace:
    """A race with its watchers.

    `link` is the query with the race's settings. `board` is the board as it is now, without the
    patches of pictures. A series is one race from several seeds; its races share `stopped`.
    """

    def __init__(
        self,
        race_id: str,
        waiting: Waiting,
        link: str,
        ticket: Ticket,
        stopped: threading.Event | None = None,
    ) -> None:
        self.id, self.link, self.ticket = race_id, link, ticket
        self._waiting = waiting
        self.key = secrets.token_urlsafe(9)  # whoever has it may stop the race
        self.recording: RecordedRace | None = None
        self.stopped = stopped or threading.Event()  # set when the visitor stops the race
        self._turn = threading.Condition()
        self._events = EventStream()
        self._last: Snapshot | Update | None = None
        self._watchers: list[_Watcher] = []
        self._bets: dict[str, int] = {}  # each voter's lane
        self._seen = time.monotonic()
        self._over = False
        self._error: gr.Error | None = None
        self._show(waiting.board())

    @property
    def request(self) -> RaceRequest:
        return self._waiting.request

    @property
    def ends(self) -> bool:
        """Whether the race is to end after the step in progress."""
        return self.stopped.is_set() or bool(self.reason)

    @property
    def reason(self) -> str:
        """Why the race ends although its visitor did not stop it, for the user; else ""."""
        gone = not self._watchers and time.monotonic() - self._seen > UNWATCHED_SECONDS
        return self.ticket.cancelled or (UNWATCHED if gone else "")

    def stop(self) -> None:
        """End the race after the step in progress, or take it out of the queue."""
        self.stopped.set()

    def begin(self) -> None:
        """Wait at most BEGIN_SECONDS until a page has the first board, whose lanes are empty."""
        with self._turn:
            self._turn.wait_for(lambda: any(each.ack for each in self._watchers), BEGIN_SECONDS)

    def wait_for(self, note: str) -> None:
        """Show what the race waits for before it begins."""
        self.show(replace(self._waiting, note=note).board())

    def show(self, event: Snapshot | Update) -> None:
        """Show an event, and wait at most PASS_ON_SECONDS until it was sent to the watchers.

        Sending takes processor time, so it happens between two steps and counts in no lane's
        seconds. Watchers that have not yet read an earlier event are not waited for.

        An event that ends the race is shown as if the race went on, and without results: pages that
        see the end ask for the recording, which is not kept yet. `end` shows the end later, when
        the recording is kept.
        """
        if event.state in OVER:
            self._last = event
            event = event.model_copy(update={"state": LaneState.RACING, "results": ()})
        with self._turn:
            quick = [each for each in self._watchers if each.ack == len(self._events.chunks)]
            self._show(event)
            number = len(self._events.chunks)
            self._turn.wait_for(
                lambda: all(each.ack == number or each.gone for each in quick), PASS_ON_SECONDS
            )

    def end(self, error: gr.Error | None) -> None:
        """Show how the race ended. Programs that watch the race get `error`."""
        last, note = self._last, error.message if error else self.reason
        if last is None:
            last = _stopped_update(self.board, note)
        else:
            now = {"lanes": (), "patches": ""} | ({"note": note} if error else {})
            facts = {name: getattr(last, name) for name in ("seq", "state", "note", "results")}
            last = Update(**facts | now)
        with self._turn:
            self._over, self._error = True, error
            self._show(last)
            self._events.close()

    def watch(self) -> Boards:
        """Yield the newest board, or None if nothing is new, until the race has ended.

        This is for programs' calls in this process. Raises gr.Error if the race failed.
        """
        with self._watching(_Watcher(self._turn.notify_all)) as watcher:
            while True:
                with self._turn:
                    new = self._take(watcher)
                    if not new and not self._over:
                        self._turn.wait(WATCH_SECONDS)
                        new = self._take(watcher)
                    board, over = self.board, self._over
                if new or not over:
                    yield board if new else None
                else:
                    break
        if self._error is not None:
            raise self._error

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds`; return whether the race is over. Raises gr.Error if it failed."""
        with self._turn:
            self._turn.wait_for(lambda: self._over, seconds)
            if self._error is not None:
                raise self._error
            return self._over

    def bet(self, voter: str, lane: int) -> bool:
        """Place a voter's bet on a lane, in place of an earlier bet; return whether the bet counts.

        A bet does not count if bets are closed, there is no such lane, or too many voters have
        bet.
        """
        with self._turn:
            lanes, cells = self.board.lanes, sum(cell >= 0 for cell in self.board.cells)
            closed = self._over or any(2 * each.n >= cells for each in lanes)
            if (
                closed
                or lane >= len(lanes)
                or (voter not in self._bets and len(self._bets) >= MAX_BETS)
            ):
                return False
            self._bets[voter] = lane
            return True

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of the race's EventStream, from the first on, until the race is over."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the server is being closed
                loop.call_soon_threadsafe(news.set)

        with self._watching(_Watcher(wake)) as watcher:
            while True:
                news.clear()
                with self._turn:
                    chunks, over = self._take(watcher), self._over
                if chunks:
                    yield b"".join(chunks)
                elif over:
                    return
                else:
                    try:
                        await asyncio.wait_for(news.wait(), ALIVE_SECONDS)
                    except TimeoutError:
                        yield NOTHING

    @contextlib.contextmanager
    def _watching(self, watcher: _Watcher) -> Iterator[_Watcher]:
        with self._turn:
            self._watchers.append(watcher)
        try:
            yield watcher
        finally:
            with self._turn:
                self._watchers.remove(watcher)
                watcher.gone, self._seen = True, time.monotonic()
                self._turn.notify_all()

    def _take(self, watcher: _Watcher) -> list[bytes]:
        """Return the watcher's next chunks, and mark all chunks before these as received."""
        watcher.ack = watcher.offset
        self._turn.notify_all()
        new = self._events.chunks[watcher.offset :]
        watcher.offset += len(new)
        return new

    def _show(self, event: Snapshot | Update) -> None:
        number = len(self._events.chunks)
        if isinstance(event, Snapshot):
            named = {"id": self.id, "link": self.link, "seq": number}
            self.board = event.model_copy(update=named)
            self._events.add("snapshot", number, self.board)
        else:
            tally = Counter(self._bets.values())
            bets = tuple(tally[i] for i in range(len(self.board.lanes))) if tally else ()
            update = event.model_copy(update={"seq": number, "bets": bets})
            self.board = self.board.after(update)
            self._events.add("update", number, update)
        for watcher in self._watchers:
            watcher.wake()


def _stopped_update(board: Snapshot, note: str) -> Update:
    """Return the last update for a race that ended without one: every lane stops where it was."""
    going = (LaneState.WAITING, LaneState.RACING)
    lanes = tuple(
        LaneUpdate(
            **{name: getattr(lane, name) for name in LaneFigures.model_fields}
            | {"state": LaneState.STOPPED},
            lane=i,
            table={},
            cells=(),
            picture="",
        )
        for i, lane in enumerate(board.lanes)
        if lane.state in going
    )
    state = LaneState.STOPPED
    return Update(seq=board.seq, state=state, note=note, lanes=lanes, patches="", results=())
