"""The page's model: what is known of it before its weights are read, and their reading behind the
open page."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from app.form import Entry
from engine.decoders import DECODERS
from engine.models import load
from engine.models.base import ImageModel
from engine.models.card import Card
from engine.race import Lane, Race
from engine.settings import Sampling
from engine.trace import Header
from visualize.board import Board
from visualize.swatches import sheet

LOADING = "Loading the model…"
WEIGHTS = Path(__file__).parent.parent / "weights"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the page says of a model that is not there yet. `world` holds the lists of words that it
    knows."""

    name: str
    grid: tuple[int, int]
    codes: int
    cells: tuple[int, ...]
    sampling: Sampling
    world: dict[str, Any]

    @staticmethod
    def of(model: ImageModel) -> Facts:
        return Facts(
            model.name,
            model.grid,
            model.vocab_size,
            model.cells,
            model.sampling,
            getattr(model, "world", {}),
        )

    @staticmethod
    def on(card: Card) -> Facts:
        """Of a public model. Where its forced tokens stand is not known yet: the board that waits
        has none."""
        return Facts(
            card.name,
            card.grid,
            card.codes,
            tuple(range(card.grid[0] * card.grid[1])),
            card.sampling,
            {},
        )

    @staticmethod
    def embedded(weights: Path = WEIGHTS) -> Facts:
        """Of the model that came with the repository, from its configuration alone."""
        world = json.loads((weights / "world.json").read_text("utf-8"))
        cells = json.loads((weights / "target" / "config.json").read_text("utf-8"))["image_tokens"]
        codes = json.loads((weights / "vq" / "config.json").read_text("utf-8"))["codes"]
        side = int(cells**0.5)
        return Facts(
            "embedded",
            (side, side),
            codes,
            tuple(range(cells)),
            Sampling(**world.get("sampling", {})),
            world,
        )

    def header(self, entry: Entry, machine: str) -> Header:
        """The header of a race that will run on this machine."""
        return Header(
            entry.prompt,
            entry.seed,
            self.name,
            self.grid,
            self.codes,
            self.cells,
            entry.sampling,
            tuple(lane.plain() for lane in entry.lanes),
            machine,
        )


class Loader:
    """Loads and warms a model once, in a thread of its own. Whoever needs it first, or `start`,
    begins it. `note` says how far it is, where `load` tells."""

    def __init__(self, load: Callable[[], ImageModel], note: str = LOADING) -> None:
        self._load, self._lock = load, threading.Lock()
        self._loaded: Future[ImageModel] | None = None
        self.note = note

    def start(self) -> Future[ImageModel]:
        with self._lock:
            if self._loaded is None:
                self._loaded = Future()
                threading.Thread(
                    target=self._run, args=(self._loaded,), name="model", daemon=True
                ).start()
            return self._loaded

    def wait(self, seconds: float) -> ImageModel | None:
        """The model, or None if it takes longer. Raises what its loading raised."""
        future = self.start()
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():
                raise
            return None

    @property
    def done(self) -> bool:
        return self._loaded is not None and self._loaded.done()

    def _run(self, loaded: Future[ImageModel]) -> None:
        try:
            loaded.set_result(self._load())
        except Exception as error:  # it is told to every visitor who asks for a race
            log.exception("the model could not be loaded")
            loaded.set_exception(error)


def warm(model: ImageModel, lanes: Sequence[str] = tuple(DECODERS)) -> ImageModel:
    """Runs what a first race would otherwise wait for: a few steps of each lane, and pictures of up
    to so many at a time."""
    for count in range(1, len(lanes) + 1):
        model.pixels(np.zeros((count, *model.grid), int))
    race = Race(model, [Lane(name) for name in lanes], "warm", 0)
    board = Board(race.header, model.pixels, sheet(model))
    with contextlib.closing(iter(race)) as moves:
        for _, frame in zip(range(4 * len(lanes)), moves, strict=False):
            board.fold(frame)
    board.snapshot()
    return model


def load_embedded() -> ImageModel:
    """The model that came with the repository, on the CPU whatever else is here: it is small enough
    to do without a GPU."""
    # More threads than two gain such a small model nothing; one waits for whoever else wants its
    # core, and all wait for it. So one core is left to the page, and to the browser where that is
    # on the same machine.
    torch.set_num_threads(max(1, min(2, (os.cpu_count() or 2) - 1)))
    return warm(load("embedded"))
