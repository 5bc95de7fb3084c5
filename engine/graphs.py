"""CUDA graphs of a lane's steps: the parts of a step are launched as one, not kernel by kernel.

A part can be captured once its operations, shapes and addresses are those of the step before
(`ImageModel` says when). What an earlier part returned may be read in a later one: a replay writes
its results where the capture did.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

from engine.clock import StepClock

# From a function to its result, and how to run it again into that same result.
Capture = Callable[[Callable[[], Any]], tuple[Any, Callable[[], None]]]


class CaptureError(RuntimeError):
    """A part cannot be captured here, or what was captured of it cannot be replayed: the lane goes
    on without graphs."""


class Captures:
    """How the parts of a model's lanes are captured: `make` gives a lane its capture. `without` are
    the decoders, by name, whose steps run without graphs all the same, and why."""

    def __init__(self, make: Callable[[], Capture]) -> None:
        self.make, self.without = make, dict[str, str]()


class CudaCapture:
    """Captures a lane's parts on a CUDA device, all on one stream and in one pool of memory. What
    other threads do on the device meanwhile goes on; what a graph cannot hold raises at once."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, function: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
        """The place of the function's result, which holds nothing yet, and the graph's replay."""
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
    """The captured parts of one lane, which a later race replays. A pass is charged to the lane as
    its replay; what it takes to capture it is not."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        # By part and key: result, replay, and the function, whose tensors a replay reads.
        self._parts: dict[tuple[str, Hashable], tuple[Any, Callable[[], None], object]] = {}

    def run(self, part: str, key: Hashable, function: Callable[[], Any], clock: StepClock) -> Any:
        """The result of `function`, which is captured where it has not run with this `key`, and
        replayed: `key` stands for everything in it that is not on the device. Running it twice must
        do what running it once does. Raises CaptureError where capturing or replaying it fails, and
        what `function` itself raises."""
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
