"""What happens when a visitor races, stops, loads a race, asks about it, takes it away, or closes
the page."""

from __future__ import annotations

import contextlib
import html
import logging
import os
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import torch

from app import zero
from app.course import run, traced
from app.form import MAX_MESSAGE, Entry, read, values
from app.garage import OWN, ZERO, Garage, Offer, free
from app.model import Facts, Loader
from app.settings import SETTINGS
from app.shelf import TOUR, Kept, Shelf, Visitors
from app.trouble import FAILED, LOST, OUT_OF_MEMORY, lent
from app.trouble import words as trouble
from app.turns import FullError, Place, Turns
from app.world import EXAMPLES, hint, words
from engine.decoders import DECODERS
from engine.hardware import device_name
from engine.models.base import ImageModel
from engine.models.card import ModelError
from engine.race import Lane, Race
from engine.settings import SettingError
from engine.trace import MAX_BYTES, Frame, TraceError
from visualize.board import Board, replay
from visualize.recorded_race import RecordedRace, record

PATIENCE = 5.0  # seconds for a stopped race to end the step it is in
POLL = 0.25  # seconds between looks at the queue, or at a model that is being loaded

log = logging.getLogger(__name__)


class Races:
    """The page's races, live and loaded. On every device one live race runs at a time; `turns` says
    whose."""

    def __init__(
        self, loader: Loader, facts: Facts, shelf: Shelf, garage: Garage | None = None
    ) -> None:
        self.loader, self.shelf = loader, shelf
        self.garage = Garage(loader, facts) if garage is None else garage
        lanes = tuple(Lane(name) for name, decoder in DECODERS.items() if decoder.default)
        model = self._usual()
        self.usual = Entry(
            EXAMPLES[0], random.randrange(2**31), lanes, model.facts.sampling, model.name
        )
        self._known = words(facts.world)
        self._turns = Turns(SETTINGS.queue_size, {ZERO: zero.MOST})
        self._running: dict[str, _Running] = {}
        self._visitors = Visitors(SETTINGS.kept_races)

    def _usual(self) -> Offer:
        """The model that is chosen when the page opens: the host's choice where it can race."""
        chosen = next(
            (offer for offer in self.garage.offers if offer.name == SETTINGS.model), self.garage.own
        )
        if chosen.off:
            log.warning("%s cannot be the page's model: %s", chosen.title, chosen.off)
        return self.garage.own if chosen.off else chosen

    def first(self) -> dict[str, Any]:
        """The board as it is served: a recorded race, or the lanes that stand ready."""
        if self.shelf.first is not None:
            return self.shelf.replay(self.shelf.first)
        return self._waiting(self.usual, "") | {"prompt": ""}

    def entry(self, *values: Any) -> Entry:
        """The race that the form's fields ask for, its model named. Raises SettingError where it
        cannot be run here."""
        entry = read(*values)
        entry = replace(entry, model=entry.model or self.usual.model)
        self.garage.racing(entry.model)
        return entry

    def race(self, request: gr.Request, *values: Any) -> Iterator[dict[str, Any] | str]:
        """Yields snapshots of the board, as often as drawing may. While others race it yields words
        on the queue instead, and the board may show what it likes."""
        visitor = request.session_hash or object()
        try:
            entry = self.entry(*values)
            place = self._turns.take(visitor, address(request), self.garage.device(entry.model))
        except (SettingError, FullError) as error:
            raise told(error) from error
        try:
            yield from self._queued(place)
            yield from self._run(request.session_hash or "", entry, place)
        except gr.Error:
            raise
        except Exception as error:
            log.exception("a race failed")
            raise gr.Error(self._trouble(error), print_exception=False) from error
        finally:
            self._turns.leave(place)

    def _queued(self, place: Place) -> Iterator[str]:
        waited = False
        while ahead := self._turns.ahead(place):
            # Again and again: this is where the visitor may have stopped waiting.
            yield (
                f"In the queue: {ahead} {'race comes' if ahead == 1 else 'races come'} before"
                " yours."
            )
            waited = True
            time.sleep(POLL)
        _hold(place)
        if waited:
            yield ""

    def _run(self, session: str, entry: Entry, place: Place) -> Iterator[dict[str, Any]]:
        model, note = self._ready(entry.model, 0), None
        while model is None:
            if (now := self.garage.note(entry.model)) != note:
                yield self._waiting(entry, note := now)
            else:
                yield gr.skip()
            _hold(place)
            model = self._ready(entry.model, POLL)
        running = _Running(place)
        self._running[session] = running
        try:
            snapshots = (
                self._borrowed(entry, running)
                if place.device == ZERO
                else self._here(model, entry, running)
            )
            with contextlib.closing(snapshots):
                yield from snapshots
        finally:
            if self._running.get(session) is running:
                del self._running[session]
                self._keep(session, running)
            running.over.set()

    def _here(self, model: ImageModel, entry: Entry, running: _Running) -> Iterator[dict[str, Any]]:
        """A race in this process."""
        race = Race(model, entry.lanes, entry.prompt, entry.seed, entry.sampling)
        running.race, frames = race, running.frames
        why = f"Stopped: a race may take {SETTINGS.race_seconds:g} seconds on this page."
        note = hint(race.prompt, self._known) if entry.model == self.garage.own.name else ""
        with contextlib.closing(
            run(race, frames, note, time.monotonic() + SETTINGS.race_seconds, why)
        ) as snapshots:
            for snapshot in snapshots:
                if running.place.lost:
                    race.stop()
                if snapshot is not None:
                    yield snapshot | {"note": running.place.lost or snapshot["note"]}
        if any(frame.error == LOST for frame in frames):
            self.garage.lose(LOST)
        elif any(frame.error == OUT_OF_MEMORY for frame in frames):
            free()

    def _borrowed(self, entry: Entry, running: _Running) -> Iterator[dict[str, Any]]:
        """A race in a process that ZeroGPU lends a GPU: see app/zero.py."""
        failed = ""
        yield self._waiting(entry, "Waiting for ZeroGPU to lend a GPU…")
        try:
            with contextlib.closing(zero.race(entry.model, values(entry))) as pairs:
                for kind, data in pairs:
                    if kind == "failed":
                        failed = data
                    if kind == "recording":
                        running.text = data
                    if kind == "board":
                        yield data
                    if running.stopped or running.place.lost:
                        break
        except gr.Error as error:
            log.warning("ZeroGPU: %s: %s", getattr(error, "title", ""), error.message)
            raise gr.Error(lent(error), print_exception=False) from error
        if failed:
            raise gr.Error(html.escape(failed, quote=False), print_exception=False)

    def stop(self, request: gr.Request) -> None:
        """Ends this visitor's race after the step in progress."""
        if running := self._running.get(request.session_hash or ""):
            running.stop()

    def leave(self, request: gr.Request) -> None:
        """Ends the race of a visitor who has closed the page, and forgets them."""
        session = request.session_hash or ""
        if running := self._running.pop(session, None):
            running.stop()
        self._turns.drop(session)
        self._visitors.forget(session)

    def kept(self, request: gr.Request) -> Kept | None:
        """The race that this visitor's board shows, once it is over."""
        session = request.session_hash or ""
        if running := self._running.get(session):
            running.over.wait(PATIENCE)
        kept = self._visitors.kept(session)
        return (
            self.shelf.kept(self.shelf.first)
            if kept is None and self.shelf.first is not None
            else kept
        )

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
                raise TraceError(
                    f"The file is larger than {MAX_BYTES // 2**20} MB, which a trace may have at"
                    " most."
                )
            recording = RecordedRace.loads(file.read_bytes())
        except TraceError as error:
            raise told(error) from error
        except (TypeError, ValueError, OSError) as error:
            raise gr.Error("There is no file to open.", print_exception=False) from error
        self._load(request, Kept.of(recording))
        return replay(recording)

    def _load(self, request: gr.Request, kept: Kept) -> None:
        session = request.session_hash or ""
        if running := self._running.pop(session, None):
            running.stop()
        self._visitors.keep(session, kept)

    def _keep(self, session: str, running: _Running) -> None:
        """Keeps what there is of a race; a visitor who stopped it may ask about it too. Programs
        ask for races alone."""
        try:
            if session and (kept := running.kept()):
                self._visitors.keep(session, kept)
        # CUDA's: its pictures cannot be drawn any more; or it is too long for a file
        except (RuntimeError, TraceError):
            log.exception("a race could not be kept")

    def _ready(self, name: str, seconds: float) -> Any:
        offer = self.garage.racing(name)
        try:
            return self.garage.wait(name, seconds)
        except ModelError as error:
            text = f"{offer.title}: {error} The embedded model can race meanwhile."
            raise gr.Error(html.escape(text, quote=False), print_exception=False) from error
        except Exception as error:
            raise gr.Error(
                "The model could not be loaded. Recorded races still play.", print_exception=False
            ) from error

    def _waiting(self, entry: Entry, note: str) -> dict[str, Any]:
        """The lanes of a race that has not begun: there is nothing to draw, so no model is
        needed."""
        here = device_name(torch.device("cpu")) if self.garage.device(entry.model) == OWN else ""
        header = self.garage.offer(entry.model).facts.header(entry, here)
        board = Board(header, lambda tokens: np.zeros((*tokens.shape, 3), np.uint8))
        board.note = note
        return board.snapshot()

    def _trouble(self, error: Exception) -> str:
        """What became of a race, for its visitor."""
        said = trouble(f"{type(error).__name__}: {error}")
        if said == LOST:
            self.garage.lose(LOST)
        elif said:
            free()
        return said or FAILED


class _Running:
    """A race that is on, and what has come of it: frames where it runs in this process, else a
    recording's text."""

    def __init__(self, place: Place) -> None:
        self.place, self.race, self.stopped = place, None, False
        self.frames, self.text, self.over = list[Frame](), "", threading.Event()

    def stop(self) -> None:
        """After the step in progress; may be called from any thread."""
        self.stopped = True
        if self.race is not None:
            self.race.stop()

    def kept(self) -> Kept | None:
        """What there is of it, to be asked about; nothing of one that another process ran and did
        not finish."""
        if self.text:
            return Kept.of(RecordedRace.loads(self.text))
        return (
            Kept.of(record(traced(self.race, self.frames), self.race.model))
            if self.frames
            else None
        )


def address(request: gr.Request) -> str:
    """Where a visitor comes from: on a Space, whose proxy is all that is seen of it, as that proxy
    says."""
    forwarded = request.headers.get("x-forwarded-for", "") if "SPACE_ID" in os.environ else ""
    client = getattr(request, "client", None)
    return forwarded.split(",")[0].strip()[:64] or (client.host if client else "")


def _hold(place: Place) -> None:
    if place.lost:
        raise gr.Error(place.lost, print_exception=False)


def told(error: Exception) -> gr.Error:
    """An error whose words are for the visitor. Gradio shows them as HTML, and a file may have had
    a say in them."""
    return gr.Error(html.escape(str(error)[:MAX_MESSAGE], quote=False), print_exception=False)
