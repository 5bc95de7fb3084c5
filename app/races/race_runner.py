"""RaceRunner: takes a race through the queue, the model's loading and the device.

At the end RaceRunner keeps the race's recording.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import threading
from typing import Any

import gradio as gr

from app.models.model_loader import free_memory
from app.models.model_pool import Device, ModelPool
from app.models.prompt_hints import hint
from app.races.fair_queue import FairQueue
from app.races.live_race import LiveRace
from app.races.race_table import RaceTable, StoredRace
from app.workers import zerogpu
from app.workers.device_thread import device_thread
from app.workers.gpu_errors import BUG, DEVICE_LOST, MESSAGES, zerogpu_message
from app.workers.race_stream import RaceStream, Recording, WorkerFailure, race_seconds
from engine.failures import Failure
from engine.models.base import ImageModel
from engine.models.supply.card import ModelError
from engine.models.supply.device import classify
from engine.race import Race
from engine.settings import SettingError
from engine.trace import TraceError
from visualize.board.snapshot import Snapshot, Update
from visualize.pictures.recorded_race import RecordedRace

POLL_SECONDS = 0.25  # between looks at the queue, or at a model that is loading

log = logging.getLogger(__name__)


class RaceRunner:
    """Runs each race in its own thread. In `queue`, races wait until their device is free."""

    def __init__(self, pool: ModelPool, queue: FairQueue, table: RaceTable) -> None:
        self._pool, self._queue, self._table = pool, queue, table

    def start(self, live: LiveRace) -> None:
        # ZeroGPU finds the visitor whose quota it uses in gradio's context
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(self._run, live), name=f"race {live.id}", daemon=True
        ).start()

    def _run(self, live: LiveRace) -> None:
        error = None
        try:
            live.begin()
            self._race(live)
        except gr.Error as failure:  # without its traceback, which refers to the model
            error = gr.Error(failure.message, print_exception=False)
        except SettingError as failure:  # its lanes do not fit on the device
            error = gr.Error(str(failure), print_exception=False)
        except Exception:
            log.exception("a race failed")
            error = gr.Error(BUG, print_exception=False)
        finally:
            self._end(live, error)

    def _race(self, live: LiveRace) -> None:
        """Wait for the device and the model, then run the race. Raises gr.Error and SettingError.

        Once this has returned, no thread refers to the model: the next race may need its memory.
        """
        if not self._wait_in_queue(live) or (model := self._wait_for_model(live)) is None:
            return
        if live.ticket.device in (Device.ZEROGPU, Device.CLUSTER):
            self._run_elsewhere(live)
        else:
            # A thread keeps its arguments a little longer than it runs: this list is empty by then.
            device_thread(model.device).submit(self._run_here, [model], live).result()

    def _end(self, live: LiveRace, error: gr.Error | None) -> None:
        race = None
        try:
            if live.recording is not None:
                race = StoredRace(live.id, live.recording, live.link, raced_here=True)
            self._table.finish(live.id, race)
        except Exception:  # no memory is left, say: the others are to have their turn all the same
            log.exception("a race could not be kept")
            self._table.finish(live.id, None)
        finally:
            self._queue.leave(live.ticket)
            live.end(error)

    def _wait_in_queue(self, live: LiveRace) -> bool:
        """Wait for the race's turn; return False if the race ended before its turn.

        Raises gr.Error if the race lost its place.
        """
        ticket, shown = live.ticket, ""
        while (wait := self._queue.wait_of(ticket)) is not None:
            if wait.note != shown:
                live.wait_for(shown := wait.note)
            live.stopped.wait(POLL_SECONDS)
            if live.ends:
                break
        if ticket.cancelled:
            raise gr.Error(ticket.cancelled, print_exception=False)
        return ticket.racing

    def _wait_for_model(self, live: LiveRace) -> Any:
        """Return the model once it is loaded; None if the race is to end before that.

        Raises gr.Error.
        """
        name = live.request.model
        model, shown = self._load(name, 0), None
        while model is None and not live.ends:
            if (note := self._pool.note(name)) != shown:
                live.wait_for(shown := note)
            model = self._load(name, POLL_SECONDS)
        return model

    def _load(self, name: str, seconds: float) -> Any:
        card = self._pool.require(name)
        try:
            return self._pool.wait(name, seconds)
        except ModelError as error:
            own = card == self._pool.own
            other = (
                "Recorded races still play." if own else "The embedded model can race meanwhile."
            )
            text = f"{card.title}: {error} {other}"
            raise gr.Error(text, print_exception=False) from error
        except Exception as error:
            raise gr.Error(
                "The model could not be loaded. Recorded races still play.", print_exception=False
            ) from error

    def _run_here(self, models: list[ImageModel], live: LiveRace) -> None:
        """Take the only model out of the list `models`, and run a race on this model.

        The device's thread keeps the arguments of this call for a moment after the call. If the
        list still had the model, the model would stay in memory, which the next race may need.
        """
        model = models.pop()
        race, failures = Race(model, live.request), set[Failure | None]()
        note = hint(live.request.prompt, self._pool.card(live.request.model).prompts)
        stream = None
        try:
            stream = RaceStream(race, note, race_seconds(race))
            with contextlib.closing(stream.events()) as events:
                for event in events:
                    if live.ends:
                        race.stop()
                    if isinstance(event, Snapshot | Update):
                        live.show(event.model_copy(update={"note": live.reason or event.note}))
            failures = {frame.failure for frame in stream.frames}
        except Exception as error:
            log.exception("a race failed")
            failures = {failure := classify(error, model.device)}
            raise gr.Error(MESSAGES.get(failure, BUG), print_exception=False) from error
        finally:
            live.recording = _record(stream)
            if Failure.DEVICE_LOST in failures:
                self._pool.lose_gpu(DEVICE_LOST)
            elif Failure.OUT_OF_MEMORY in failures:
                free_memory()

    def _run_elsewhere(self, live: LiveRace) -> None:
        waiting = "Waiting for a racer…"
        if live.ticket.device is Device.ZEROGPU:
            seconds = zerogpu.duration(live.request)
            waiting = f"Waiting for ZeroGPU to lend a GPU for {seconds:g} seconds…"
        live.wait_for(waiting)
        message = ""
        try:
            with contextlib.closing(self._pool.run(live.request)) as events:
                for event in events:
                    if isinstance(event, WorkerFailure):
                        message = event.message or MESSAGES.get(event.failure, BUG)
                    elif isinstance(event, Recording):
                        live.recording = RecordedRace.loads(event.text)
                    elif isinstance(event, Snapshot | Update):
                        live.show(event)
                    if live.ends:
                        break
        except gr.Error as error:
            log.warning("ZeroGPU: %s: %s", getattr(error, "title", ""), error.message)
            raise gr.Error(zerogpu_message(error), print_exception=False) from error
        if message:
            raise gr.Error(message, print_exception=False)


def _record(stream: RaceStream | None) -> RecordedRace | None:
    """Return the race's recording, or None.

    Returns None if no lane began, or if the race cannot be recorded: after a CUDA error,
    without enough memory, or if the race is too long for a file.
    """
    if stream is None or not stream.frames:
        return None
    try:
        return stream.recording()
    except (RuntimeError, MemoryError, TraceError):
        log.exception("a race could not be kept")
        return None
