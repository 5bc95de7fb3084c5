from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.trace import Trace
from tests.clocks import set_clocks
from tests.races import race_of
from tools.judge.toys import Toy
from visualize.figures.seeds import Estimate, over_seeds, ranks


@set_clocks()
def trace(seed: int, lanes: str = "ar sjd gsd", steps: int | None = None) -> Trace:
    race = race_of(Toy((4, 4), 8), lanes.split(), "red apple", seed)
    return race.trace(list(race)[:steps])


@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=6))
def test_an_interval_is_students_t(values) -> None:
    found = Estimate.of(values)
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    assert found.mean == pytest.approx(sum(values) / len(values), abs=1e-4)
    assert found.half == pytest.approx((high - low) / 2, rel=2e-3, abs=2e-4)


def test_one_seed_has_no_interval_and_no_rank() -> None:
    assert Estimate.of([3.0]) == Estimate(3.0, None)
    assert set(ranks({0: [1.0], 1: [9.0]}).values()) == {None}


NEAR = {0: [10.0, 11.0, 12.0], 1: [12.0, 11.0, 10.1], 2: [1.0, 1.1, 1.2], 3: [1.0, 1.1, 1.2]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # seed by seed lane 1 is ahead of lane 0, although both spread by far more
        ({0: [10.0, 20.0, 30.0], 1: [9.0, 18.9, 29.2], 2: [1.0, 10.5, 21.0]}, {2: 1, 1: 2, 0: 3}),
        # neighbours within noise have none
        (NEAR | {4: [50.0, 51.0, 52.0]}, {0: None, 1: None, 2: None, 3: None, 4: 5}),
    ],
)
def test_lanes_are_ranked_where_the_seeds_agree(values, expected) -> None:
    assert ranks(values) == expected


def test_figures_are_those_of_the_races() -> None:
    races = [trace(seed) for seed in range(5)]
    found = over_seeds(races)
    assert [lane.name for lane in found] == ["Vanilla AR", "SJD", "GSD"]
    for i, lane in enumerate(found):
        tables = [race.table(i) for race in races]
        passes = [table.steps["nfe"][-1] for table in tables]
        seconds = [table.clock[-1] for table in tables]
        assert lane.passes.mean == pytest.approx(sum(passes) / 5, abs=1e-4)
        assert lane.seconds.mean == pytest.approx(sum(seconds) / 5, abs=1e-4)
        first = [race.table(0).clock[-1] for race in races]
        ratios = [ar / mine for ar, mine in zip(first, seconds, strict=True)]
        assert lane.faster.mean == pytest.approx(sum(ratios) / 5, abs=1e-4)
    assert found[0].passes == Estimate(16.0, 0.0)
    assert found[0].rank_by_passes == 3


def test_without_vanilla_ar_there_is_no_speed_up() -> None:
    assert [lane.faster for lane in over_seeds([trace(1, "sjd gsd")])] == [None, None]


def test_a_lane_that_did_not_finish_every_time_is_left_out() -> None:
    assert over_seeds([trace(1), trace(2, steps=8)]) == []


def test_races_of_other_lanes_are_rejected() -> None:
    with pytest.raises(ValueError, match="not of one race"):
        over_seeds([trace(1), trace(1, "ar sjd scd")])
