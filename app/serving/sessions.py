"""Finished races in memory: the recorded ones that ship with the page and need no model, and those
of each session."""

from __future__ import annotations

import functools
import itertools
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any

from visualize.board import replay
from visualize.recorded_race import RecordedRace

FOLDER = Path(__file__).parents[2] / "static" / "races"
TOUR = "tour"  # the race of the guided tour
MAX_ROWS = 400_000  # of all sessions; a race of five lanes over 16 x 16 tokens has 6,000 to 10,000
_numbers = itertools.count(1)


def recorded_link(name: str) -> str:
    """The query that puts a recorded race on the board."""
    return f"?recorded={name}"


@dataclass(frozen=True, slots=True, eq=False)
class StoredRace:
    """A finished or loaded race with a unique number. Compared by identity, since traces are
    long."""

    number: int
    recording: RecordedRace
    rows: int  # of positions, which take nearly all of its memory
    link: str = ""  # the query that brings it back; empty if there is none
    raced_here: bool = False  # by the visitor, on this machine

    @staticmethod
    def of(recording: RecordedRace, link: str = "", *, raced_here: bool = False) -> StoredRace:
        rows = sum(len(frame.step.positions) for frame in recording.trace.frames if frame.step)
        return StoredRace(next(_numbers), recording, rows, link, raced_here)

    def replay(self) -> dict[str, Any]:
        """The whole race as one snapshot."""
        return replay(self.recording) | {"recorded": not self.raced_here, "link": self.link}


class RecordedRaces:
    """The recorded races of a folder, by file stem; `titles` say what is drawn. Parsed at first
    use."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._texts = {file.stem: file.read_text("utf-8") for file in sorted(folder.glob("*.json"))}
        headers = {name: json.loads(text)["header"] for name, text in self._texts.items()}
        parts = [name for name, header in headers.items() if header.get("infilling")]
        self.titles = {
            name: f"{header['prompt']}{', a part filled in' * (name in parts)}"
            for name, header in headers.items()
        }
        # what the page opens with, and the tour's race that fills in a part
        self.first = next((name for name in self.titles if name not in (TOUR, *parts)), None)
        self.filling = next(iter(parts), None)
        self.race = functools.cache(self._race)
        self.replay = functools.cache(self._replay)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._texts

    def _race(self, name: str) -> StoredRace:
        return StoredRace.of(RecordedRace.loads(self._texts[name]), recorded_link(name))

    def _replay(self, name: str) -> dict[str, Any]:
        return self.race(name).replay()


class Place(Enum):
    """What a session's race is stored as."""

    BOARD = auto()  # what is on its board
    OWN = auto()  # the last that the visitor raced
    BEFORE_TOUR = auto()  # what was on the board when the tour began


class SessionStore:
    """The races of each session. LRU, bounded by the number of sessions and by rows."""

    def __init__(self, max_sessions: int) -> None:
        self._max_sessions, self._lock = max_sessions, threading.Lock()
        self._races: OrderedDict[str, dict[Place, StoredRace]] = OrderedDict()

    def put(self, session: str, race: StoredRace, *places: Place) -> None:
        with self._lock:
            self._races.setdefault(session, {}).update(dict.fromkeys(places, race))
            self._races.move_to_end(session)
            while len(self._races) > 1 and (
                len(self._races) > self._max_sessions or self._rows() > MAX_ROWS
            ):
                self._races.popitem(last=False)

    def _rows(self) -> int:
        return sum(race.rows for races in self._races.values() for race in set(races.values()))

    def get(self, session: str, place: Place) -> StoredRace | None:
        with self._lock:
            if session in self._races:
                self._races.move_to_end(session)
            return self._races.get(session, {}).get(place)

    def drop(self, session: str) -> None:
        with self._lock:
            self._races.pop(session, None)
