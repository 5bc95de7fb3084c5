"""Lanes whose steps cannot be captured run all the same, and race as those that never were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from engine.decoders import DECODERS, WHOLE
from engine.failures import Failure
from engine.graphs import Capture, Captures
from engine.race import Lane, captures
from engine.race.captures import try_captures
from engine.race.hardware import machine_of
from engine.trace import LaneState, Seconds
from engine.trace.steps import recorded
from tests.engine.decoders.test_static import keep_contexts
from tests.engine.recorded_graph import capture_toy
from tests.races import race_of
from tests.steps import retimed
from tools.judge.toys import Toy

BY_ROWS = ("zipar", "rows")
Captured = tuple[Any, Callable[[], None]]
TRIED = [name for name in WHOLE if DECODERS[name](Toy((4, 5), 8)).capturable]


def toy(capture: Capture | None) -> Toy:
    model = Toy((4, 5), 8)
    keep_contexts(model)
    model.static = True
    model.captures = Captures(lambda: capture) if capture else None
    return model


def raises(function: Callable[[], Any]) -> Captured:
    """A capture that fails, as where an operation waits for the device."""
    raise RuntimeError("operation not permitted when stream is capturing")


def differs(function: Callable[[], Any]) -> Captured:
    """A graph of a forward pass that reads what was there when it was captured."""
    if function.func.__name__ != "read_rows":
        return capture_toy(function)
    result = function()
    return result, lambda: None


class StreamLost:
    """Graphs of which one can be replayed so many times, and no other any more."""

    def __init__(self, replays: int) -> None:
        self.left = replays

    def __call__(self, function: Callable[[], Any]) -> Captured:
        result, replay = capture_toy(function)

        def counted() -> None:
            self.left -= 1
            if self.left < 0:
                raise RuntimeError("CUDA error: invalid resource handle")
            replay()

        return result, counted


def test_nothing_is_tried_where_nothing_is_captured() -> None:
    model = toy(None)
    model.start = None  # type: ignore[method-assign, assignment]  # no race begins
    try_captures(model)
    assert model.captures is None


def test_lanes_that_do_the_same_stay_captured() -> None:
    model = toy(capture_toy)
    try_captures(model)
    assert model.captures.without == {}
    assert machine_of(model).endswith("CUDA graphs")


@pytest.mark.parametrize(
    ("capture", "words"),
    [
        (raises, "propose: RuntimeError: operation not permitted when stream is capturing"),
        (differs, "step 3 differs from the one of kernels launched one by one"),
    ],
)
def test_lanes_that_cannot_be_captured_are_known_before_they_race(
    capture: Capture, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = toy(capture)
    try_captures(model)
    assert list(model.captures.without) == TRIED
    # By rows, what the graph of another step leaves is so wrong that it raises.
    assert all(words in why for name, why in model.captures.without.items() if name not in BY_ROWS)
    assert f"SJD-PAC runs without CUDA graphs: {model.captures.without['sjd-pac']}" in caplog.text
    assert machine_of(model).endswith(f"CUDA graphs but for {len(TRIED)} decoders")


def test_a_lane_whose_graphs_take_more_memory_race_by_race_runs_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = iter(range(0, 2**40, 2**30))
    monkeypatch.setattr(captures, "allocated", lambda device: next(taken))
    model = toy(capture_toy)
    try_captures(model)
    assert model.captures.without["ar"] == "its graphs take 1024 MiB more in every race"


def test_one_that_could_not_be_captured_is_named_with_the_machine() -> None:
    model = toy(capture_toy)
    model.captures.without["gsd"] = "no matter"
    assert machine_of(model).endswith("CUDA graphs but for GSD")


@pytest.mark.parametrize("name", TRIED)
@pytest.mark.parametrize("capture", [raises, StreamLost(3)], ids=["raises", "stream lost"])
def test_a_race_goes_on_where_capturing_fails_in_the_middle_of_it(
    name: str, capture: Capture
) -> None:
    def steps(model: Toy) -> list[Any]:
        frames = list(race_of(model, [Lane(name)], "a prompt", 7))
        assert frames[-1].state is LaneState.FINISHED
        return recorded([retimed(frame.step, Seconds()) for frame in frames if frame.step])

    model = toy(capture)
    assert steps(model) == steps(toy(None))
    assert name in model.captures.without
    taken = model.slots.take()
    assert taken.graphs is None, "of a lost stream nothing is kept"


def test_a_device_that_goes_away_ends_the_lane_and_is_no_fault_of_its_graphs() -> None:
    model = toy(StreamLost(3))
    forward, calls = model.forward, []

    def lost(*inputs: Any) -> torch.Tensor:
        calls.append(None)
        if len(calls) > 3:  # the prompt's pass, the one before the capture, the captured one
            raise torch.AcceleratorError("CUDA error: unspecified launch failure")
        return forward(*inputs)

    model.forward = lost  # type: ignore[method-assign]
    frames = list(race_of(model, [Lane("sjd")], "a prompt", 7))
    assert frames[-1].state is LaneState.FAILED
    assert frames[-1].failure is Failure.DEVICE_LOST
    assert model.captures.without == {}


def test_where_memory_is_short_a_lane_goes_on_without_graphs_in_this_race_alone() -> None:
    def short(function: Callable[[], Any]) -> Captured:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 32.00 MiB.")

    model = toy(short)
    frames = list(race_of(model, [Lane("sjd")], "a prompt", 7))
    assert frames[-1].state is LaneState.FINISHED
    assert model.captures.without == {}
