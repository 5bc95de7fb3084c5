"""Races: what happens when a visitor starts a race, stops it, opens a recorded one, or closes the
page."""

from __future__ import annotations

import contextlib
import html
import logging
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr
import torch

from app.page.form import form_values, read_form
from app.page.link import request_of, write_link
from app.page.prompt_hints import EXAMPLES, hint
from app.page.visitor import session_of
from app.serving import zerogpu
from app.serving.device_thread import on_device_thread
from app.serving.fair_queue import FairQueue, QueueFullError, Ticket
from app.serving.gpu_errors import BUG, DEVICE_LOST, MESSAGES, zerogpu_message
from app.serving.model_loader import free_memory
from app.serving.model_pool import Device, ModelPool
from app.serving.race_stream import (
    Events,
    Idle,
    QueueUpdate,
    Recording,
    Snapshot,
    WorkerFailure,
    stream,
    waiting_snapshot,
)
from app.serving.running_race import RunningRace
from app.serving.sessions import TOUR, Place, RecordedRaces, SessionStore, StoredRace, recorded_link
from app.settings import AUTO, SETTINGS
from engine.decoders import DEFAULT
from engine.failures import Failure
from engine.measurements.hardware import device_name
from engine.models.base import ImageModel
from engine.models.card import ModelError
from engine.models.device import classify
from engine.race import Lane, Race, RaceRequest
from engine.race.request import MAX_MESSAGE
from engine.settings import SettingError
from engine.trace import MAX_BYTES, TraceError
from visualize.recorded_race import RecordedRace

STOP_SECONDS = 5.0  # for a stopped race to end the step in progress
POLL_SECONDS = 0.25  # between looks at the queue, or at a model that is loading
NOT_OVER = "The race on the board is not over yet."
OWN = "own"  # the name, among the recorded races, of the visitor's last one

log = logging.getLogger(__name__)


class Races:
    """The page's races, live and recorded. Races on one device wait for each other."""

    def __init__(self, pool: ModelPool, recorded: RecordedRaces) -> None:
        self.pool, self.recorded = pool, recorded
        lanes = tuple(Lane(name) for name in DEFAULT)
        card, why = pool.opening
        # why the page does not open with the model that the settings name; empty if it does
        self.model_note = "" if SETTINGS.model == AUTO else why
        if why:
            log.warning("PHOTO_FINISH_MODEL=%s: %s", SETTINGS.model, why)
        seed = random.randrange(2**31)
        self.default = RaceRequest(EXAMPLES[0], seed, lanes, card.sampling, card.name)
        self.default_values = form_values(self.default)
        self._queue = FairQueue(SETTINGS.queue_size, pool.at_once, report=pool.report_waiting)
        self._running: dict[str, RunningRace] = {}
        self._sessions = SessionStore(SETTINGS.kept_races)

    def first_board(self) -> dict[str, Any]:
        """The board when the page opens: a recorded race, or waiting lanes."""
        if self.recorded.first is not None:
            return self.recorded.replay(self.recorded.first)
        return self._waiting(self.default, "").board | {"prompt": ""}

    def read(self, values: Mapping[str, Any]) -> RaceRequest:
        """The request of the form's values. Raises SettingError if it cannot be run here."""
        request = read_form(values, self.default.model)
        self.require(request)
        return request

    def require(self, request: RaceRequest) -> None:
        """Raises SettingError if a request cannot be run here."""
        card, infilling = self.pool.require(request.model), request.infilling
        if infilling is None:
            return
        if not card.fills_in:
            raise SettingError(f"{card.title} draws whole pictures only: it cannot fill in a part.")
        infilling.check(card.grid, card.codes)

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
            link = {"link": write_link(request, self.pool.card(request.model).sampling, go=True)}
            with contextlib.closing(self._run(session, request, ticket)) as events:
                for event in events:
                    yield Snapshot(event.board | link) if isinstance(event, Snapshot) else event
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
            yield QueueUpdate(ahead, self._queue.estimate(ticket.device, ahead))
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
        running = RunningRace(ticket)
        self._running[session] = running
        try:
            if ticket.device in (Device.ZEROGPU, Device.CLUSTER):
                yield from self._run_elsewhere(request, running)
            else:
                yield from self._run_here(model, request, running)
        finally:
            places = [Place.OWN]
            if self._running.get(session) is running:
                del self._running[session]
                places.append(Place.BOARD)
            if not running.left:
                self._store(session, running, *places)
            running.over.set()

    def _run_here(self, model: ImageModel, request: RaceRequest, running: RunningRace) -> Events:
        running.race = race = Race(model, request)
        note = hint(request.prompt, request.model)
        events = stream(race, running.frames, note, SETTINGS.race_seconds)
        failures: set[Failure | None] = set()
        try:
            with contextlib.closing(on_device_thread(model.device, events)) as events:
                for event in events:
                    if running.ticket.cancelled:
                        race.stop()
                    if isinstance(event, Snapshot):
                        note = running.ticket.cancelled or event.board["note"]
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

    def _run_elsewhere(self, request: RaceRequest, running: RunningRace) -> Events:
        waiting = "Waiting for a racer…"
        if running.ticket.device is Device.ZEROGPU:
            waiting = (
                f"Waiting for ZeroGPU to lend a GPU for {zerogpu.duration(request):g} seconds…"
            )
        yield self._waiting(request, waiting)
        message = ""
        try:
            with contextlib.closing(self.pool.run(request)) as events:
                for event in events:
                    if isinstance(event, WorkerFailure):
                        message = event.message or MESSAGES.get(event.failure, BUG)
                    elif isinstance(event, Recording):
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
        if running := self._running.get(session_of(client)):
            running.stop()

    def leave(self, client: gr.Request) -> None:
        """Ends the race of a visitor who has closed the page, and drops what is stored for them."""
        session = session_of(client)
        if running := self._running.pop(session, None):
            running.left = True
            running.stop()
        self._queue.drop(session)
        self._sessions.drop(session)

    def finished(self, client: gr.Request) -> StoredRace | None:
        """The race on this visitor's board, once it is over."""
        session = session_of(client)
        if running := self._running.get(session):
            running.over.wait(STOP_SECONDS)
        race = self._sessions.get(session, Place.BOARD)
        if race is None and self.recorded.first is not None:
            return self.recorded.race(self.recorded.first)
        return race

    def open_recorded(self, name: Any, client: gr.Request) -> dict[str, Any]:
        """Puts a recorded race on the board, or the last one of the visitor's own."""
        own = self._sessions.get(session_of(client), Place.OWN)
        if name == OWN and own:
            self._put_on_board(client, own)
            return own.replay()
        if name not in self.recorded:
            raise gr.Error("There is no such recorded race.", print_exception=False)
        self._put_on_board(client, self.recorded.race(name))
        return self.recorded.replay(name)

    def on_board(self, client: gr.Request) -> str | None:
        """Which of the `choices` is on the visitor's board."""
        session = session_of(client)
        race = self._sessions.get(session, Place.BOARD)
        if race is None:
            return self.recorded.first
        if race is self._sessions.get(session, Place.OWN):
            return OWN
        return next(
            (name for name in self.recorded.titles if race.link == recorded_link(name)), None
        )

    def choices(self, client: gr.Request) -> list[tuple[str, str]]:
        """What `open_recorded` can put on the visitor's board: titles and names."""
        recorded = [(title, name) for name, title in self.recorded.titles.items()]
        if own := self._sessions.get(session_of(client), Place.OWN):
            return [(f"Your last race: {own.recording.trace.header.prompt}", OWN), *recorded]
        return recorded

    def open_tour(
        self, client: gr.Request, *, filling: bool = False, within: bool = False
    ) -> dict[str, Any]:
        """Puts the race of the guided tour on the board, or with `filling` its race that fills in a
        part. What is there ends, and comes back unless the tour was `within` its races."""
        self.stop(client)
        if not within and (before := self.finished(client)):
            self._sessions.put(session_of(client), before, Place.BEFORE_TOUR)
        return self.open_recorded(self.recorded.filling if filling else TOUR, client)

    def leave_tour(self, client: gr.Request) -> dict[str, Any]:
        """Puts back the race that was on the board when the tour began."""
        before = self._sessions.get(session_of(client), Place.BEFORE_TOUR)
        if before is None:  # dropped since then, to make room
            return self.open_recorded(self.recorded.first, client)
        self._put_on_board(client, before)
        return before.replay()

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
        self._put_on_board(client, race := StoredRace.of(recording, self._link(recording)))
        return race.replay()

    def _put_on_board(self, client: gr.Request, race: StoredRace) -> None:
        session = session_of(client)
        if running := self._running.pop(session, None):
            running.stop()
        self._sessions.put(session, race, Place.BOARD)

    def _store(self, session: str, running: RunningRace, *places: Place) -> None:
        """Stores a race, also one that was stopped."""
        try:
            if session and (recording := running.finish()):
                race = StoredRace.of(recording, self._link(recording), raced_here=True)
                self._sessions.put(session, race, *places)
        # Its pictures cannot be drawn after a CUDA error; or it is too long for a file.
        except (RuntimeError, TraceError):
            log.exception("a race could not be stored")

    def _link(self, recording: RecordedRace) -> str:
        """The link that races it again; empty where this page cannot."""
        card = self.pool.find(recording.trace.header.model)
        if card is None:
            return ""
        try:
            return write_link(request_of(recording.trace.header), card.sampling, go=True)
        except SettingError:
            return ""

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


def user_error(error: Exception) -> gr.Error:
    """An exception whose message is user-readable, for gradio, which renders it as HTML: a file may
    have contributed to the message."""
    return gr.Error(html.escape(str(error)[:MAX_MESSAGE], quote=False), print_exception=False)


def _check_ticket(ticket: Ticket) -> None:
    if ticket.cancelled:
        raise gr.Error(ticket.cancelled, print_exception=False)
