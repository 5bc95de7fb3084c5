"""The recorded races that come with the page and need no model."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from app.races.race_table import StoredRace
from engine.infilling import FORK
from visualize.board.snapshot import Snapshot
from visualize.pictures.recorded_race import RecordedRace

FOLDER = Path(__file__).parents[2] / "static" / "races"
TOUR, ROWS, FORKED = "tour", "rows", "fork"  # races of the guided tour


class RecordedRaces:
    """The recorded races of a folder. A race's id is its file's stem.

    `titles` say what each race draws. Each file is parsed when it is first used.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._texts = {file.stem: file.read_text("utf-8") for file in sorted(folder.glob("*.json"))}
        headers = {name: json.loads(text)["header"] for name, text in self._texts.items()}
        self.headers = headers  # each race's prompt, seed, model and more
        orders = {
            name: header["infilling"]["order"]
            for name, header in headers.items()
            if header.get("infilling")
        }
        parts = [name for name, order in orders.items() if order != FORK]
        self.titles = {
            name: header["prompt"]
            + ", a part filled in" * (name in parts)
            + ", with another token" * (orders.get(name) == FORK)
            for name, header in headers.items()
        }
        # the tour's races, by what their chapters are about
        named = {"whole": TOUR, "rows": ROWS, "filling": next(iter(parts), ""), "fork": FORKED}
        self.tours = {about: name for about, name in named.items() if name in self._texts}
        # what the page opens with
        self.first = next((x for x in self.titles if x not in {TOUR, ROWS, *orders}), None)
        self.race = functools.cache(self._race)
        self.replay = functools.cache(self._replay)

    def listed(self) -> list[dict[str, Any]]:
        """Return the id, the title and the seed of each race, for a list of races."""
        return [
            {"id": name, "title": title, "seed": self.headers[name]["seed"]}
            for name, title in self.titles.items()
        ]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._texts

    def _race(self, name: str) -> StoredRace:
        return StoredRace(name, RecordedRace.loads(self._texts[name]), f"?recorded={name}")

    def _replay(self, name: str) -> Snapshot:
        return self.race(name).replay()
