"""A race on ZeroGPU: one call that borrows a GPU for as long as the race is thought to take.

The call runs in a forked worker. Plain data alone goes in and comes out, through pickle: the form's
values one way; snapshots of the board, and at the end the recording's text, the other. What the
worker changes in memory, the page never sees; what it has read, the next call finds again where
ZeroGPU gives it the same worker. No torch.compile, which ZeroGPU does not have.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from app.course import run, traced
from app.form import read
from app.settings import SETTINGS
from app.trouble import FAILED, words
from engine.models import load
from engine.models.base import ImageModel
from engine.models.card import CARDS, ModelError
from engine.models.device import zero_gpu
from engine.race import Race
from engine.trace import Frame
from visualize.recorded_race import record

STARTING = 20.0  # seconds to fork, to find the GPU, to draw the swatches and the recording
READING = 1.5e9  # bytes of weights a second, from the disk's cache to the GPU
# seconds of a forward pass, and what every billion of parameters adds
PASS, PASS_PER_BILLION = 0.015, 0.004
# passes that other lanes need, next to vanilla AR's, with room for what their windows cost
WINDOWED = 0.6
MARGIN = 8.0  # seconds before the worker would be killed at which the race has ended by itself
MOST = 4  # GPUs borrowed at a time

log = logging.getLogger(__name__)
_read: dict[str, ImageModel] = {}  # in a worker: the model that it read last


def duration(name: str, values: list[Any]) -> float:
    """Seconds to borrow a GPU for, from the model's size and grid and from the lanes. ZeroGPU calls
    it with what `race` gets."""
    card, lanes = CARDS[name], values[2]
    one = PASS + PASS_PER_BILLION * card.parameters / 1e9
    racing = sum(card.length * one * (1.0 if lane == "ar" else WINDOWED) for lane in lanes)
    return min(SETTINGS.gpu_seconds, round(STARTING + 2 * card.parameters / READING + 1.3 * racing))


def borrowed(task: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """`task` on a GPU that is lent for each call; as it is where this is no ZeroGPU Space."""
    if not zero_gpu():
        return task
    import spaces  # app.py has imported it before anything that knows CUDA

    return spaces.GPU(duration=duration)(task)


@borrowed
def race(name: str, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """Pairs: ("board", a snapshot); ("step", None) after each step, so that a race nobody watches
    ends within two; at last ("recording", text), or ("failed", words for the visitor)."""
    end = time.monotonic() + duration(name, values) - MARGIN
    # a fork of a process that has used several hangs when it uses them again
    torch.set_num_threads(1)
    try:
        if name not in _read:
            _read.clear()
            _read[name] = load(name, "cuda", SETTINGS.dtype)
        model, entry = _read[name], read(*values)
        course = Race(model, entry.lanes, entry.prompt, entry.seed, entry.sampling)
        frames: list[Frame] = []
        why = (
            f"Stopped: ZeroGPU lends its GPU for {duration(name, values):g} seconds, which are"
            " nearly over."
        )
        for snapshot in run(course, frames, "", end, why):
            yield ("step", None) if snapshot is None else ("board", snapshot)
        yield "recording", record(traced(course, frames), model).dumps()
    except ModelError as error:
        yield "failed", str(error)
    # whatever else it is, it must not leave the worker as something that cannot be unpickled
    except Exception as error:
        log.exception("a race on ZeroGPU failed")
        yield "failed", words(f"{type(error).__name__}: {error}") or FAILED
