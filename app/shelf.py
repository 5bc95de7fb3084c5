"""The recorded races that come with the page, which need no model, and the last race of each
visitor."""

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

RACES = Path(__file__).parent.parent / "static" / "races"
TOUR = "tour"  # the race that the guided tour is about
MAX_WEIGHT = 400_000  # a race of five lanes over 16 x 16 tokens has some 6,000 to 10,000
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A race that is over, or was loaded, under a number of its own; equal to itself alone, since
    traces are long."""

    number: int
    recording: RecordedRace
    weight: int  # records of positions, nearly all of what a race takes in memory

    @staticmethod
    def of(recording: RecordedRace) -> Kept:
        weight = sum(len(frame.step.positions) for frame in recording.trace.frames if frame.step)
        return Kept(next(_numbers), recording, weight)


class Shelf:
    """The recorded races of a folder, by their files' names; `titles` are their prompts. Files are
    read when first asked for."""

    def __init__(self, folder: Path = RACES) -> None:
        files = sorted(folder.glob("*.json"))
        self._texts = {file.stem: file.read_text("utf-8") for file in files}
        self.titles = {
            name: str(json.loads(text)["header"]["prompt"]) for name, text in self._texts.items()
        }
        self.first = next((name for name in self.titles if name != TOUR), None)
        self.kept = functools.cache(self._kept)
        self.replay = functools.cache(self._replay)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._texts

    def _kept(self, name: str) -> Kept:
        return Kept.of(RecordedRace.loads(self._texts[name]))

    def _replay(self, name: str) -> dict[str, Any]:
        return replay(self.kept(name).recording)


class Visitors:
    """The last race of each session, of the `most` that were last heard of and whose races fit in
    memory together."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._kept: OrderedDict[str, Kept] = OrderedDict()

    def keep(self, session: str, kept: Kept) -> None:
        with self._lock:
            self._kept[session] = kept
            self._kept.move_to_end(session)
            while len(self._kept) > max(1, self._most) or (
                len(self._kept) > 1
                and sum(kept.weight for kept in self._kept.values()) > MAX_WEIGHT
            ):
                self._kept.popitem(last=False)

    def kept(self, session: str) -> Kept | None:
        with self._lock:
            if session in self._kept:
                self._kept.move_to_end(session)
            return self._kept.get(session)

    def forget(self, session: str) -> None:
        with self._lock:
            self._kept.pop(session, None)
