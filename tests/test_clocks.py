"""The clocks that tests set or scale reach every lane of a race."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.clock import StepClock
from engine.decoders import DECODERS
from engine.trace import Seconds
from tests import clocks
from tests.steps import EIGHT
from tests.visualize.races import toy_race


def step_seconds(names: Sequence[str]) -> dict[str, set[float]]:
    """The seconds that a lane's steps took in a race, to the microsecond."""
    frames = [frame for frame in toy_race(names, side=4) if frame.step]
    return {
        name: {round(frame.step.seconds.total, 6) for frame in frames if frame.lane == lane}
        for lane, name in enumerate(names)
    }


def test_a_test_sets_how_long_each_decoders_steps_take() -> None:
    with clocks.set_clocks(sjd=1.5):
        found = step_seconds(EIGHT)
    expected = {name: {(20 + i) / 1000} for i, name in enumerate(DECODERS) if name in EIGHT}
    assert found == expected | {"sjd": {0.0015}}


def test_a_seed_scales_each_decoders_seconds_by_one_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "_measured", lambda clock: Seconds(forward=1.0))
    monkeypatch.setattr(StepClock, "seconds", StepClock.seconds)  # put back afterwards
    factors = []
    for seed in ("1", "2"):
        clocks.scale_clocks(seed)
        found = step_seconds(EIGHT)
        assert all(len(lane) == 1 for lane in found.values())
        factors += [factor for lane in found.values() for factor in lane]
    assert len(set(factors)) == 2 * len(EIGHT)
    assert all(1 / 8 <= factor <= 8 for factor in factors)
