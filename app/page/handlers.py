"""Races: what happens when a visitor asks for a race, stops it, comes back to one, or closes the
page."""

from __future__ import annotations

import contextlib
import html
import logging
import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gradio as gr

from app.page.form import form_values, read_form
from app.page.link import request_of, write_link
from app.page.prompt_hints import EXAMPLES
from app.serving.fair_queue import FairQueue, QueueFullError
from app.serving.live_race import Boards, LiveRace
from app.serving.model_pool import ModelPool
from app.serving.race_runner import RaceRunner
from app.serving.race_table import MAX_BYTES, RaceTable, StoredRace, new_id
from app.serving.recorded_races import RecordedRaces
from app.settings import AUTO, SETTINGS
from engine.decoders import DECODERS
from engine.race import Lane, RaceRequest
from engine.race.request import MAX_MESSAGE
from engine.settings import SettingError
from engine.trace import MAX_BYTES as MAX_FILE_BYTES
from engine.trace import TraceError
from visualize.recorded_race import RecordedRace
from visualize.snapshot import Snapshot

REPLACE_SECONDS = 1.0  # at most, for the view before to end
NOT_OVER = "The race on the board is not over yet."
NOT_KEPT = (
    "This race is no longer kept here, or it never began. Reload the page to have its settings in"
    " the form, and race again."
)

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _View:
    """A page's look at a race in progress. Another one `replaced` it, then it has `ended`."""

    live: LiveRace
    replaced: bool = False
    ended: threading.Event = field(default_factory=threading.Event)


class Races:
    """The page's races, live and recorded."""

    def __init__(self, pool: ModelPool, recorded: RecordedRaces) -> None:
        self.pool, self.recorded = pool, recorded
        card, why = pool.opening
        # why the page does not open with the model that the settings name; empty if it does
        self.model_note = "" if SETTINGS.model == AUTO else why
        if why:
            log.warning("PHOTO_FINISH_MODEL=%s: %s", SETTINGS.model, why)
        seed = random.randrange(2**31)
        lanes = self._lanes(card.name)
        self.default = RaceRequest(EXAMPLES[0], seed, lanes, card.sampling, card.name)
        self.default_values = form_values(self.default)
        self._table = RaceTable(SETTINGS.kept_races)
        self._queue = FairQueue(SETTINGS.queue_size, pool.at_once, report=pool.report_waiting)
        self._runner = RaceRunner(pool, self._queue, self._table)
        self._views: dict[str, _View] = {}  # by session

    def _lanes(self, model: str) -> tuple[Lane, ...]:
        return tuple(Lane(name) for name in self.pool.lanes(model))

    def default_on(self, model: str | None) -> RaceRequest:
        """The default request, with the lanes that race on this model where there is one of that
        name."""
        if model is None or self.pool.find(model) is None:
            return self.default
        return replace(self.default, lanes=self._lanes(model))

    def waiting_board(self) -> Snapshot:
        """The board of a page that has nothing to show yet."""
        nameless = {"id": "", "link": "", "prompt": ""}
        return self._runner.waiting(self.default, "").model_copy(update=nameless)

    def read(self, values: Mapping[str, Any]) -> RaceRequest:
        """The request of the form's values. Raises SettingError if it cannot be run here."""
        request = read_form(values, self.default.model)
        self.require(request)
        return request

    def require(self, request: RaceRequest) -> None:
        """Raises SettingError if a request cannot be run here."""
        card, infilling = self.pool.require(request.model), request.infilling
        request.sampling.check(card.length)
        if infilling is None:
            return
        infilling.check(card.grid, card.codes)
        infilling.check_model(card.fills_in, card.title)
        for lane in request.lanes:
            DECODERS[lane.decoder].check_fills(card.fills_in, card.title)

    def start(self, session: str, address: str, values: Mapping[str, Any]) -> LiveRace:
        """Starts the race of the form's values. A session has one race at a time; an empty one, of
        a program, has any number, and none is kept. Raises gr.Error."""
        try:
            request = self.read(values)
            device = self.pool.device(request.model)
            ticket = self._queue.join(session or object(), address, device)
        except (SettingError, QueueFullError) as error:
            raise user_error(error) from error
        link = write_link(request, self.pool.card(request.model).sampling)
        live = LiveRace(new_id(), request, link, ticket, self._runner.waiting(request, ""))
        if session:
            self._table.put(session, live)
        self._runner.start(live)
        return live

    def race(self, session: str, address: str, values: Mapping[str, Any]) -> Boards:
        """Starts a race and shows it. One without a session ends when it is closed. Raises
        gr.Error."""
        live = self.start(session, address, values)
        try:
            yield from self._watch(session, live)
        finally:
            if not session:
                live.stop()

    def find(self, race_id: Any, session: str) -> LiveRace | StoredRace | None:
        """A recorded race by its name, or one that is kept by its id."""
        if race_id in self.recorded:
            return self.recorded.race(race_id)
        return self._table.get(race_id, session)

    def kept(self, race_id: Any, session: str) -> StoredRace:
        """A race that is over. Raises gr.Error, as `show` does."""
        race = self.find(race_id, session)
        if race is None:
            raise gr.Error(NOT_KEPT, print_exception=False)
        if isinstance(race, LiveRace):
            raise gr.Error(NOT_OVER, print_exception=False)
        return race

    def show(self, race_id: Any, session: str) -> Boards:
        """Puts a race on the board: its recording, or what there is of it and all that follows."""
        race = self.find(race_id, session)
        if race is None:
            raise gr.Error(NOT_KEPT, print_exception=False)
        if isinstance(race, LiveRace):
            yield from self._watch(session, race)
            return
        self._replace(session, None)
        yield self.recorded.replay(race.id) if race.id in self.recorded else race.replay()

    def open_file(self, path: Any, session: str) -> Snapshot:
        """Puts the race of a visitor's file on the board. A bad file leaves the board as it was."""
        try:
            file = Path(path)
            if file.stat().st_size > MAX_FILE_BYTES:
                raise TraceError(
                    f"The file is larger than {MAX_FILE_BYTES // 2**20} MB, which a trace may have"
                    " at most."
                )
            recording = RecordedRace.loads(file.read_bytes())
            race = StoredRace(new_id(), recording, self._link(recording))
            if race.bytes > MAX_BYTES:
                raise TraceError(
                    f"The race takes {race.bytes / 2**20:.0f} MB of memory; this page keeps"
                    f" {MAX_BYTES // 2**20} of each visitor."
                )
        except TraceError as error:
            raise user_error(error) from error
        except (TypeError, ValueError, OSError) as error:
            raise gr.Error("There is no file to open.", print_exception=False) from error
        self._table.put(session, race)
        self._replace(session, None)
        return race.replay()

    def stop(self, race_id: Any, session: str) -> None:
        if isinstance(race := self.find(race_id, session), LiveRace):
            race.stop()

    def leave(self, session: str) -> None:
        """The visitor's page is gone: its races are kept for a while, for when it comes back."""
        self._table.leave(session)

    def choices(self, session: str) -> list[tuple[str, str]]:
        """The races that a visitor can choose from: titles and ids."""
        recorded = [(title, name) for name, title in self.recorded.titles.items()]
        if own := self._table.last(session):
            return [(f"Your last race: {own.recording.trace.header.prompt}", own.id), *recorded]
        return recorded

    def _watch(self, session: str, live: LiveRace) -> Boards:
        """The boards of a race, until it ends or something else is on the visitor's board."""
        view = self._replace(session, _View(live))
        try:
            with contextlib.closing(live.watch()) as boards:
                for board in boards:
                    if view.replaced:
                        return
                    yield board
        finally:
            view.ended.set()
            if self._views.get(session) is view:
                del self._views[session]

    def _replace(self, session: str, view: _View | None) -> Any:
        """Makes way on a visitor's board. A race that gives way to another one is stopped, and
        shows nothing from then on."""
        before = self._views.pop(session, None)
        if view is not None and session:
            self._views[session] = view
        if before is not None:
            before.replaced = True
            if view is None or before.live is not view.live:
                before.live.stop()
            before.ended.wait(REPLACE_SECONDS)
        return view

    def _link(self, recording: RecordedRace) -> str:
        """The query of its settings; empty where this page cannot race it."""
        card = self.pool.find(recording.trace.header.model)
        if card is None:
            return ""
        try:
            return write_link(request_of(recording.trace.header), card.sampling)
        except SettingError:
            return ""


def board_update(board: Snapshot | None) -> Any:
    """The board's value, for gradio."""
    return gr.skip() if board is None else board.wire()


def user_error(error: Exception) -> gr.Error:
    """An exception whose message is user-readable, for gradio, which renders it as HTML: a file may
    have contributed to the message."""
    return gr.Error(html.escape(str(error)[:MAX_MESSAGE], quote=False), print_exception=False)
