"""The seconds of a step by part."""

from __future__ import annotations

import itertools

import pytest
import torch

from engine.clock import StepClock
from engine.trace import Seconds


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """`perf_counter` returns 1, 2, 4, 8, .. seconds."""
    powers = (2.0**i for i in itertools.count())
    monkeypatch.setattr("engine.clock.time.perf_counter", lambda: next(powers))


@pytest.mark.usefixtures("ticks")
def test_laps_are_charged_to_their_parts_and_add_up() -> None:
    clock = StepClock(torch.device("cpu"))  # 1
    for part in ("draft", "forward", "verify", "cache", "verify"):  # 2, 4, 8, 16, 32
        clock.lap(part)
    clock.wait()
    assert clock.seconds() == Seconds(forward=2, verify=4 + 16, cache=8, draft=1)
    assert clock.seconds() == Seconds()


@pytest.mark.usefixtures("ticks")
def test_laps_after_the_wait_belong_to_the_next_step() -> None:
    clock = StepClock(torch.device("cpu"))  # 1
    clock.lap("forward")  # 2
    clock.wait()
    clock.skip()  # 4
    clock.lap("cache")  # 8
    assert clock.seconds() == Seconds(forward=1)
    clock.skip()  # 16: between the steps
    clock.lap("forward")  # 32
    clock.wait()
    assert clock.seconds() == Seconds(forward=16, cache=4)


def test_a_part_that_is_not_known_is_an_error() -> None:
    clock = StepClock(torch.device("cpu"))
    clock.lap("lunch")
    clock.wait()
    with pytest.raises(TypeError, match="lunch"):
        clock.seconds()
