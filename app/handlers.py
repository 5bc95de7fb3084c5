"""What happens when a visitor races, stops, loads a race, asks about it, takes it away, or closes the page."""

from __future__ import annotations

import contextlib
import html
import logging
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from app.form import MAX_MESSAGE, Entry, read
from app.model import Facts, Loader
from app.settings import SETTINGS
from app.shelf import TOUR, Kept, Shelf, Visitors
from app.world import EXAMPLES, hint, words
from engine.decoders import DECODERS
from engine.models.base import ImageModel
from engine.race import Lane, Race
from engine.records import Frame, LaneState
from engine.settings import SettingError
from engine.trace import MAX_BYTES, Header, Trace, TraceError
from visualize.board import Board, replay
from visualize.recording import Recording, record
from visualize.swatches import sheet

DRAWING_SHARE = 0.4  # of the wall clock, at most; the lanes are not charged for it, but the visitor waits
LOADING = "Loading the model…"
PATIENCE = 5.0  # seconds for a stopped race to end the step it is in

log = logging.getLogger(__name__)


class Races:
    """The page's races, live and loaded. Live ones run all over one model, which the page's queue gives to one at a time."""

    def __init__(self, loader: Loader, facts: Facts, shelf: Shelf) -> None:
        self.loader, self.facts, self.shelf = loader, facts, shelf
        lanes = tuple(Lane(name) for name, decoder in DECODERS.items() if decoder.default)
        self.usual = Entry(EXAMPLES[0], random.randrange(2**31), lanes, facts.sampling)
        self._known = words(facts.world)
        self._running: dict[str, _Running] = {}
        self._visitors = Visitors(SETTINGS.kept_races)

    def first(self) -> dict[str, Any]:
        """The board as it is served: a recorded race, or the lanes that stand ready."""
        if self.shelf.first is not None:
            return self.shelf.replay(self.shelf.first)
        return _waiting(replace(self.facts.header(self.usual), prompt=""))

    def race(self, request: gr.Request, *values: Any) -> Iterator[dict[str, Any]]:
        """Yields snapshots of the board: the first at once, then as often as drawing may."""
        try:
            entry = read(*values)
        except SettingError as error:
            raise told(error) from error
        model = self._ready(0)
        if model is None:
            yield _waiting(self.facts.header(entry), LOADING)
            while (model := self._ready(0.25)) is None:
                yield gr.skip()  # where the visitor may have stopped waiting
        race = Race(model, entry.lanes, entry.prompt, entry.seed, entry.sampling)
        board = Board(Header.of(race), model.pixels, sheet(model))
        board.note = hint(race.prompt, self._known)
        session, running = request.session_hash or "", _Running(race)
        self._running[session] = running
        started, drawing, updates = time.monotonic(), 0.0, 0
        due = started
        try:
            yield board.snapshot()
            with contextlib.closing(iter(race)) as moves:
                for frame in moves:
                    running.frames.append(frame)
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
            if self._running.get(session) is running:
                del self._running[session]
                self._keep(session, running)
            running.over.set()
            wall = time.monotonic() - started
            log.info(
                "race closed: %d frames, %.1f s, %d updates, drawing took %.0f%% of it",
                len(running.frames), wall, updates, 100 * drawing / max(wall, 1e-9),
            )  # fmt: skip

    def stop(self, request: gr.Request) -> None:
        """Ends this visitor's race after the step in progress."""
        if running := self._running.get(request.session_hash or ""):
            running.race.stop()

    def leave(self, request: gr.Request) -> None:
        """Ends the race of a visitor who has closed the page, and forgets them."""
        session = request.session_hash or ""
        if running := self._running.pop(session, None):
            running.race.stop()
        self._visitors.forget(session)

    def kept(self, request: gr.Request) -> Kept | None:
        """The race that this visitor's board shows, once it is over."""
        session = request.session_hash or ""
        if running := self._running.get(session):
            running.over.wait(PATIENCE)
        kept = self._visitors.kept(session)
        return self.shelf.kept(self.shelf.first) if kept is None and self.shelf.first is not None else kept

    def recorded(self, name: Any, request: gr.Request) -> dict[str, Any]:
        """Puts a race that came with the page on the board."""
        if name not in self.shelf:
            raise gr.Error("There is no such recorded race.", print_exception=False)
        self._load(request, self.shelf.kept(name))
        return self.shelf.replay(name)

    def tour(self, request: gr.Request) -> dict[str, Any]:
        """Puts the race of the guided tour on the board."""
        return self.recorded(TOUR, request)

    def open(self, path: Any, request: gr.Request) -> dict[str, Any]:
        """Puts the race of a visitor's own file on the board. A bad file leaves it as it was."""
        try:
            file = Path(path)
            if file.stat().st_size > MAX_BYTES:
                raise TraceError(f"The file is larger than {MAX_BYTES // 2**20} MB, which a trace may have at most.")
            recording = Recording.loads(file.read_bytes())
        except TraceError as error:
            raise told(error) from error
        except (TypeError, ValueError, OSError) as error:
            raise gr.Error("There is no file to open.", print_exception=False) from error
        self._load(request, Kept.of(recording))
        return replay(recording)

    def _load(self, request: gr.Request, kept: Kept) -> None:
        session = request.session_hash or ""
        if running := self._running.pop(session, None):
            running.race.stop()
        self._visitors.keep(session, kept)

    def _ready(self, seconds: float) -> ImageModel | None:
        try:
            return self.loader.wait(seconds)
        except Exception as error:
            raise gr.Error("The model could not be loaded. Recorded races still play.", print_exception=False) from error

    def _keep(self, session: str, running: _Running) -> None:
        """Keeps what there is of a race; a visitor who stopped it may ask about it too. Programs ask for races alone."""
        if not session:
            return
        last = {frame.lane: frame.state for frame in running.frames}
        cut = [lane for lane, state in last.items() if state is LaneState.RACING]
        frames = (*running.frames, *(Frame(lane, LaneState.STOPPED) for lane in cut))
        trace = Trace.of(running.race, frames)
        self._visitors.keep(session, Kept.of(record(trace, running.race.model)))


class _Running:
    """A race that is on, and what has come of it."""

    def __init__(self, race: Race) -> None:
        self.race, self.frames, self.over = race, list[Frame](), threading.Event()


def _waiting(header: Header, note: str = "") -> dict[str, Any]:
    """The lanes of a race that has not begun: there is nothing to draw, so no model is needed."""
    board = Board(header, lambda tokens: np.zeros((*tokens.shape, 3), np.uint8))
    board.note = note
    return board.snapshot()


def told(error: Exception) -> gr.Error:
    """An error whose words are for the visitor. Gradio shows them as HTML, and a file may have had a say in them."""
    return gr.Error(html.escape(str(error)[:MAX_MESSAGE], quote=False), print_exception=False)
