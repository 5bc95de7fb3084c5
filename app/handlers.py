"""What happens when a visitor presses Race or Stop, or closes the page."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
import torch

from app.form import MAX_MESSAGE, read
from app.settings import SETTINGS
from app.world import hint, words
from engine.decoders import DECODERS
from engine.models import load
from engine.models.base import ImageModel
from engine.race import Lane, Race
from engine.settings import SettingError
from engine.trace import Header
from visualize.board import Board

DRAWING_SHARE = 0.4  # of the wall clock, at most; the lanes are not charged for it, but the visitor waits

log = logging.getLogger(__name__)


class Races:
    """The page's races, all over one model. The page's queue lets one run at a time."""

    def __init__(self, model: ImageModel) -> None:
        self.model = model
        self._known = words(getattr(model, "world", {}))
        self._running: dict[str | None, Race] = {}

    def idle(self) -> dict[str, Any]:
        """The board before any race: the lanes that stand ready."""
        lanes = [Lane(name) for name, decoder in DECODERS.items() if decoder.default]
        header = replace(Header.of(Race(self.model, lanes, "ready", 0)), prompt="")
        return Board(header, self.model.pixels).snapshot()

    def race(self, request: gr.Request, *values: Any) -> Iterator[dict[str, Any]]:
        """Yields snapshots of the board: the first at once, then as often as drawing may."""
        try:
            entry = read(*values)
            race = Race(self.model, entry.lanes, entry.prompt, entry.seed, entry.sampling)
        except SettingError as error:
            raise gr.Error(str(error)[:MAX_MESSAGE], print_exception=False) from error
        board = Board(Header.of(race), self.model.pixels)
        board.note = hint(race.prompt, self._known)
        session = request.session_hash if request else None
        self._running[session] = race
        started, drawing, frames, updates = time.monotonic(), 0.0, 0, 0
        due = started
        try:
            yield board.snapshot()
            with contextlib.closing(iter(race)) as moves:
                for frame in moves:
                    frames += 1
                    board.fold(frame)
                    begin = time.monotonic()
                    if begin - started > SETTINGS.race_seconds:
                        board.note = f"Stopped: a race may take {SETTINGS.race_seconds:g} seconds on this page."
                        race.stop()
                    if frame.step is None or begin < due:
                        continue
                    yield board.snapshot()
                    spent = time.monotonic() - begin
                    due = begin + max(1 / SETTINGS.updates, spent / DRAWING_SHARE)
                    drawing, updates = drawing + spent, updates + 1
            yield board.snapshot()
        finally:
            self._running.pop(session, None)
            wall = time.monotonic() - started
            log.info(
                "race closed: %d frames, %.1f s, %d updates, drawing took %.0f%% of it",
                frames, wall, updates, 100 * drawing / max(wall, 1e-9),
            )  # fmt: skip

    def stop(self, request: gr.Request) -> None:
        """Ends this visitor's race after the step in progress."""
        if race := self._running.get(request.session_hash):
            race.stop()

    def warm(self) -> None:
        """Runs what a first race would otherwise wait for: a few steps of every lane, and any number of pictures."""
        for count in range(1, len(DECODERS) + 1):
            self.model.pixels(np.zeros((count, *self.model.grid), int))
        race = Race(self.model, [Lane(name) for name in DECODERS], "warm", 0)
        board = Board(Header.of(race), self.model.pixels)
        with contextlib.closing(iter(race)) as moves:
            for _, frame in zip(range(4 * len(DECODERS)), moves, strict=False):
                board.fold(frame)
        board.snapshot()


def load_model() -> ImageModel:
    """The model that came with the repository."""
    torch.set_num_threads(2)
    return load("embedded")
