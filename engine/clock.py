"""What a lane's clock counts, and StepClock, which takes the seconds of a step by part.

A lane is charged for its own steps and for nothing else. `WindowDecoder.steps` reads the clock:

* `draft`: proposing a window, where a drafter's network ran for it
* `forward`: the target's pass over the window's rows, those of guidance among them; the first one
  reads the prompt as well
* `verify`: proposing without a drafter, sampling probabilities, the rule, bringing to the host how
  many tokens are committed, and what the next step finds: its drafts, their q, its noise
* `cache`: `ImageModel.keep`, which makes the committed rows permanent

Not charged: opening the lane's context before its first step; recording a step and waiting for that
copy; the part of a step in which a CUDA graph is captured (`Graphs.run`); and whatever happens
between two steps: other lanes' turns, drawing, the page. The table holds whole microseconds a part
(`step_row`), `LaneStats.clock` is their sum over the steps so far, and `Race` gives the next turn
to the lane with the least.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from engine.trace import Seconds


class StepClock:
    """`lap(part)` charges the time since the last lap to that part of the step, `skip()` discards
    it. `wait()` waits for the device; `seconds()` are those of the laps up to the wait. Later laps
    belong to the next step: waiting for them too would be a second synchronisation."""

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
        """Discards the time since the last lap: instrumentation is not charged to the lane."""
        self._last = self._now()

    def wait(self) -> None:
        """Waits until the device has done all that it was given."""
        if self._stream is not None:
            self._now().synchronize()
        self._waited = len(self._laps)

    def seconds(self) -> Seconds:
        """What was spent on each part up to the wait since the last call."""
        spent: dict[str, float] = {}
        for part, begin, end in self._laps[: self._waited]:
            lap = end - begin if self._stream is None else begin.elapsed_time(end) / 1e3
            spent[part] = spent.get(part, 0.0) + lap
        self._laps, self._waited = self._laps[self._waited :], 0
        return Seconds(**spent)


def to_device(values: Tensor, device: torch.device) -> Tensor:
    """A copy of numbers of the host on the device, which nothing waits for."""
    if device.type != "cuda":
        return values.to(device)
    return values.pin_memory().to(device, non_blocking=True)


def to_host(values: Tensor) -> Tensor:
    """A copy in the host's memory, complete after the next wait."""
    if values.device.type == "cpu":
        return values.clone()
    pinned = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    return pinned.copy_(values, non_blocking=True)
