"""Races: what happens when a visitor asks for a race, stops it, returns to it or leaves."""

from __future__ import annotations

import functools
import logging
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from app.models.model_pool import ModelPool
from app.models.prompt_hints import examples
from app.races.allowances import Allowances
from app.races.fair_queue import FairQueue, QueueFullError, Ticket
from app.races.link import write_link
from app.races.live_race import LiveRace
from app.races.race_runner import RaceRunner
from app.races.race_table import MAX_BYTES, RaceTable, StoredRace, new_id
from app.races.recorded_races import RecordedRaces
from app.races.request_values import read_request, request_of
from app.settings import AUTO, SETTINGS
from app.workers.between_steps import BETWEEN_STEPS
from app.workers.upload_thread import read_upload
from engine.decoders import DECODERS
from engine.race import Lane, RaceRequest
from engine.race.request import MAX_MESSAGE
from engine.settings import SettingError
from engine.trace import MAX_BYTES as MAX_FILE_BYTES
from engine.trace import TraceError
from visualize.board.snapshot import Snapshot
from visualize.pictures.recorded_race import RecordedRace

NOT_OVER = "The race on the board is not over yet. Wait for its end."
NOT_KEPT = (
    "This race is no longer kept here, or it never began. Reload the page to get its settings in"
    " the form, then race again."
)
FILE_SECONDS = 5.0  # processor time for one visitor's file
NOT_YOURS = "Only the page that began this race can stop it."

log = logging.getLogger(__name__)


class Races:
    """The page's races, live and recorded."""

    def __init__(self, pool: ModelPool, recorded: RecordedRaces) -> None:
        self.pool, self.recorded = pool, recorded
        card, why = pool.opening
        # why the page does not open with the model that the settings name; empty if it does
        self.model_note = "" if SETTINGS.model == AUTO else why
        if why:
            log.warning("PHOTO_FINISH_MODEL=%s: %s", SETTINGS.model, why)
        prompt, lanes = examples(card)[0], self._lanes(card.name)
        # Where the page opens on a recorded race of this prompt, the form has its seed: Race then
        # repeats it on this machine.
        shown = recorded.headers.get(recorded.first or "", {})
        same = (shown.get("prompt"), shown.get("model")) == (prompt, card.name)
        seed = shown["seed"] if same else random.randrange(2**31)
        self.default = RaceRequest(prompt, seed, lanes, card.sampling, card.name)
        self.allowances = Allowances(SETTINGS.share_seconds)
        self._table = RaceTable(SETTINGS.kept_races)
        self._queue = FairQueue(SETTINGS.queue_size, pool.at_once, report=pool.report_waiting)
        self._runner = RaceRunner(pool, self._queue, self._table)
        self._last_replay = functools.lru_cache(maxsize=1)(StoredRace.replay)

    def _lanes(self, model: str) -> tuple[Lane, ...]:
        return tuple(Lane(name) for name in self.pool.lanes(model))

    def default_on(self, model: str | None) -> RaceRequest:
        """Return the default request with the lanes that race on `model` by default.

        Only the lanes change: the request's own model stays the page's default. If `model` is None
        or unknown, the lanes stay too.
        """
        if model is None or self.pool.find(model) is None:
            return self.default
        return replace(self.default, lanes=self._lanes(model))

    def waiting_board(self) -> Snapshot:
        """Return the board of a page that has nothing to show yet."""
        return self.pool.waiting(self.default).board().model_copy(update={"prompt": ""})

    def read(self, values: Mapping[str, Any]) -> RaceRequest:
        """Return the request that plain values describe; `read_request` reads them.

        Raises gr.Error if the request cannot be run here.
        """
        try:
            request = read_request(values, self.default.model)
            self.require(request)
        except SettingError as error:
            raise user_error(error) from error
        return request

    def require(self, request: RaceRequest) -> None:
        """Raise SettingError if a request cannot be run here."""
        card, infilling = self.pool.require(request.model), request.infilling
        request.sampling.check(card.length)
        card.check_prompt(request.prompt)
        if infilling is None:
            return
        infilling.check(card.grid, card.codes)
        infilling.check_model(card.fills_in, card.title)
        for lane in request.lanes:
            DECODERS[lane.decoder].check_fills(card.fills_in, card.title)

    def start(
        self,
        session: str,
        address: str,
        request: RaceRequest,
        stopped: threading.Event | None = None,
    ) -> LiveRace:
        """Start a race, after `require` has said that its request can be run here.

        A session has one race at a time, the newest. Programs have the empty session, which has
        any number of races and keeps none of them. `address` is the visitor's network address. A
        series is one race from several seeds; `stopped` is the event that ends the series. Raises
        gr.Error if the queue is full.
        """
        waiting = self.pool.waiting(request)
        link = write_link(request, waiting.card.sampling)
        ticket = Ticket(session or object(), address, self.pool.device(request.model))
        live = LiveRace(new_id(), waiting, link, ticket, stopped)
        try:
            self._queue.join(ticket)
            if session:
                self._table.put(session, address, live)
            self._runner.start(live)
        except QueueFullError as error:
            raise user_error(error) from error
        except BaseException:  # the machine has no thread left, or no memory: nobody waits for it
            self._queue.leave(ticket)
            self._table.finish(live.id, None)
            raise
        return live

    def find(
        self, race_id: Any, session: str | None = None, key: Any = ""
    ) -> LiveRace | StoredRace | None:
        """Return the recorded race of this name or the kept race of this id, or None.

        `session` is the session of the visitor's page. If `session` is given, the visitor
        becomes the owner of a kept race whose key is `key`, or whose owner's page is gone.
        """
        if race_id in self.recorded:
            return self.recorded.race(race_id)
        return self._table.get(race_id, session, key)

    def kept(self, race_id: Any, session: str) -> StoredRace:
        """Return the race of this id. Raises gr.Error if the race is not kept, or not over."""
        race = self.find(race_id, session)
        if race is None:
            raise gr.Error(NOT_KEPT, print_exception=False)
        if isinstance(race, LiveRace):
            raise gr.Error(NOT_OVER, print_exception=False)
        return race

    def show(self, race_id: Any, session: str) -> dict[str, Any]:
        """Return the board's value with a race that is kept.

        If the visitor has another race in progress, that race is stopped. Raises gr.Error if
        the race to show is not kept.
        """
        race = self.find(race_id, session)
        if race is None:
            raise gr.Error(NOT_KEPT, print_exception=False)
        self._give_way(session, race)
        return board_value(race, self.owns(race, session))

    def replay(self, race: StoredRace) -> Snapshot:
        """Return a race that is over as one snapshot.

        The snapshots of the recorded races that come with the page are cached for good. For all
        other races together, one snapshot is cached: the one that was asked for last.
        """
        shipped = race.id in self.recorded
        return self.recorded.replay(race.id) if shipped else self._last_replay(race)

    def open_file(self, path: Any, session: str, address: str) -> dict[str, Any]:
        """Keep the race of a visitor's file and return the board's value with it.

        Raises gr.Error if the file holds no race; the board then stays as it was.
        """
        try:
            race = read_upload(self._opened, path)
        except TraceError as error:
            raise user_error(error) from error
        except (TypeError, ValueError, OSError) as error:
            raise gr.Error(
                "There is no file to open. Choose a trace.", print_exception=False
            ) from error
        self._give_way(session, race)
        self._table.put(session, address, race)
        return board_value(race)

    def _opened(self, path: Any) -> StoredRace:
        """Read the race of a file. Raises TraceError, and OSError if there is no file."""
        file = Path(path)
        if file.stat().st_size > MAX_FILE_BYTES:
            raise TraceError(
                f"The file is larger than {MAX_FILE_BYTES // 2**20} MB, the maximum for a trace."
            )
        began = time.thread_time()  # a loaded machine takes longer for the same file
        with BETWEEN_STEPS.work() as work:

            def go_on() -> None:
                if time.thread_time() - began > FILE_SECONDS:
                    raise TraceError(
                        f"Reading this file takes over {FILE_SECONDS:g} seconds, the limit for one"
                        " file."
                    )
                work.pause()

            recording = RecordedRace.loads(file.read_bytes(), go_on)
            race = StoredRace(new_id(), recording, self._link(recording))
            if race.bytes > MAX_BYTES:
                raise TraceError(
                    f"The race takes {race.bytes / 2**20:.0f} MB of memory; this page keeps at most"
                    f" {MAX_BYTES // 2**20} MB of each visitor."
                )
            go_on()
            self.replay(race)  # a race that cannot be drawn is not kept; the page asks for it next
        return race

    def stop(self, race_id: Any, key: Any, session: str) -> None:
        """Stop a race and the rest of its series; only the page that began the race may do this.

        A series is one race from several seeds, one after another. The page that began the race
        has the race's key, also after a reload. If the race is over already, the rest of its
        series is still stopped. Raises gr.Error if another page asks to stop a race in progress.
        """
        race = self.find(race_id, session, key)
        if isinstance(race, LiveRace):
            if not self.owns(race, session):
                raise gr.Error(NOT_YOURS, print_exception=False)
            race.stop()
        elif race is not None:
            self._table.stop(race.id, session)

    def seconds_of(self, race: LiveRace) -> float:
        """Return the seconds for which a race has had the device so far."""
        return self._queue.seconds_of(race.ticket)

    def owns(self, race: LiveRace | StoredRace, session: str) -> bool:
        """Return whether a race is the visitor's own race in progress, and not one only watched."""
        return race is self._table.live(session)

    def leave(self, session: str) -> None:
        """Note that the visitor's page is gone; its races are kept for a while."""
        self._table.leave(session)

    def _give_way(self, session: str, race: LiveRace | StoredRace) -> None:
        """Stop the visitor's race in progress, unless it is the `race` that the board will show."""
        own = self._table.live(session)
        if own is not None and own is not race:
            own.stop()

    def _link(self, recording: RecordedRace) -> str:
        """Return the query with a recording's settings; "" if this page cannot race with them."""
        card = self.pool.find(recording.trace.header.model)
        if card is None:
            return ""
        try:
            return write_link(request_of(recording.trace.header), card.sampling)
        except SettingError:
            return ""


def board_value(
    race: LiveRace | StoredRace, own: bool = False, more: bool = False
) -> dict[str, Any]:
    """Return the board's value in gradio, with the id by which the page asks for the race.

    The value's `key` lets a page stop the race. The key is empty unless the race is the visitor's
    `own` and still in progress. `more` says that another race follows at once.
    """
    key = race.key if own and isinstance(race, LiveRace) else ""
    return {"race": race.id, "key": key, "more": more}


def user_error(error: Exception) -> gr.Error:
    """Return an exception as gradio's error; the exception's message must be for the user."""
    return gr.Error(str(error)[:MAX_MESSAGE], print_exception=False)
