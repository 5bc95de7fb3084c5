"""CUDA graphs of a lane's steps: one launch for each part of a step instead of one for each kernel.

A part can be captured if its operations, shapes and addresses repeat from step to step;
`ImageModel` says when that is so. A later part may read an earlier part's results, because a replay
writes them to the addresses that the capture used.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

from engine.clock import StepClock

# Captures a function; returns its result, and a replay that fills this same result again.
Capture = Callable[[Callable[[], Any]], tuple[Any, Callable[[], None]]]


class CaptureError(RuntimeError):
    """A part cannot be captured or replayed here; the lane goes on without graphs."""


class Captures:
    """A model's way to capture graphs, and the decoders that run without them.

    `make` returns a new Capture for one lane. `without` maps the name of each decoder whose steps
    run without graphs to the reason.
    """

    def __init__(self, make: Callable[[], Capture]) -> None:
        self.make, self.without = make, dict[str, str]()


class CudaCapture:
    """Captures the parts of a lane's steps on a CUDA device, on one stream and in one memory pool.

    Other threads may use the device during a capture. An operation that no graph can hold raises at
    once.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, function: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
        """Capture a function; return its result, which only a replay fills, and the replay."""
        graph = torch.cuda.CUDAGraph()
        with (
            torch.cuda.device(self.device),
            # Where a capture fails, `torch.cuda.graph` leaves the thread on its own stream.
            torch.cuda.stream(torch.cuda.current_stream(self.device)),
            torch.cuda.graph(
                graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"
            ),
        ):
            result = function()
        return result, graph.replay


class Graphs:
    """The captured parts of one lane's steps; later races of the same lane replay them.

    A lane is charged for the replay of a part, not for the capture.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        # By part and key: result, replay, and the function, whose tensors a replay reads.
        self._parts: dict[tuple[str, Hashable], tuple[Any, Callable[[], None], object]] = {}

    def run(self, part: str, key: Hashable, function: Callable[[], Any], clock: StepClock) -> Any:
        """Replay the graph of `function` and return its result.

        The first call with this `part` and `key` runs the function once without a graph, captures
        it, and replays the graph. The function then takes effect twice, so running it twice must
        have the effect of running it once. Later calls only replay the graph.

        `key` stands for everything that the function depends on and that is not on the device.
        Raises CaptureError where the capture or the replay fails, and whatever `function` raises
        when it runs without a graph.
        """
        if (part, key) not in self._parts:
            function()  # libraries set themselves up, which no graph can hold
        try:
            if (part, key) not in self._parts:
                self._parts[part, key] = *self._capture(function), function
                clock.skip()
            result, replay, _ = self._parts[part, key]
            replay()
        except Exception as error:
            words = str(error).partition("\n")[0]
            raise CaptureError(f"{part}: {type(error).__name__}: {words}") from error
        return result
