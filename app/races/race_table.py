"""RaceTable: every race to which a visitor can come back, by the race's id."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from app.races.live_race import LiveRace
from engine.race.hardware import is_of_this_machine
from visualize.board.board import replay
from visualize.board.snapshot import Snapshot
from visualize.figures.figures import Figure, figures
from visualize.pictures.recorded_race import RecordedRace

MAX_BYTES = 256 * 2**20  # for one visitor's races, with rejected distributions
MAX_ADDRESS_BYTES = 4 * MAX_BYTES  # for one address: perhaps a class behind one router
STEP_BYTES = 2048  # for the Python objects of a step, besides the step's rows
KEPT_SECONDS = 600.0  # how long races are kept after their visitor's page is gone


def new_id() -> str:
    """Return a race's id, which cannot be guessed: everyone who has it can see the race."""
    return secrets.token_urlsafe(9)


@dataclass(frozen=True, eq=False)
class StoredRace:
    """A race that is over, or from a file. Traces are long, so races compare by identity."""

    id: str
    recording: RecordedRace
    link: str = ""  # the query with the settings; "" if this page cannot race them
    raced_here: bool = False  # whether the visitor raced it on this machine

    @cached_property
    def bytes(self) -> int:
        """The race's approximate size in memory, in bytes."""
        trace, pictures = self.recording.trace, self.recording.pictures
        steps = [frame.step.rows for frame in trace.frames if frame.step]
        rows = sum(array.nbytes for table in steps for array in table.arrays().values())
        files = (pictures.swatches, *filter(None, pictures.lanes)) if pictures else ()
        return rows + STEP_BYTES * len(steps) + len(trace.codebook) + sum(map(len, files))

    @cached_property
    def figures(self) -> list[Figure]:
        return figures(self.recording.trace)

    def replay(self) -> Snapshot:
        """Return the whole race as one snapshot of the board at the race's end."""
        machine, recorded = self.recording.trace.header.machine, not self.raced_here
        own = {"id": self.id, "link": self.link, "recorded": recorded}
        own["elsewhere"] = recorded and not is_of_this_machine(machine)
        return replay(self.recording).model_copy(update=own)


@dataclass(slots=True)
class _Entry:
    """A race, with the visitor and the address whose share of memory the race takes.

    `leave_time` is the time in seconds at which the visitor left the page; None before that.
    """

    visitor: str
    address: str
    race: LiveRace | StoredRace
    key: str  # the secret of a race that began here: only its visitor can send it
    stopped: threading.Event | None  # set by that visitor to end the race and its series
    leave_time: float | None = None

    @property
    def bytes(self) -> int:
        return self.race.bytes if isinstance(self.race, StoredRace) else 0


class RaceTable:
    """Races in progress and races that are over, by id.

    The table keeps at most MAX_BYTES of races for a visitor and MAX_ADDRESS_BYTES for an address.
    Beyond that, the least recently used races are dropped. The table keeps races of at most
    `max_visitors` visitors. For each visitor more, the table drops all races of one visitor. It
    takes the address with the most visitors, and there the visitor whose races have been unused for
    longest. Races are also dropped KEPT_SECONDS after their visitor's page is gone. A race in
    progress is never dropped.
    """

    def __init__(self, max_visitors: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_visitors, self._clock = max_visitors, clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def put(self, visitor: str, address: str, race: LiveRace | StoredRace) -> None:
        with self._lock:
            key, stopped = ("", None)
            if isinstance(race, LiveRace):
                key, stopped = race.key, race.stopped
            self._entries[race.id] = entry = _Entry(visitor, address, race, key, stopped)
            self._make_room(entry)

    def finish(self, race_id: str, race: StoredRace | None) -> None:
        """Replace a race in progress by its recording; without a recording, drop the race."""
        with self._lock:
            entry = self._entries.pop(race_id, None)
            if entry is not None and race is not None:
                self._entries[race_id], entry.race = entry, race
                self._make_room(entry)

    def get(self, race_id: Any, visitor: str | None, key: Any = "") -> LiveRace | StoredRace | None:
        """Return a race, or None if the race is not kept or never was.

        A visitor who asks for a race becomes its owner if the owner's page is gone, or if the
        visitor sends the race's key.
        """
        with self._lock:
            self._drop_expired()
            entry = self._entries.get(race_id) if isinstance(race_id, str) else None
            if entry is None:
                return None
            self._entries.move_to_end(entry.race.id)
            own = entry.leave_time is not None or (entry.key and key == entry.key)
            if own and visitor is not None:
                entry.visitor, entry.leave_time = visitor, None
            return entry.race

    def stop(self, race_id: str, visitor: str) -> None:
        """Stop a race that the visitor began here; if it is over, stop the rest of its series.

        A series is one race from several seeds, one after another.
        """
        with self._lock:
            entry = self._entries.get(race_id)
            if entry is not None and entry.visitor == visitor and entry.stopped is not None:
                entry.stopped.set()

    def live(self, visitor: str) -> LiveRace | None:
        """Return the visitor's own race in progress, or None."""
        with self._lock:
            races = self._races_of(visitor)
            return next((race for race in races if isinstance(race, LiveRace)), None)

    def leave(self, visitor: str) -> None:
        """Note that the visitor's page is gone."""
        with self._lock:
            for entry in self._entries.values():
                if entry.visitor == visitor:
                    entry.leave_time = self._clock()

    def _races_of(self, visitor: str) -> Iterator[LiveRace | StoredRace]:
        """Yield the visitor's races, the most recently used first."""
        entries = reversed(self._entries.values())
        return (entry.race for entry in entries if entry.visitor == visitor)

    def _make_room(self, newest: _Entry) -> None:
        self._drop_expired()
        self._bound(newest, MAX_BYTES, lambda entry: entry.visitor == newest.visitor)
        self._bound(newest, MAX_ADDRESS_BYTES, lambda entry: entry.address == newest.address)
        away = self._visitors_away()
        self._drop_stored(lambda entry: entry.visitor in away)

    def _bound(self, newest: _Entry, most: int, same: Callable[[_Entry], bool]) -> None:
        """Drop races for which `same` is true until those left have at most `most` bytes together.

        The least recently used races are dropped first. `newest`, which is one of the races, is
        dropped only if it alone has more than `most` bytes.
        """
        room = most - newest.bytes
        for entry in reversed([*filter(same, self._entries.values())]):
            if entry is newest:
                continue
            room -= entry.bytes
            if room < 0 and isinstance(entry.race, StoredRace):
                del self._entries[entry.race.id]
        if newest.bytes > most:
            self._entries.pop(newest.race.id, None)

    def _visitors_away(self) -> set[str]:
        """Return the visitors whose races must be dropped so that `max_visitors` visitors are left.

        The visitors are picked one after another. Each time, the address with the most remaining
        visitors loses the one whose races have been unused for longest.
        """
        here: dict[str, str] = {}  # the addresses of visitors, who was here last first
        for entry in reversed(self._entries.values()):
            here.setdefault(entry.visitor, entry.address)
        away = set()
        while len(here) > self._max_visitors:
            count = Counter(here.values())
            most = max(count.values())
            away.add(longest := next(v for v in reversed(here) if count[here[v]] == most))
            del here[longest]
        return away

    def _drop_expired(self) -> None:
        since = self._clock() - KEPT_SECONDS
        self._drop_stored(lambda entry: entry.leave_time is not None and entry.leave_time < since)

    def _drop_stored(self, goes: Callable[[_Entry], bool]) -> None:
        for race_id, entry in list(self._entries.items()):
            if isinstance(entry.race, StoredRace) and goes(entry):
                del self._entries[race_id]
