"""CUDA graphs of a lane's steps: the parts of a step are launched as one, not kernel by kernel.

A part can be captured once its operations, shapes and addresses are those of the step before
(`ImageModel.static`). What an earlier part returned may be read in a later one: a replay writes its
results where the capture did.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

from engine.clock import StepClock

# From a function to its result, and how to run it again into that same result.
Capture = Callable[[Callable[[], Any]], tuple[Any, Callable[[], None]]]


def capture_cuda(
    device: torch.device, function: Callable[[], Any]
) -> tuple[Any, Callable[[], None]]:
    """Captures the operations of `function` on a CUDA device, and runs them once. What other
    threads do on the device meanwhile goes on."""
    with torch.cuda.device(device):
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                result = function()
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        graph.replay()
    return result, graph.replay


class Graphs:
    """The captured parts of one lane, the newest of each part."""

    def __init__(self, capture: Capture, clock: StepClock) -> None:
        self._capture, self._clock = capture, clock
        self._parts: dict[str, tuple[Hashable, Any, Callable[[], None] | None]] = {}

    def run(self, part: str, key: Hashable, function: Callable[[], Any]) -> Any:
        """The result of `function`. With the key of the part's last run it is captured, from then
        on replayed: `key` stands for everything in it that is not on the device."""
        last, result, replay = self._parts.get(part, (None, None, None))
        if part not in self._parts or last != key:
            # The first run is not captured: libraries set themselves up in it.
            self._parts[part] = key, None, None
            return function()
        if replay is None:
            result, replay = self._capture(function)
            self._parts[part] = key, result, replay
            self._clock.skip()
        else:
            replay()
        return result
