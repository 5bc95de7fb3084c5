"""Finished races in memory: the recorded ones that ship with the page and need no model, and the
last race of each session."""

from __future__ import annotations

import functools
import itertools
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visualize.board import replay
from visualize.recorded_race import RecordedRace

FOLDER = Path(__file__).parents[2] / "static" / "races"
TOUR = "tour"  # the race of the guided tour
MAX_ROWS = 400_000  # of all sessions; a race of five lanes over 16 x 16 tokens has 6,000 to 10,000
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, eq=False)
class StoredRace:
    """A finished or loaded race with a unique number. Compared by identity, since traces are
    long."""

    number: int
    recording: RecordedRace
    rows: int  # of positions, which take nearly all of its memory

    @staticmethod
    def of(recording: RecordedRace) -> StoredRace:
        rows = sum(len(frame.step.positions) for frame in recording.trace.frames if frame.step)
        return StoredRace(next(_numbers), recording, rows)


class RecordedRaces:
    """The recorded races of a folder, by file stem; `titles` are their prompts. Parsed at first
    use."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._texts = {file.stem: file.read_text("utf-8") for file in sorted(folder.glob("*.json"))}
        self.titles = {
            name: str(json.loads(text)["header"]["prompt"]) for name, text in self._texts.items()
        }
        self.first = next((name for name in self.titles if name != TOUR), None)
        self.race = functools.cache(self._race)
        self.replay = functools.cache(self._replay)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._texts

    def _race(self, name: str) -> StoredRace:
        return StoredRace.of(RecordedRace.loads(self._texts[name]))

    def _replay(self, name: str) -> dict[str, Any]:
        return replay(self.race(name).recording)


class SessionStore:
    """The last race of each session. LRU, bounded by the number of sessions and by rows."""

    def __init__(self, max_sessions: int) -> None:
        self._max_sessions, self._lock = max_sessions, threading.Lock()
        self._races: OrderedDict[str, StoredRace] = OrderedDict()

    def put(self, session: str, race: StoredRace) -> None:
        with self._lock:
            self._races[session] = race
            self._races.move_to_end(session)
            while len(self._races) > 1 and (
                len(self._races) > self._max_sessions
                or sum(race.rows for race in self._races.values()) > MAX_ROWS
            ):
                self._races.popitem(last=False)

    def get(self, session: str) -> StoredRace | None:
        with self._lock:
            if session in self._races:
                self._races.move_to_end(session)
            return self._races.get(session)

    def drop(self, session: str) -> None:
        with self._lock:
            self._races.pop(session, None)
