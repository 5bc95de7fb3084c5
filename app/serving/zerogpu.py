"""A race on ZeroGPU: one call that holds a GPU for as long as the race is estimated to take.

The call runs in a forked worker; its argument and the events it yields go through pickle. Changes
to the worker's memory never reach the page, but the next call finds a loaded model again if ZeroGPU
gives it the same worker. No torch.compile: ZeroGPU does not support it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass

import torch

from app.serving.race_stream import Idle, Snapshot, build_trace, stream
from app.settings import SETTINGS
from engine.failures import Failure
from engine.models import load
from engine.models.base import ImageModel
from engine.models.card import CARDS, ModelError
from engine.models.device import classify, zero_gpu
from engine.race import Race, RaceRequest
from engine.trace import Frame
from visualize.recorded_race import record

STARTUP_SECONDS = 20.0  # to fork, attach the GPU, draw the swatches and the recording
READ_BYTES_PER_SECOND = 1.5e9  # of weights, from the disk's cache to the GPU
# seconds of a forward pass, and what every billion of parameters adds
PASS_SECONDS, PASS_SECONDS_PER_BILLION = 0.015, 0.004
WINDOW_COST = 0.6  # of another lane, relative to vanilla AR: fewer passes, each with a window
MARGIN_SECONDS = 8.0  # before the worker would be killed, the race is stopped
MAX_CALLS = 4  # at a time

log = logging.getLogger(__name__)
_loaded: dict[str, ImageModel] = {}  # in a worker: the last model by its name


@dataclass(frozen=True, slots=True)
class Recording:
    """A finished race as a file's text: the worker's last event."""

    text: str


@dataclass(frozen=True, slots=True)
class WorkerFailure:
    """The worker's last event if the race failed. `message` is user-readable; where it is empty,
    gpu_errors has one for the kind of failure."""

    failure: Failure
    message: str


WorkerEvents = Generator[Snapshot | Idle | Recording | WorkerFailure, None, None]


def duration(request: RaceRequest) -> float:
    """Seconds to hold a GPU for, from the model's size and grid and from the lanes. ZeroGPU calls
    it with the arguments of `run_race`."""
    card = CARDS[request.model]
    one_pass = PASS_SECONDS + PASS_SECONDS_PER_BILLION * card.parameters / 1e9
    ar_passes = sum(1.0 if lane.decoder == "ar" else WINDOW_COST for lane in request.lanes)
    racing = 1.3 * card.length * one_pass * ar_passes
    loading = 2 * card.parameters / READ_BYTES_PER_SECOND
    return min(SETTINGS.gpu_seconds, round(STARTUP_SECONDS + loading + racing))


def on_zerogpu(task: Callable[..., WorkerEvents]) -> Callable[..., WorkerEvents]:
    """Decorates `task` to hold a GPU for `duration`; outside a ZeroGPU Space it is unchanged."""
    if not zero_gpu():
        return task
    import spaces  # imported by app.py before torch.cuda

    return spaces.GPU(duration=duration)(task)


@on_zerogpu
def run_race(request: RaceRequest) -> WorkerEvents:
    """The race's stream, and at last its Recording, or a WorkerFailure."""
    seconds = duration(request)
    deadline = time.monotonic() + seconds - MARGIN_SECONDS
    # a fork of a process that has used several threads hangs when it uses them again
    torch.set_num_threads(1)
    try:
        if request.model not in _loaded:
            _loaded.clear()
            _loaded[request.model] = load(
                request.model, "cuda", SETTINGS.dtype, drafter=request.model in SETTINGS.drafters
            )
        model = _loaded[request.model]
        race = Race.of(model, request)
        frames: list[Frame] = []
        note = f"Stopped: ZeroGPU lends its GPU for {seconds:g} seconds, which are nearly over."
        yield from stream(race, frames, "", deadline, note)
        yield Recording(record(build_trace(race, frames), model).dumps())
    except Exception as error:  # caught here, since not every exception can be pickled
        log.exception("a race on ZeroGPU failed")
        message = str(error) if isinstance(error, ModelError) else ""
        yield WorkerFailure(classify(error, torch.device("cuda")), message)
