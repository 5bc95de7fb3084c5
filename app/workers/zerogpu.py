"""A race on ZeroGPU: one call that holds a GPU for as long as the race is estimated to take.

The call runs in a forked worker. Its argument and the events it yields go through pickle.
Changes to the worker's memory never reach the page. If ZeroGPU gives the next call the same
worker, the call finds the loaded model again. torch.compile is not used: ZeroGPU does not
support it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import torch

from app.settings import SETTINGS
from app.workers.race_stream import RaceStream, Recording, WorkerEvents, WorkerFailure
from engine.infilling import Infilling
from engine.models import load
from engine.models.base import ImageModel
from engine.models.supply.card import CARDS, ModelError
from engine.models.supply.device import classify, zero_gpu
from engine.race import Race, RaceRequest
from engine.settings import SettingError

STARTUP_SECONDS = 20.0  # to fork, attach the GPU, and draw swatches and recording
READ_BYTES_PER_SECOND = 1.5e9  # speed of loading weights from the disk's cache to the GPU
# seconds of a forward pass, and what every billion of parameters adds
PASS_SECONDS, PASS_SECONDS_PER_BILLION = 0.015, 0.004
WINDOW_COST = 0.6  # cost of a lane relative to vanilla AR: fewer passes, each with a window
MARGIN_SECONDS = 8.0  # the race is stopped this long before the worker is killed
MAX_CALLS = 4  # most calls at a time

log = logging.getLogger(__name__)
# By name. In the page's process it is the model that the page opens with, in a worker the one that
# raced last.
_loaded: dict[str, ImageModel] = {}


def place(name: str) -> None:
    """Put a model on the GPU before the page starts. Raises ModelError.

    ZeroGPU packs what is on the GPU at that time and streams it to each worker, which is faster
    than reading it from the disk there.
    """
    _loaded[name] = _load(name)


def _load(name: str) -> ImageModel:
    """Load a model. Raises ModelError."""
    return load(
        name,
        "cuda",
        SETTINGS.dtype,
        drafter=name in SETTINGS.drafters,
        graphs=False,  # its processes end with the call: nothing captured would be replayed
        torchscript=SETTINGS.torchscript,
    )


def cost(model: str, decoders: Sequence[str], infilling: Infilling | None = None) -> float:
    """Return the largest number of seconds for which a race of these lanes holds a GPU.

    The number is estimated from the model's size, the tokens to draw and the lanes, and is at most
    the setting `gpu_seconds`. ZeroGPU compares it with the seconds that are left of the visitor's
    daily quota.
    """
    card = CARDS[model]
    length = infilling.masked if infilling else card.length
    one_pass = PASS_SECONDS + PASS_SECONDS_PER_BILLION * card.parameters / 1e9
    ar_passes = sum(1.0 if decoder == "ar" else WINDOW_COST for decoder in decoders)
    racing = 1.3 * length * one_pass * ar_passes
    loading = 0 if model in _loaded else 2 * card.parameters / READ_BYTES_PER_SECOND
    return min(SETTINGS.gpu_seconds, round(STARTUP_SECONDS + loading + racing))


def duration(request: RaceRequest) -> float:
    """Return the `cost` of a race. ZeroGPU calls this with the arguments of `run_race`."""
    return cost(request.model, [lane.decoder for lane in request.lanes], request.infilling)


def on_zerogpu(task: Callable[..., WorkerEvents]) -> Callable[..., WorkerEvents]:
    """Make `task` hold a GPU for `duration`; outside a ZeroGPU Space return it unchanged."""
    if not zero_gpu():
        return task
    import spaces  # imported by app.py before torch.cuda

    return spaces.GPU(duration=duration)(task)


@on_zerogpu
def run_race(request: RaceRequest) -> WorkerEvents:
    """Yield the race's events, and at last its Recording or a WorkerFailure."""
    seconds = duration(request)
    deadline = time.monotonic() + seconds - MARGIN_SECONDS
    # a fork of a process that has used several threads hangs when it uses them again
    torch.set_num_threads(1)
    try:
        if request.model not in _loaded:
            _loaded.clear()
            _loaded[request.model] = _load(request.model)
        model = _loaded[request.model]
        race = Race(model, request)
        note = f"Stopped: ZeroGPU lends its GPU for {seconds:g} seconds, which are nearly over."
        stream = RaceStream(race, "", deadline - time.monotonic(), note)
        yield from stream.events()
        yield Recording(stream.recording().dumps())
    except Exception as error:  # caught here, since not every exception can be pickled
        log.exception("a race on ZeroGPU failed")
        message = str(error) if isinstance(error, (ModelError, SettingError)) else ""
        yield WorkerFailure(classify(error, torch.device("cuda")), message)
