"""Checks of whole races: a first and a second race, memory, running out of memory, and pictures.

The memory that a race takes is compared with the prediction of `race_bytes`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import torch

from engine.failures import Failure
from engine.models.base import ImageModel
from engine.models.supply.card import GIB
from engine.models.supply.device import race_bytes
from engine.race import Lane, Race, RaceRequest
from engine.race.captures import PROMPT
from engine.trace import Frame, LaneState
from tools.check.finding import REPORT, Finding, Subject, fault, good, left_out
from tools.check.lanes import TOKENS
from tools.check.speed import timed

LANES = ("ar", "sjd", "gsd", "lantern", "sjd-pac")
PICTURES = 7
SPARE, PIECE = 2**26, 2**23  # bytes left to the race that runs out of memory, and of one allocation
_MARGIN = 2**28  # bytes above the check of memory's prediction, for the kernels themselves


def check_races(subject: Subject) -> Iterator[Finding]:
    """Run two races of the same lanes, and compare the memory that they take with the prediction.

    This check must come first, because an earlier check leaves captured graphs and caches on the
    model. The first race would then capture less, and take less memory, than on a new model.
    """
    model, device = subject.model, subject.model.device
    held = 0
    if subject.on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
        held = torch.cuda.memory_reserved(device)
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        last, charged = race(model)
        seconds.append(time.perf_counter() - begin)
        if failed := next((frame for frame in last if frame.state is LaneState.FAILED), None):
            lane = LANES[failed.lane]
            yield fault("a race", f"{lane} failed: {failed.error}", f"{REPORT}.", lane=lane)
            return
    yield good(
        "a race",
        f"The first {TOKENS} tokens of {len(LANES)} lanes took {seconds[0]:.2f} s, in a second race"
        f" {seconds[1]:.2f} s, of which their clocks count {charged:.2f}: the rest is recording.",
        seconds=seconds,
        charged=charged,
    )
    if not subject.on_gpu or model.card is None:
        yield left_out("memory of a race", "It is measured only for a public model on a GPU.")
        return
    bound = race_bytes(model.card, model.dtype, len(LANES), graphs=model.captures is not None)
    took = torch.cuda.max_memory_reserved(device) - held
    words = (
        f"{len(LANES)} lanes took {took / GIB:.2f} GiB; the check of memory says {bound / GIB:.2f}."
    )
    if took <= bound + _MARGIN:
        yield good("memory of a race", words, took=took, said=bound)
    else:
        advice = f"race fewer lanes where memory is short, and {REPORT}."
        yield fault("memory of a race", words, advice, took=took, said=bound)


def check_out_of_memory(subject: Subject) -> Iterator[Finding]:
    """Run a race with too little memory, and then another race.

    In the first race lanes may fail only for lack of memory. In the second no lane may fail.
    """
    if not subject.on_gpu:
        yield left_out("out of memory", "A processor's memory cannot be limited for a trial.")
        return
    model, device = subject.model, subject.model.device
    model.slots.trim(0)
    torch.cuda.empty_cache()
    number = torch.cuda.current_device() if device.index is None else device.index
    total = torch.cuda.get_device_properties(device).total_memory
    bound = (torch.cuda.memory_reserved(device) + SPARE) / total
    torch.cuda.set_per_process_memory_fraction(bound, number)
    held = list[torch.Tensor]()
    try:
        # Memory that is reserved and free is taken up too, except for a few pieces.
        with suppress(torch.OutOfMemoryError):
            while True:
                held.append(torch.empty(PIECE, dtype=torch.uint8, device=device))
        del held[-SPARE // PIECE :]
        last, _ = race(model)
    finally:
        held.clear()
        torch.cuda.set_per_process_memory_fraction(1.0, number)
    failures = {frame.failure for frame in last}
    after = {frame.state for frame in race(model)[0]}
    if failures <= {None, Failure.OUT_OF_MEMORY} and LaneState.FAILED not in after:
        lanes = sum(frame.failure is Failure.OUT_OF_MEMORY for frame in last)
        yield good(
            "out of memory",
            f"With {SPARE // 2**20} MiB left, {lanes} of {len(LANES)} lanes ran out of memory and"
            " said so; the next race was sound.",
            lanes=lanes,
        )
    else:
        yield fault(
            "out of memory",
            f"Lanes failed with {', '.join(sorted(map(str, failures)))}, and in the race after that"
            f" ended as {', '.join(sorted(state.value for state in after))}.",
            f"start the page again after a race runs out of memory, and {REPORT}.",
        )


def check_pictures(subject: Subject) -> Iterator[Finding]:
    """Decode PICTURES pictures at once, and time it."""
    model = subject.model
    codes = np.zeros((PICTURES, *model.grid), int)
    calls = 1 if model.slow_pixels else 5
    seconds = timed(model.device, lambda: model.pixels(codes), calls)
    yield good(
        "pictures",
        f"{PICTURES} pictures of {' x '.join(map(str, model.grid))} tokens take"
        f" {1e3 * seconds:.0f} ms.",
        seconds=seconds,
    )


def race(model: ImageModel) -> tuple[list[Frame], float]:
    """Race until each lane has drawn TOKENS tokens.

    Returns:
        The last frame of each lane, and the sum of the lanes' clocks in seconds.
    """
    lanes = tuple(map(Lane, LANES))
    frames = iter(Race(model, RaceRequest(PROMPT, 0, lanes, model.sampling, model.name)))
    last: dict[int, Frame] = {}
    charged = 0.0
    for frame in frames:
        charged += frame.step.seconds.total if frame.step else 0
        if frame.step or frame.state is not LaneState.RACING:
            last[frame.lane] = frame
        if len(last) == len(lanes) and all(
            each.state is not LaneState.RACING or (each.step and each.step.after >= TOKENS)
            for each in last.values()
        ):
            break
    frames.close()
    return [last[lane] for lane in sorted(last)], charged
