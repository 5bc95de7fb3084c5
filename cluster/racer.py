"""Racer: one replica of the cluster, with one device and one warm model.

A racer runs one race at a time, so that no race pays for another race's forward passes. Like
ZeroGPU's worker, a racer receives a plain request, and sends snapshots and updates, then a
Recording or a WorkerFailure.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor

import torch
from ray import serve
from ray.util import metrics

from app.models.model_loader import free_memory
from app.models.model_pool import Availability, ModelPool, default_pool
from app.models.prompt_hints import hint
from app.settings import SETTINGS
from app.workers.device_thread import device_thread
from app.workers.gpu_errors import DEVICE_LOST
from app.workers.race_stream import Idle, RaceStream, Recording, WorkerFailure, race_seconds
from app.workers.waiting import Waiting
from cluster.streams import Event
from engine.failures import Failure
from engine.models.base import ImageModel
from engine.models.supply.card import ModelCard, ModelError
from engine.models.supply.device import classify, resolve_device
from engine.race import Race, RaceRequest
from engine.race.hardware import device_name
from engine.settings import SettingError
from engine.trace import Trace

POLL_SECONDS = 0.25  # between looks at a model that is loading
CHECK_SECONDS = 10.0  # between checks that the replica can still race

log = logging.getLogger(__name__)


class Racer:
    """The class that Serve deploys as a racer; `make_pool` makes its pool of models."""

    def __init__(self, make_pool: Callable[[], ModelPool] = default_pool) -> None:
        self._pool = make_pool()
        self._pool.loader.start()
        self._device, self._lost = resolve_device(SETTINGS.device), False
        self._lanes = metrics.Counter(
            "photo_finish_lanes",
            "Lanes that ended: finished, stopped, or a kind of failure.",
            tag_keys=("model", "decoder", "end"),
        )
        self._lane_seconds = metrics.Counter(
            "photo_finish_lane_seconds",
            "Seconds that those lanes were charged.",
            tag_keys=("model", "decoder", "end"),
        )

    def check_health(self) -> None:
        """Raise if the device was lost. Ray calls this, and replaces a replica that has raised."""
        if self._lost:
            raise RuntimeError("the device was lost")

    async def models(self) -> dict[ModelCard, Availability]:
        """Return each model's availability here, the embedded model first. Loads nothing."""
        return {card: self._pool.availability(card.name) for card in self._pool.cards}

    async def race(self, request: RaceRequest) -> AsyncGenerator[Event, None]:
        """Yield the race's events.

        If this generator is closed or cancelled, the race ends after the step in progress.
        """
        if serve.get_multiplexed_model_id():
            await self._warm(request.model)
        loop, thread = asyncio.get_running_loop(), self._thread(request.model)
        events = self._events(request)
        try:
            while event := await loop.run_in_executor(thread, next, events, None):
                yield event
        finally:
            await asyncio.shield(loop.run_in_executor(thread, events.close))

    def _thread(self, name: str) -> ThreadPoolExecutor:
        """Return the thread that warmed the model up, in which its races also run and close."""
        own = name == self._pool.own.name
        return device_thread(torch.device("cpu") if own else self._device)

    @serve.multiplexed(max_num_models_per_replica=1)
    async def _warm(self, name: str) -> str:
        """Return `name`; the call tells Ray's router that this replica has the model, or soon will.

        This method loads nothing: its decorator tells the router. The decorator allows one model
        per replica, because a ModelPool keeps one public model in memory.
        """
        return name

    def _events(self, request: RaceRequest) -> Generator[Event, None, None]:
        try:
            model = yield from self._load(request)
            race = Race(model, request)
            note = hint(request.prompt, self._pool.card(request.model).prompts)
            stream = RaceStream(race, note, race_seconds(race))
            yield from stream.events()
            failures = {frame.failure for frame in stream.frames}
            self._lost = Failure.DEVICE_LOST in failures
            if Failure.OUT_OF_MEMORY in failures:
                free_memory()
            yield from self._record(stream)
        except Exception as error:  # caught here: not every exception can be pickled
            log.exception("a race failed")
            readable = isinstance(error, (ModelError, SettingError))
            failure = classify(error, self._device)
            self._lost = failure is Failure.DEVICE_LOST
            message = DEVICE_LOST if self._lost else str(error) if readable else ""
            yield WorkerFailure(failure, message)

    def _record(self, stream: RaceStream) -> Generator[Recording, None, None]:
        """Yield a finished race's recording.

        Yields nothing if the recording fails: the race still counts as finished.
        """
        try:
            self._count(stream.trace())
            recording = Recording(stream.recording().dumps())
        except Exception as error:
            log.exception("a race could not be kept")
            self._lost |= classify(error, self._device) is Failure.DEVICE_LOST
        else:
            yield recording

    def _load(self, request: RaceRequest) -> Generator[Event, None, ImageModel]:
        card, note = self._pool.require(request.model), None
        while (model := self._pool.wait(request.model, POLL_SECONDS)) is None:
            now = self._pool.note(request.model)
            if now == note:
                yield Idle()
            else:
                note = now
                yield Waiting(request, card, device_name(self._device), note).board()
        image_model: ImageModel = model
        return image_model

    def _count(self, trace: Trace) -> None:
        last = {frame.lane: frame for frame in trace.frames}
        for i, lane in enumerate(trace.header.lanes):
            end = (last[i].failure or last[i].state).value
            tags = {"model": trace.header.model, "decoder": lane.decoder, "end": end}
            self._lanes.inc(tags=tags)
            self._lane_seconds.inc(float(trace.table(i).clock[-1]), tags)


def deployment(least: int, most: int, cpus: float, gpus: float) -> serve.Deployment:
    """Return a deployment of `least` to `most` racers, each with these numbers of CPUs and GPUs.

    Racers that are idle for ten minutes are given back, until `least` are left.
    """
    return serve.deployment(
        name="racer",
        max_ongoing_requests=1,
        autoscaling_config={
            "min_replicas": least,
            "max_replicas": most,
            "target_ongoing_requests": 1,
            "downscale_delay_s": 600,
        },
        ray_actor_options={"num_cpus": cpus, "num_gpus": gpus},
        health_check_period_s=CHECK_SECONDS,
    )(Racer)
