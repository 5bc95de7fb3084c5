"""The recorded races that ship with the page and need no model."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from app.serving.race_table import StoredRace
from visualize.recorded_race import RecordedRace
from visualize.snapshot import Snapshot

FOLDER = Path(__file__).parents[2] / "static" / "races"
TOUR = "tour"  # the race of the guided tour


class RecordedRaces:
    """The recorded races of a folder, by file stem, which is their id; `titles` say what is drawn.
    Parsed at first use."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._texts = {file.stem: file.read_text("utf-8") for file in sorted(folder.glob("*.json"))}
        headers = {name: json.loads(text)["header"] for name, text in self._texts.items()}
        parts = [name for name, header in headers.items() if header.get("infilling")]
        self.titles = {
            name: f"{header['prompt']}{', a part filled in' * (name in parts)}"
            for name, header in headers.items()
        }
        # what the page opens with, the tour's race, and the tour's race that fills in a part
        self.first = next((name for name in self.titles if name not in (TOUR, *parts)), None)
        self.tour = TOUR if TOUR in self._texts else None
        self.filling = next(iter(parts), None)
        self.race = functools.cache(self._race)
        self.replay = functools.cache(self._replay)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._texts

    def _race(self, name: str) -> StoredRace:
        return StoredRace(name, RecordedRace.loads(self._texts[name]), f"?recorded={name}")

    def _replay(self, name: str) -> Snapshot:
        return self.race(name).replay()
