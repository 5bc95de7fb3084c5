from __future__ import annotations

import pytest

from engine.trace import Trace
from tests.races import race_of
from tools.judge.toys import Toy
from visualize.figures.sweep import sweep_figures


def trace(seed: int, lanes: str = "sjd:window=2 sjd:window=8 sjd:window=4") -> Trace:
    race = race_of(Toy((4, 4), 8), lanes.split(), "red apple", seed)
    return race.trace(list(race))


def test_passes_and_seconds_stand_over_the_knob_with_intervals() -> None:
    races = [trace(seed) for seed in range(4)]
    passes, seconds = sweep_figures(races, "window")
    assert [passes.title, seconds.title] == ["Passes over window", "Seconds over window"]
    (line,) = passes.plot.data
    assert line.name == "SJD"
    assert sorted(line.x) == [2, 4, 8]
    assert line.error_y.visible
    for i, (value, mean) in enumerate(zip(line.x, line.y, strict=True)):
        assert value == races[0].header.lanes[i].settings["window"]
        taken = [race.table(i).steps["nfe"][-1] for race in races]
        assert mean == pytest.approx(sum(taken) / 4, abs=1e-4)
    best = line.x[line.y.index(min(line.y))]
    assert f"window = {best:g} takes {min(line.y):.1f} ± " in passes.sentence


def test_a_sentence_says_what_the_seeds_leave_open() -> None:
    same = "scd:window=4 scd:window=4;init=random"
    (passes, _) = sweep_figures([trace(seed, same) for seed in (1, 2)], "window")
    assert passes.sentence.startswith("These seeds leave open which value takes fewest: ")
    (passes, _) = sweep_figures([trace(1)], "window")
    assert passes.sentence.startswith("One seed has no interval: ")
    assert not passes.plot.data[0].error_y.visible
    wide = [trace(seed, "sjd:window=2 sjd:window=16") for seed in range(8)]
    (passes, _) = sweep_figures(wide, "window")
    assert passes.sentence.startswith("Over 8 seeds window = 16 takes ")
    assert passes.sentence.endswith("less than any other value.")


def test_one_lane_alone_is_no_sweep() -> None:
    assert sweep_figures([trace(1, "sjd")], "window") == []
