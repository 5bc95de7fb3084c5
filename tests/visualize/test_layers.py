"""Layers: against hand-made steps, and against the page's own script, which says the same of every
cell at every step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records import Frame, LaneState, Position, Seconds, Status, Step
from engine.trace import Trace
from tests.static.node import report
from tests.visualize.races import FIVE, run, step
from visualize.board import replay
from visualize.layers import CLOCKS, COUNTS, SCALES, LaneRecords, Layer, colours, shares
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
    lanes = [LaneRecords(trace, i) for i in range(len(trace.header.lanes))]
    for layer, low in COUNTS.items():
        assert said["ranges"][layer.value] == [
            low,
            max(low + 1, *(lane.most(layer) for lane in lanes)),
        ]
    compared = 0
    for lane, views in zip(lanes, said["lanes"], strict=True):
        assert len(views) == len(lane.steps) + 1
        for k, view in enumerate(views):
            now = lane.at(k)
            assert (now.k, now.n, len(now.records) - now.n) == (
                view["k"],
                view["n"],
                view["window"],
            )
            assert (now.state.value, now.passes, now.drafter) == (
                view["state"],
                view["passes"],
                view["drafter"],
            )
            assert now.seconds == pytest.approx(view["seconds"], abs=1e-5)
            assert now.compression == pytest.approx(view["compression"])
            assert [
                lane.step_at(clock, view[clock] + 1e-4 * (clock == "seconds")) >= k
                for clock in CLOCKS
            ] == [True, True]
            assert view["at"][1] == lane.step_at("passes", now.passes) == k
            assert view["values"].pop("status") == lane.status[now.records].tolist()
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
    lane = LaneRecords(Trace(header, tuple(frames)), 0)
    assert lane.at(0).records.size == 0
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
    made = Step(1, 0, 1, (Position(0, None, 2, Status.FRESH, 0.75),), Seconds(1.0))
    lane = LaneRecords(Trace(header, (Frame(0, LaneState.RACING, made),)), 0)
    now = lane.at(1)
    assert lane.values(Layer.TOP1, now).tolist() == [0.75]
    for layer in (Layer.TOP1_DRAFT, Layer.TV, Layer.ACCEPTANCE):
        assert np.isnan(lane.values(layer, now)).all()


def test_a_lane_that_never_moved() -> None:
    header, _ = run(("ar", "sjd"), side=2)
    lane = LaneRecords(Trace(header, ()), 1)
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
    header = replace(header, grid=(1, total), forced_ids=(-1,) * total)
    lane = LaneRecords(Trace(header, tuple(Frame(0, LaneState.RACING, one) for one in made)), 0)
    for k in range(len(made) + 1):
        now = lane.at(k)
        assert now.n == sum(lengths[:k])
        assert lane.cell[now.records].tolist() == list(range(len(now.records)))
        assert len(now.records) - now.n == (min(drafts, total - now.n) if k else 0)
