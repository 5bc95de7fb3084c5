"""Loads models in the background and warms them up."""

from __future__ import annotations

import contextlib
import gc
import itertools
import logging
import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import constants

from app.models.prompt_hints import examples
from app.settings import SETTINGS
from app.workers.device_thread import device_thread, use_threads
from engine.decoders import WHOLE
from engine.models import load
from engine.models.base import ImageModel
from engine.models.supply.card import CARDS, ModelCard
from engine.models.supply.progress import Phase, Progress, Report
from engine.race import MAX_LANES, Lane, Race, RaceRequest
from engine.race.captures import try_captures
from visualize.board.board import live_board

log = logging.getLogger(__name__)


class ModelLoader:
    """Loads a model once, in its own thread. While it loads, the board shows the text `note`."""

    def __init__(self, load: Callable[[], Any], note: str = "Loading the model…") -> None:
        self._load, self._lock = load, threading.Lock()
        self._future: Future[ImageModel] | None = None
        self._raised: Future[ImageModel] | None = None  # a failure that `wait` has raised
        self.note = note

    def start(self) -> Future[ImageModel]:
        with self._lock:
            future = self._future
            if future is None or future is self._raised:
                future = Future()
                threading.Thread(
                    target=self._run, args=(future,), name="model", daemon=True
                ).start()
                self._future = future
            return future

    def wait(self, seconds: float) -> ImageModel | None:
        """Return the model, or None if it is not loaded within `seconds`.

        Raises what the loading raised; the next call then loads the model again.
        """
        future = self.start()
        if not futures.wait([future], seconds).done:
            return None
        if future.exception() is not None:
            self._raised = future
        return future.result()

    @property
    def done(self) -> bool:
        return self._future is not None and self._future.done()

    def _run(self, future: Future[ImageModel]) -> None:
        try:
            future.set_result(self._load())
        except Exception as error:  # raised again by `wait`
            log.exception("the model could not be loaded")
            future.set_exception(error)


def free_memory() -> None:
    """Free the memory, also on a GPU, of models to which nothing refers any more."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def load_public(name: str, report: Report) -> ImageModel:
    """Load a public model from the hub or the hub's cache; warm it up. Raises ModelError."""
    drafter = name in SETTINGS.drafters
    model = load(
        name,
        SETTINGS.device,
        SETTINGS.dtype,
        progress=report,
        drafter=drafter,
        graphs=SETTINGS.graphs,
        torchscript=SETTINGS.torchscript,
        # Beside the weights, in the one folder that a host is asked to keep.
        previews=Path(constants.HF_HUB_CACHE) / "photo-finish",
    )
    report(Progress(Phase.WARMING, 1.0))
    return warm_up(model)


def download_public(name: str, report: Report) -> ModelCard:
    """Download a public model's files. Raises ModelError."""
    from engine.models.supply.hub import fetch_all

    card = CARDS[name]
    fetch_all(card.with_drafter() if name in SETTINGS.drafters else card, report)
    return card


def load_embedded() -> ImageModel:
    """Load the model that comes with the repository, which is small enough to run on the CPU."""
    return warm_up(load("embedded"))


def warm_up(model: ImageModel) -> ImageModel:
    """Run a few steps of every decoder, and decode pictures, on the thread that races will use.

    A model's first steps and pictures take longer than later ones. If every pass of the model
    takes seconds here, only vanilla AR is run. First, `try_captures` finds the decoders that must
    run without CUDA graphs. Returns `model`.
    """
    return device_thread(model.device).submit(_warm_up, model).result()


def _warm_up(model: ImageModel) -> ImageModel:
    use_threads(model)
    slow = model.slow_pixels  # then every pass and picture takes seconds
    prompt = examples(CARDS.get(model.name))[0]
    try_captures(model)
    for count in range(1, 1 if slow else MAX_LANES + 1):
        for decode in filter(None, (model.pixels, model.preview)):
            decode(np.zeros((count, *model.grid), int))
    for name in ("ar",) if slow else WHOLE:
        race = Race(model, RaceRequest(prompt, 0, (Lane(name),), model.sampling, model.name))
        board = live_board(race)
        with contextlib.closing(iter(race)) as moves:
            for frame in itertools.islice(moves, 4):
                board.fold(frame)
        board.update()
    return model
