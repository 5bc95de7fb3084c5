"""StepClock: the seconds of a step by part, with the device synchronised at the step's two ends and
nowhere between."""

from __future__ import annotations

import time
from typing import Any

import torch

from engine.trace import Seconds


class StepClock:
    """`lap(part)` charges the time since the last lap to that part of the step, `skip()` discards
    it; `seconds()` ends the step."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._laps: dict[str, list[tuple[Any, Any]]] = {}
        if self._cuda:
            torch.cuda.synchronize(device)
        self._last = self._now()

    def _now(self) -> Any:  # seconds, or on CUDA an event
        if not self._cuda:
            return time.perf_counter()
        # torch leaves its constructor untyped
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def lap(self, part: str) -> None:
        now = self._now()
        self._laps.setdefault(part, []).append((self._last, now))
        self._last = now

    def skip(self) -> None:
        """Discards the time since the last lap: instrumentation is not charged to the lane."""
        self._last = self._now()

    def seconds(self) -> Seconds:
        if self._cuda:
            self._last.synchronize()
            spent = {
                part: sum(a.elapsed_time(b) for a, b in laps) / 1e3
                for part, laps in self._laps.items()
            }
        else:
            spent = {part: sum(b - a for a, b in laps) for part, laps in self._laps.items()}
        return Seconds(**spent)
