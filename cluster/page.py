"""The deployment of the page: exactly one replica, which loads no model.

Gradio's queue and sessions live in the replica's memory, so there is never a second replica.
Races run on the racers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any, cast

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
import gradio as gr
from fastapi import FastAPI
from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle
from ray.util import metrics

from app.models.model_loader import ModelLoader
from app.models.model_pool import Availability, Device, ModelPool
from app.page.launch import LAUNCH
from app.page.layout import build
from app.races.live_race import OVER
from app.workers.race_stream import WorkerEvents, WorkerFailure
from cluster.lanes_apart import race_apart
from cluster.streams import Stream, merge
from engine.failures import Failure
from engine.models.supply.card import ModelCard
from engine.race import RaceRequest
from visualize.board.snapshot import Snapshot, Update

LOST = (
    "The race was lost because the machine that ran it was lost. Race again: another machine takes"
    " its place."
)
# The options of `launch` that `mount_gradio_app` takes too.
MOUNTED = (
    "theme",
    "css",
    "css_paths",
    "head",
    "enable_monitoring",
    "max_file_size",
    "footer_links",
    "i18n",
    "run_history",
    "show_error",
    "ssr_mode",
)

log = logging.getLogger(__name__)


class ClusterPool(ModelPool):
    """The racers' models, which are the same on every racer. The pool runs races on the racers.

    At most `racers` races run at a time. With `apart` only one race runs at a time, and each of
    its lanes runs on its own racer if there are enough racers.
    """

    def __init__(
        self,
        racer: DeploymentHandle,
        models: Mapping[ModelCard, Availability],
        racers: int,
        apart: bool,
    ) -> None:
        super().__init__(ModelLoader(_never), next(iter(models)), models)
        self._racer, self._racers, self._apart = racer, racers, apart
        self.at_once = {Device.CLUSTER: 1 if apart else racers}
        self._races = metrics.Counter(
            "photo_finish_races",
            "Races that ended: finished, stopped, lost, or a kind of failure.",
            tag_keys=("model", "end"),
        )
        self._waiting = metrics.Gauge("photo_finish_queue", "Races that wait for a racer.")
        self._waiting.set(0)

    def device(self, name: str) -> Device:
        return Device.CLUSTER

    def start(self) -> None:
        """Do nothing: the racers load their models by themselves."""

    def wait(self, name: str, seconds: float) -> Any:
        return True

    def report_waiting(self, races: int) -> None:
        self._waiting.set(races)

    def run(self, request: RaceRequest) -> WorkerEvents:
        """Yield the race's events.

        If this generator is closed, the race ends after the step in progress.
        """
        end = "stopped"
        try:
            for event in self._events(request):
                if isinstance(event, Snapshot | Update) and event.state in OVER:
                    end = event.state.value
                elif isinstance(event, WorkerFailure):
                    end = event.failure.value
                yield event
        except (RayError, RayServeException) as error:
            log.warning("a racer was lost: %s", error)
            end = "lost"
            yield WorkerFailure(Failure.DEVICE_LOST, LOST)
        finally:
            self._races.inc(tags={"model": request.model, "end": end})

    def _events(self, request: RaceRequest) -> WorkerEvents:
        if self._apart and 1 < len(request.lanes) <= self._racers:
            yield from race_apart(request, self.waiting(request).board(), self._start)
        else:
            yield from (event for _, event in merge([self._start(request, request.model)]))

    def _start(self, request: RaceRequest, warm: str = "") -> Stream:
        """Start a race, preferably on a racer that has loaded the model `warm`.

        If `warm` is "", the race starts on any free racer. Lanes that race apart start this way. If
        they named their model, each lane would first wait a second for a racer that has the model,
        even if another racer is free.
        """
        racer = self._racer.options(stream=True, multiplexed_model_id=warm)
        return cast(Stream, racer.race.remote(request))


def _never() -> Any:
    raise RuntimeError("the page on a cluster loads no model: the racers do")


class Page:
    """The class that Serve deploys as the page."""

    # Serve awaits it.
    async def __init__(self, racer: DeploymentHandle, racers: int, apart: bool):  # type: ignore[misc]
        self._pool = ClusterPool(racer, await racer.models.remote(), racers, apart)

    def __serve_build_asgi_app__(self) -> FastAPI:
        return mount(self._pool)


def mount(pool: ModelPool) -> FastAPI:
    """Return the page as an ASGI app with everything that a launched page has."""
    demo = build(pool)
    demo.state_session_capacity = LAUNCH["state_session_capacity"]
    options = {name: LAUNCH[name] for name in MOUNTED}
    return gr.mount_gradio_app(FastAPI(), demo, path="", app_kwargs=demo.extensions(), **options)


def deployment() -> serve.Deployment:
    return serve.deployment(
        name="page",
        num_replicas=1,
        max_ongoing_requests=10_000,  # most of them wait: the fair queue limits the races
        # It runs on the head, with Ray's own state, so that losing another machine does not end
        # it.
        ray_actor_options={"num_cpus": 0, "resources": {"node:__internal_head__": 0.001}},
    )(serve.ingress()(Page))
