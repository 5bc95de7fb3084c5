"""The streams of several racers, merged into one.

Each stream is read in a thread of its own. So neither a slow racer nor a racer that has yet to
start keeps the page from ending a race.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.workers.race_stream import Idle, Recording, WorkerFailure
from visualize.board.snapshot import Snapshot, Update

IDLE_SECONDS = 0.25  # without an event, after which an Idle is sent

Event = Snapshot | Update | Idle | Recording | WorkerFailure


class Stream(Protocol):
    """A race's events from a racer, as Ray Serve's handles give them."""

    def __iter__(self) -> Iterator[Event]: ...

    def cancel(self) -> None:
        """End the race after the step in progress; iterating over the stream then raises.

        This may be called from any thread, any number of times, and before the race has a
        racer.
        """


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None = None


def merge(streams: Sequence[Stream]) -> Generator[tuple[int, Event], None, None]:
    """Yield the events of all streams as they come, each with its stream's number.

    (0, Idle()) is yielded if no stream has an event for IDLE_SECONDS. If a stream raises, this
    generator raises the same exception. All streams are cancelled when this generator ends, is
    closed or raises.
    """
    events: queue.Queue[tuple[int, Event | _End]] = queue.Queue()

    def read(i: int) -> None:
        error: BaseException | None = None
        try:
            for event in streams[i]:
                events.put((i, event))
        except BaseException as caught:  # asyncio's CancelledError is not an Exception
            error = caught
        events.put((i, _End(error)))

    for i in range(len(streams)):
        threading.Thread(target=read, args=(i,), name=f"racer {i}", daemon=True).start()
    running = len(streams)
    try:
        while running:
            try:
                i, event = events.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                yield 0, Idle()
                continue
            if not isinstance(event, _End):
                yield i, event
            elif event.error is None:
                running -= 1
            else:
                raise event.error
    finally:
        for stream in streams:
            stream.cancel()
