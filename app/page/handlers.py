"""Races: what happens when a visitor starts a race, stops it, opens a recorded one, or closes the
page."""

from __future__ import annotations

import contextlib
import html
import logging
import os
import random
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr
import torch

from app.page.form import form_values, read_form
from app.page.prompt_hints import EXAMPLES, hint, known_words, vocabulary
from app.serving import zerogpu
from app.serving.fair_queue import FairQueue, QueueFullError, Ticket
from app.serving.gpu_errors import BUG, DEVICE_LOST, MESSAGES, zerogpu_message
from app.serving.model_loader import free_memory
from app.serving.model_pool import Device, ModelPool
from app.serving.race_stream import (
    Events,
    Idle,
    QueueUpdate,
    Snapshot,
    build_trace,
    stream,
    waiting_snapshot,
)
from app.serving.sessions import TOUR, RecordedRaces, SessionStore, StoredRace
from app.settings import SETTINGS
from engine.decoders import DECODERS
from engine.failures import Failure
from engine.hardware import device_name
from engine.models.base import ImageModel
from engine.models.card import ModelCard, ModelError
from engine.models.device import classify
from engine.race import Lane, Race, RaceRequest
from engine.race.request import MAX_MESSAGE
from engine.records import Frame
from engine.settings import SettingError
from engine.trace import MAX_BYTES, TraceError
from visualize.board import replay
from visualize.recorded_race import RecordedRace, record

STOP_SECONDS = 5.0  # for a stopped race to end the step in progress
POLL_SECONDS = 0.25  # between looks at the queue, or at a model that is loading
NOT_OVER = "The race on the board is not over yet."

log = logging.getLogger(__name__)


class Races:
    """The page's races, live and recorded. Races on one device wait for each other."""

    def __init__(self, pool: ModelPool, recorded: RecordedRaces) -> None:
        self.pool, self.recorded = pool, recorded
        lanes = tuple(Lane(name) for name, decoder in DECODERS.items() if decoder.default)
        card = self._default_model()
        seed = random.randrange(2**31)
        self.default = RaceRequest(EXAMPLES[0], seed, lanes, card.sampling, card.name)
        self.default_values = form_values(self.default)
        self._queue = FairQueue(SETTINGS.queue_size, {Device.ZEROGPU: zerogpu.MAX_CALLS})
        self._running: dict[str, _RunningRace] = {}
        self._sessions = SessionStore(SETTINGS.kept_races)

    def _default_model(self) -> ModelCard:
        """The model of the settings, where it can race."""
        card = self.pool.find(SETTINGS.model) or self.pool.own
        here = self.pool.availability(card.name)
        if not here.available:
            log.warning("%s cannot be the page's model: %s", card.title, here.reason)
        return card if here.available else self.pool.own

    def first_board(self) -> dict[str, Any]:
        """The board when the page opens: a recorded race, or waiting lanes."""
        if self.recorded.first is not None:
            return self.recorded.replay(self.recorded.first)
        return self._waiting(self.default, "").board | {"prompt": ""}

    def read(self, values: Mapping[str, Any]) -> RaceRequest:
        """The request of the form's values. Raises SettingError if it cannot be run here."""
        request = read_form(values, self.default.model)
        self.pool.require(request.model)
        return request

    def race(self, session: str, address: str, values: Mapping[str, Any]) -> Events:
        """Runs the race of the form's values. A session has one race at a time, and its last one is
        stored; an empty session has any number. Raises gr.Error."""
        try:
            request = self.read(values)
            device = self.pool.device(request.model)
            ticket = self._queue.join(session or object(), address, device)
        except (SettingError, QueueFullError) as error:
            raise user_error(error) from error
        try:
            yield from self._wait_in_queue(ticket)
            yield from self._run(session, request, ticket)
        except gr.Error:
            raise
        except Exception as error:
            log.exception("a race failed")
            raise gr.Error(BUG, print_exception=False) from error
        finally:
            self._queue.leave(ticket)

    def _wait_in_queue(self, ticket: Ticket) -> Events:
        waited = False
        while ahead := self._queue.ahead(ticket):
            # Repeated, although nothing may have changed: gradio closes a race at a yield.
            yield QueueUpdate(ahead)
            waited = True
            time.sleep(POLL_SECONDS)
        _check_ticket(ticket)
        if waited:
            yield QueueUpdate(0)

    def _run(self, session: str, request: RaceRequest, ticket: Ticket) -> Events:
        model, note = self._wait_for_model(request.model, 0), None
        while model is None:
            if (now := self.pool.note(request.model)) != note:
                yield self._waiting(request, note := now)
            else:
                yield Idle()
            _check_ticket(ticket)
            model = self._wait_for_model(request.model, POLL_SECONDS)
        running = _RunningRace(ticket)
        self._running[session] = running
        try:
            if ticket.device is Device.ZEROGPU:
                yield from self._run_on_zerogpu(request, running)
            else:
                yield from self._run_here(model, request, running)
        finally:
            if self._running.get(session) is running:
                del self._running[session]
                self._store(session, running)
            running.over.set()

    def _run_here(self, model: ImageModel, request: RaceRequest, running: _RunningRace) -> Events:
        race = Race.of(model, request)
        running.race, ticket = race, running.ticket
        deadline = time.monotonic() + SETTINGS.race_seconds
        deadline_note = f"Stopped: a race may take {SETTINGS.race_seconds:g} seconds on this page."
        note = hint(request.prompt, known_words(vocabulary(request.model)))
        events = stream(race, running.frames, note, deadline, deadline_note)
        failures: set[Failure | None] = set()
        try:
            with contextlib.closing(events):
                for event in events:
                    if ticket.cancelled:
                        race.stop()
                    if isinstance(event, Snapshot):
                        note = ticket.cancelled or event.board["note"]
                        yield Snapshot(event.board | {"note": note})
            failures = {frame.failure for frame in running.frames}
        except Exception as error:
            log.exception("a race failed")
            failure = classify(error, model.device)
            failures = {failure}
            raise gr.Error(MESSAGES.get(failure, BUG), print_exception=False) from error
        finally:
            if Failure.DEVICE_LOST in failures:
                self.pool.lose_gpu(DEVICE_LOST)
            elif Failure.OUT_OF_MEMORY in failures:
                free_memory()

    def _run_on_zerogpu(self, request: RaceRequest, running: _RunningRace) -> Events:
        yield self._waiting(request, "Waiting for ZeroGPU to lend a GPU…")
        message = ""
        try:
            with contextlib.closing(zerogpu.run_race(request)) as events:
                for event in events:
                    if isinstance(event, zerogpu.WorkerFailure):
                        message = event.message or MESSAGES.get(event.failure, BUG)
                    elif isinstance(event, zerogpu.Recording):
                        running.recording = event.text
                    elif isinstance(event, Snapshot):
                        yield event
                    if running.stopped or running.ticket.cancelled:
                        break
        except gr.Error as error:
            log.warning("ZeroGPU: %s: %s", getattr(error, "title", ""), error.message)
            raise gr.Error(zerogpu_message(error), print_exception=False) from error
        if message:
            raise gr.Error(html.escape(message, quote=False), print_exception=False)

    def stop(self, client: gr.Request) -> None:
        """Ends this visitor's race after the step in progress."""
        if running := self._running.get(client.session_hash or ""):
            running.stop()

    def leave(self, client: gr.Request) -> None:
        """Ends the race of a visitor who has closed the page, and drops what is stored for them."""
        session = client.session_hash or ""
        if running := self._running.pop(session, None):
            running.stop()
        self._queue.drop(session)
        self._sessions.drop(session)

    def finished(self, client: gr.Request) -> StoredRace | None:
        """The race on this visitor's board, once it is over."""
        session = client.session_hash or ""
        if running := self._running.get(session):
            running.over.wait(STOP_SECONDS)
        race = self._sessions.get(session)
        if race is None and self.recorded.first is not None:
            return self.recorded.race(self.recorded.first)
        return race

    def open_recorded(self, name: Any, client: gr.Request) -> dict[str, Any]:
        """Puts a recorded race on the board."""
        if name not in self.recorded:
            raise gr.Error("There is no such recorded race.", print_exception=False)
        self._put_on_board(client, self.recorded.race(name))
        return self.recorded.replay(name)

    def open_tour(self, client: gr.Request) -> dict[str, Any]:
        """Puts the race of the guided tour on the board."""
        return self.open_recorded(TOUR, client)

    def open_file(self, path: Any, client: gr.Request) -> dict[str, Any]:
        """Puts the race of a visitor's file on the board. A bad file leaves the board as it was."""
        try:
            file = Path(path)
            if file.stat().st_size > MAX_BYTES:
                raise TraceError(
                    f"The file is larger than {MAX_BYTES // 2**20} MB, which a trace may have at"
                    " most."
                )
            recording = RecordedRace.loads(file.read_bytes())
        except TraceError as error:
            raise user_error(error) from error
        except (TypeError, ValueError, OSError) as error:
            raise gr.Error("There is no file to open.", print_exception=False) from error
        self._put_on_board(client, StoredRace.of(recording))
        return replay(recording)

    def _put_on_board(self, client: gr.Request, race: StoredRace) -> None:
        session = client.session_hash or ""
        if running := self._running.pop(session, None):
            running.stop()
        self._sessions.put(session, race)

    def _store(self, session: str, running: _RunningRace) -> None:
        """Stores a race, also one that was stopped."""
        try:
            if session and (recording := running.finish()):
                self._sessions.put(session, StoredRace.of(recording))
        # Its pictures cannot be drawn after a CUDA error; or it is too long for a file.
        except (RuntimeError, TraceError):
            log.exception("a race could not be stored")

    def _wait_for_model(self, name: str, seconds: float) -> Any:
        card = self.pool.require(name)
        try:
            return self.pool.wait(name, seconds)
        except ModelError as error:
            text = f"{card.title}: {error} The embedded model can race meanwhile."
            raise gr.Error(html.escape(text, quote=False), print_exception=False) from error
        except Exception as error:
            raise gr.Error(
                "The model could not be loaded. Recorded races still play.", print_exception=False
            ) from error

    def _waiting(self, request: RaceRequest, note: str) -> Snapshot:
        on_cpu = self.pool.device(request.model) is Device.CPU
        machine = device_name(torch.device("cpu")) if on_cpu else ""
        return waiting_snapshot(request, self.pool.card(request.model), note, machine)


class _RunningRace:
    """A race in progress, and its result so far: frames if it runs in this process, else the text
    of its recording."""

    def __init__(self, ticket: Ticket) -> None:
        self.ticket, self.stopped, self.over = ticket, False, threading.Event()
        self.race: Race | None = None
        self.frames: list[Frame] = []
        self.recording = ""

    def stop(self) -> None:
        """Ends it after the step in progress; may be called from any thread."""
        self.stopped = True
        if self.race is not None:
            self.race.stop()

    def finish(self) -> RecordedRace | None:
        """None for a race that did not begin, or that ZeroGPU's worker did not finish."""
        if self.recording:
            return RecordedRace.loads(self.recording)
        if self.race is None or not self.frames:
            return None
        return record(build_trace(self.race, self.frames), self.race.model)


def user_error(error: Exception) -> gr.Error:
    """An exception whose message is user-readable, for gradio, which renders it as HTML: a file may
    have contributed to the message."""
    return gr.Error(html.escape(str(error)[:MAX_MESSAGE], quote=False), print_exception=False)


def address(client: gr.Request) -> str:
    """The visitor's address; on a Space from its proxy's header."""
    forwarded = client.headers.get("x-forwarded-for", "") if "SPACE_ID" in os.environ else ""
    host = getattr(client, "client", None)
    return forwarded.split(",")[0].strip()[:64] or (host.host if host else "")


def _check_ticket(ticket: Ticket) -> None:
    if ticket.cancelled:
        raise gr.Error(ticket.cancelled, print_exception=False)
