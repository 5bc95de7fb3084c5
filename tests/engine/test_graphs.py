"""Which runs of a part are captured and which replayed, and what of it is charged."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from engine.clock import StepClock
from engine.graphs import CaptureError, Graphs
from engine.trace import Seconds
from tests.engine.recorded_graph import capture

CLOCK = StepClock(torch.device("cpu"))


class Counted:
    """Counts captures and replays."""

    def __init__(self) -> None:
        self.captures = self.replays = 0

    def __call__(self, function: Callable[[], Tensor]) -> tuple[Tensor, Callable[[], None]]:
        self.captures += 1
        result, replay = capture(function)

        def counted() -> None:
            self.replays += 1
            replay()

        return result, counted


def test_a_part_is_run_and_captured_once_and_replayed_on_what_is_there_now() -> None:
    counted = Counted()
    graphs = Graphs(counted)
    state, calls = torch.zeros(3), []

    def part() -> Tensor:
        calls.append(None)
        return state * 2

    results = []
    for i in range(5):
        state.fill_(i)
        results.append(graphs.run("part", 7, part, CLOCK).tolist())
    assert results == [[2.0 * i] * 3 for i in range(5)]
    assert (len(calls), counted.captures, counted.replays) == (2, 1, 5)


def test_another_key_is_another_graph_and_each_is_kept() -> None:
    counted = Counted()
    graphs = Graphs(counted)
    state = torch.zeros(1)
    for key in (256, 256, 256, 512, 512, 256):
        state.add_(1)
        found = graphs.run("forward", key, lambda key=key: state + key, CLOCK)
        assert found.item() == state.item() + key
    assert (counted.captures, counted.replays) == (2, 6)


def test_every_pass_is_charged_as_one_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that ticks when a pass is computed, and much longer when one is captured."""
    now = [0.0]
    monkeypatch.setattr("engine.clock.time.perf_counter", lambda: now[0])
    clock = StepClock(torch.device("cpu"))

    def computed() -> Tensor:
        now[0] += 1
        return torch.zeros(1)

    def slow(function: Callable[[], Tensor]) -> tuple[Tensor, Callable[[], None]]:
        now[0] += 1000
        return function(), function

    graphs = Graphs(slow)
    for key in (256, 256, 512, 512, 512, 256):
        clock.skip()
        graphs.run("forward", key, computed, clock)
        clock.lap("forward")
        clock.wait()
        assert clock.seconds() == Seconds(forward=1)


def test_what_fails_fails_again_and_is_not_kept() -> None:
    graphs = Graphs(capture)
    state = torch.ones(1)

    def waits() -> Tensor:
        return torch.full((1,), state.item())

    for _ in range(2):
        with pytest.raises(CaptureError, match="copies to the host"):
            graphs.run("part", 0, waits, CLOCK)
    assert graphs.run("part", 0, lambda: state + 1, CLOCK).item() == 2
