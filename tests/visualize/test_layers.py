"""Layers: against hand-made steps, and against the page's own script, which says the same of every
cell at every step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.race import Race
from engine.race.request import parse_lane
from engine.trace import Frame, LaneState, Seconds, Status, Trace
from engine.trace.shares import share_values
from tests.static.node import report
from tests.steps import Spot, build
from tests.toy import Toy
from tests.visualize.races import FIVE, run, step
from visualize.board import replay
from visualize.layers import (
    CLOCKS,
    COUNTS,
    SCALES,
    LaneReplay,
    Layer,
    colours,
    reference_lane,
    shares,
)
from visualize.recorded_race import RecordedRace


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "forced"])
def trace(request) -> Trace:
    """A race with a lane that was stopped and one that failed."""
    header, frames = run((*FIVE, "jacobi"), side=6, forced=request.param)
    kept = [frame for frame in frames if frame.lane < 4 or not (frame.step and frame.step.nfe > 4)]
    for lane, state in ((4, LaneState.STOPPED), (5, LaneState.FAILED)):
        kept.append(Frame(lane, state, None, "broken" if state is LaneState.FAILED else None))
    order = [frame for frame in kept if frame.state is not LaneState.FINISHED or frame.lane < 4]
    return Trace(header, tuple(order))


def test_the_page_says_the_same(trace) -> None:
    said = report("layers", replay(RecordedRace(trace, None)))
    lanes = [LaneReplay(trace, i) for i in range(len(trace.header.lanes))]
    for layer, low in COUNTS.items():
        assert said["ranges"][layer.value] == [
            low,
            max(low + 1, *(lane.most(layer) for lane in lanes)),
        ]
    compared = 0
    for lane, views in zip(lanes, said["lanes"], strict=True):
        assert len(views) == len(lane.table) + 1
        for k, view in enumerate(views):
            now = lane.at(k)
            assert (now.k, now.n, len(now.rows) - now.n) == (view["k"], view["n"], view["window"])
            assert (now.state.value, now.passes, now.drafter) == (
                view["state"],
                view["passes"],
                view["drafter"],
            )
            assert now.seconds == pytest.approx(view["seconds"], abs=1e-5)
            assert now.compression == pytest.approx(view["compression"])
            assert lane.shift(now) == pytest.approx(view["shift"], abs=1e-6)
            differs = lane.values(Layer.DIFFERS, now)
            known = differs[~np.isnan(differs)]
            assert view["differs"] == [known.sum(), len(known)]
            assert [
                lane.step_at(clock, view[clock] + 1e-4 * (clock == "seconds")) >= k
                for clock in CLOCKS
            ] == [True, True]
            assert view["at"][1] == lane.step_at("passes", now.passes) == k
            assert view["values"].pop("status") == lane.table.positions["status"][now.rows].tolist()
            for name, values in view["values"].items():
                expected = [np.nan if value is None else value for value in values]
                np.testing.assert_allclose(lane.values(Layer(name), now), expected, atol=1e-5)
                compared += len(expected)
    assert compared > 10_000


def test_scales_are_the_page_s() -> None:
    places = [0, 0.1, 0.37, 0.5, 1]
    said = report(
        "scales", {"shares": places, "counts": [([0, 1, 5, 20], [0, 20]), ([1, 2, 9], [1, 9])]}
    )
    for layer, expected in zip(SCALES, said["colours"], strict=True):
        assert np.abs(colours(layer, np.array(places)).astype(int) - np.array(expected)).max() <= 1
    np.testing.assert_allclose(
        shares(Layer.WAITING, np.array([0, 1, 5, 20]), 20), said["counts"][0]
    )
    np.testing.assert_allclose(shares(Layer.RUNS, np.array([1, 2, 9]), 9), said["counts"][1])


def test_waiting_counts_the_steps_before() -> None:
    header, _ = run(("sjd",), side=2)
    frames = [
        Frame(0, LaneState.RACING, step(0, 1, drafts=2, nfe=1)),
        Frame(0, LaneState.RACING, step(1, 2, drafts=2, nfe=2)),
        Frame(0, LaneState.FINISHED, step(2, 4, nfe=3)),
    ]
    lane = LaneReplay(Trace(header, tuple(frames)), 0)
    assert lane.at(0).rows.size == 0
    assert lane.values(Layer.WAITING, lane.at(1)).tolist() == [0, 1, 1]
    assert lane.values(Layer.WAITING, lane.at(2)).tolist() == [0, 1, 2, 1]
    assert lane.values(Layer.WAITING, lane.at(3)).tolist() == [0, 1, 2, 1]
    assert lane.most(Layer.WAITING) == 2
    np.testing.assert_array_equal(lane.values(Layer.RUNS, lane.at(2)), [1, 1, np.nan, np.nan])
    assert lane.values(Layer.RUNS, lane.at(3)).tolist() == [1, 1, 2, 2]
    assert lane.most(Layer.RUNS) == 2
    assert [lane.step_at("seconds", t) for t in (0, 0.99, 1, 2.5, 99)] == [0, 0, 1, 2, 3]
    assert [lane.step_at("passes", t) for t in (0, 1, 2.5, 99)] == [0, 1, 2, 3]


def test_what_no_draft_was_judged_for_has_no_number() -> None:
    header, _ = run(("ar",), side=2)
    made = build(1, 0, 1, (Spot(0, None, 2, Status.FRESH, 0.5),), Seconds(1.0))
    lane = LaneReplay(Trace(header, (Frame(0, LaneState.RACING, made),)), 0)
    now = lane.at(1)
    assert lane.values(Layer.TOP1, now).tolist() == [0.5]
    for layer in (Layer.TOP1_DRAFT, Layer.TV, Layer.ACCEPTANCE):
        assert np.isnan(lane.values(layer, now)).all()


def test_what_differs_is_held_against_vanilla_ar_or_the_first() -> None:
    header, _ = run(("sjd", "ar", "gsd"), side=2)
    frames = [
        Frame(0, LaneState.RACING, step(0, 2, drafts=1, token=3)),
        Frame(1, LaneState.RACING, step(0, 1, token=3)),
        Frame(2, LaneState.RACING, step(0, 1, token=4)),
    ]
    trace = Trace(header, tuple(frames))
    assert reference_lane(header) == 1
    found = [LaneReplay(trace, i) for i in range(3)]
    np.testing.assert_array_equal(
        found[0].values(Layer.DIFFERS, found[0].at(1)), [0, np.nan, np.nan]
    )
    assert found[1].values(Layer.DIFFERS, found[1].at(1)).tolist() == [0]
    assert found[2].values(Layer.DIFFERS, found[2].at(1)).tolist() == [1]
    without = replace(header, lanes=header.lanes[::2])
    assert reference_lane(without) == 0


def test_the_shift_is_the_mean_of_the_tests_so_far() -> None:
    header, _ = run(("gsd",), side=2)
    fresh = Spot(0, None, 2, Status.FRESH, 0.5)
    tests = [Spot(at, 1, 1, Status.ACCEPTED, 0.5, shift=x) for at, x in ((1, 0.25), (2, 0.0))]
    made = [build(1, 0, 1, (fresh,)), build(2, 1, 3, (*tests, Spot(3, 1, 1, Status.REFINED, 0.5)))]
    lane = LaneReplay(Trace(header, tuple(Frame(0, LaneState.RACING, one) for one in made)), 0)
    assert [lane.shift(lane.at(k)) for k in range(2)] == [None, None]
    assert lane.shift(lane.at(2)) == pytest.approx(0.125, abs=1e-5)


def test_a_share_s_scale_may_end_before_1() -> None:
    np.testing.assert_allclose(
        shares(Layer.SHIFT, np.array([0, 0.25, 0.5, 0.9]), 1), [0, 0.5, 1, 1.8]
    )
    np.testing.assert_array_equal(
        colours(Layer.SHIFT, np.array(1.8)), colours(Layer.SHIFT, np.array(1.0))
    )


def test_a_lane_that_never_moved() -> None:
    header, _ = run(("ar", "sjd"), side=2)
    lane = LaneReplay(Trace(header, ()), 1)
    assert (lane.at(0).n, lane.at(0).state, lane.step_at("seconds", 5.0)) == (
        0,
        LaneState.WAITING,
        0,
    )
    assert [lane.most(layer) for layer in COUNTS] == [0, 0]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.integers(0, 6))
def test_every_instant_is_a_run_of_cells(lengths, drafts) -> None:
    header, _ = run(("sjd",), side=2)
    total, made, at = sum(lengths), [], 0
    for nfe, length in enumerate(lengths, 1):
        made.append(step(at, at + length, drafts=min(drafts, total - at - length), nfe=nfe))
        at += length
    header = replace(header, grid=(1, total), cells=tuple(range(total)))
    lane = LaneReplay(Trace(header, tuple(Frame(0, LaneState.RACING, one) for one in made)), 0)
    for k in range(len(made) + 1):
        now = lane.at(k)
        assert now.n == sum(lengths[:k])
        assert now.cells.tolist() == list(range(len(now.rows)))
        assert len(now.rows) - now.n == (min(drafts, total - now.n) if k else 0)


def test_gain_is_what_the_group_added_to_acceptance() -> None:
    """GSD Fig. 7: p(C) / q(C) less p(x) / q(x), each at most 1."""
    texts = ("gsd", "lantern:drafter=jacobi;k=4;delta=0.5", "sjd")
    race = Race(Toy((6, 6), 16), [parse_lane(text) for text in texts], "a prompt", 1)
    trace = race.trace(list(race))
    seen = []
    for i in range(2):
        lane, table = LaneReplay(trace, i), trace.table(i)
        now = lane.at(len(table))
        values = lane.values(Layer.GAIN, now)
        groups = table.groups
        both = np.minimum(1, groups["p"] / groups["q"])
        rows = table.positions[table.has_group]
        alone = np.minimum(1, share_values(rows["p"]) / share_values(rows["q"]))
        expected = np.full(len(table.positions), np.nan)
        expected[table.has_group] = np.maximum(0, both - alone)
        np.testing.assert_allclose(values, expected[now.rows], atol=0.02)
        seen.append(np.nanmax(values))
    assert min(seen) > 0.05
    lane = LaneReplay(trace, 2)
    assert np.isnan(lane.values(Layer.GAIN, lane.at(len(trace.table(2))))).all()
