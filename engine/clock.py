"""The parts of a step that a lane's clock counts, and StepClock, which measures them.

A lane is charged for its own steps and for nothing else. `WindowDecoder.steps` reads the clock:

* `draft`: proposing a window with a drafter's network.
* `forward`: the target's pass over the window's rows, guidance rows included. The first pass reads
  the prompt as well.
* `verify`: proposing without a drafter, turning logits into p, the acceptance rule, copying the
  number of committed tokens to the host, and preparing the next step: drafts, their q, noise.
* `cache`: `ImageModel.keep`, which makes the committed rows permanent.

A lane is not charged for opening its context before the first step, for recording a step and
waiting until the record is on the host, or for capturing a CUDA graph (`Graphs.run`). Nor is it
charged for anything between two steps: other lanes' turns, drawing, the page.

The step table holds whole microseconds for each part (`step_row`). `LaneStats.clock` is the sum of
all parts over the steps so far, and `Race` gives the next turn to the lane with the smallest clock.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from engine.trace import Seconds


class StepClock:
    """Stopwatch for the parts of a step.

    `lap(part)` charges the time since the last lap to a part of the step; `skip()` discards that
    time. `wait()` waits for the device, and `seconds()` sums the laps before that wait. Laps after
    the wait count for the next step, because reading them would take a second synchronisation.
    """

    def __init__(self, device: torch.device) -> None:
        # Events of the device the lane runs on, which need not be the current one.
        self._stream = torch.cuda.current_stream(device) if device.type == "cuda" else None
        self._laps: list[tuple[str, Any, Any]] = []
        self._waited = 0
        self._last = self._now()

    def _now(self) -> Any:  # seconds, or on CUDA an event
        if self._stream is None:
            return time.perf_counter()
        # torch leaves its constructor untyped
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(self._stream)
        return event

    def lap(self, part: str) -> None:
        now = self._now()
        self._laps.append((part, self._last, now))
        self._last = now

    def skip(self) -> None:
        """Discard the time since the last lap, so that recording is not charged to the lane."""
        self._last = self._now()

    def wait(self) -> None:
        """Wait until the device has done all its work."""
        if self._stream is not None:
            self._now().synchronize()
        self._waited = len(self._laps)

    def seconds(self) -> Seconds:
        """Return the seconds of each part, summed over the laps before the last wait.

        These laps are then dropped, so that each lap counts in one call only.
        """
        spent: dict[str, float] = {}
        for part, begin, end in self._laps[: self._waited]:
            lap = end - begin if self._stream is None else begin.elapsed_time(end) / 1e3
            spent[part] = spent.get(part, 0.0) + lap
        self._laps, self._waited = self._laps[self._waited :], 0
        return Seconds(**spent)


def to_device(values: Tensor, device: torch.device) -> Tensor:
    """Copy numbers from the host to the device without waiting for the copy."""
    if device.type != "cuda":
        return values.to(device)
    return values.pin_memory().to(device, non_blocking=True)


def to_host(values: Tensor) -> Tensor:
    """Copy numbers to the host; the copy is complete after the next `StepClock.wait`."""
    if values.device.type == "cpu":
        return values.clone()
    pinned = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    return pinned.copy_(values, non_blocking=True)
