"""Layers: against hand-made steps, and against the page's own script, which says the same of every
cell at every step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.trace import Frame, LaneState, Status, Step, Trace
from engine.trace.shares import share_values
from tests.races import raced
from tests.static.node import report
from tests.steps import Spot, build
from tests.visualize.races import FIVE, ROWS, filled_trace, run, step, trace_of
from tools.judge.toys import Toy
from visualize.board.board import replay
from visualize.board.snapshot import CLOCKS
from visualize.film.layers import COUNTS, SCALES, LaneReplay, Layer, colours, reference_lane, shares
from visualize.look import LOOK
from visualize.pictures.recorded_race import RecordedRace

NAN = np.nan


def stopped(forced: bool) -> Trace:
    """A race with a lane that was stopped and one that failed."""
    header, frames = run((*FIVE, "jacobi"), side=6, forced=forced)
    kept = [frame for frame in frames if frame.lane < 4 or (frame.step and frame.step.nfe <= 4)]
    ends = Frame(4, LaneState.STOPPED), Frame(5, LaneState.FAILED, None, "broken")
    return Trace(header, (*kept, *ends))


def rows_at_once(forced: bool) -> Trace:
    """A race, out of its file, whose lanes advance in several rows of the picture; the last was
    stopped."""
    header, frames = run(("ar", *ROWS, "rows"), side=6, forced=forced)
    kept = [frame for frame in frames if frame.lane < 4 or (frame.step and frame.step.nfe <= 9)]
    trace = Trace(header, (*kept, Frame(4, LaneState.STOPPED)))
    return Trace.loads(trace.dumps())


@pytest.fixture(scope="module", params=["plain", "forced", "filled in", "rows", "forced rows"])
def trace(request) -> Trace:
    if request.param.endswith("rows"):
        return rows_at_once(request.param == "forced rows")
    if request.param == "filled in":
        return filled_trace(("ar", "assd", "assd:drafts=n-gram", "sjd", "parallel"))[0]
    return stopped(request.param == "forced")


def lane_of(*steps: Step, state: LaneState = LaneState.RACING) -> LaneReplay:
    """One lane's hand-made steps on 2 x 2 tokens."""
    return LaneReplay(trace_of({"sjd": steps}, length=4, rows=2, state=state), 0)


def test_the_page_says_the_same(trace) -> None:
    said = report("layers", replay(RecordedRace(trace, None)).wire())
    lanes = [LaneReplay(trace, i) for i in range(len(trace.header.lanes))]
    ends = {layer: (0, LOOK["layers"][i].get("most", 1)) for i, layer in enumerate(Layer)}
    ends |= {
        layer: (low, max(low + 1, *(lane.most(layer) for lane in lanes)))
        for layer, low in COUNTS.items()
    }
    ends[Layer.ORDER] = (1, lanes[0].most(Layer.ORDER))
    assert said["ranges"] == {layer.value: [*pair] for layer, pair in ends.items()}
    compared = 0
    for lane, views in zip(lanes, said["lanes"], strict=True):
        assert len(views) == len(lane.table) + 1
        for k, view in enumerate(views):
            now = lane.at(k)
            facts = now.k, now.n, len(now.rows) - now.n, now.state.value, now.passes, now.drafter
            names = ("k", "n", "drafts", "state", "passes", "drafter")
            assert tuple(view[name] for name in names) == facts
            assert now.seconds == pytest.approx(view["seconds"], abs=1e-5)
            assert now.compression == pytest.approx(view["compression"])
            assert lane.shift(now) == pytest.approx(view["shift"], abs=1e-6)
            differs = lane.values(Layer.DIFFERS, now)
            known = differs[~np.isnan(differs)]
            assert view["differs"] == [known.sum(), len(known)]
            for clock in CLOCKS:
                assert lane.step_at(clock, view[clock] + 1e-4 * (clock == "seconds")) >= k
            assert view["at"][1] == lane.step_at("passes", now.passes) == k
            assert view["cells"] == now.cells.tolist()
            assert view["values"].pop("status") == lane.table.positions["status"][now.rows].tolist()
            for name, values in view["values"].items():
                expected = [NAN if value is None else value for value in values]
                np.testing.assert_allclose(lane.values(Layer(name), now), expected, atol=1e-5)
                compared += len(expected)
    assert compared > 3_000


def test_scales_are_the_page_s() -> None:
    places = [0, 0.1, 0.37, 0.5, 1]
    counts = {Layer.WAITING: ([0, 1, 5, 20], [0, 20]), Layer.RUNS: ([1, 2, 9], [1, 9])}
    said = report("scales", {"shares": places, "counts": list(counts.values())})
    for layer, expected in zip(SCALES, said["colours"], strict=True):
        assert np.abs(colours(layer, np.array(places)).astype(int) - np.array(expected)).max() <= 1
    for (layer, (values, ends)), expected in zip(counts.items(), said["counts"], strict=True):
        np.testing.assert_allclose(shares(layer, np.array(values), ends[1]), expected)
    # A share's scale may end before 1.
    found = shares(Layer.SHIFT, np.array([0, 0.25, 0.5, 0.9]), 1)
    np.testing.assert_allclose(found, [0, 0.5, 1, 1.8])
    np.testing.assert_array_equal(*(colours(Layer.SHIFT, np.array(x)) for x in (1.8, 1.0)))


def test_waiting_and_runs_count_steps_and_tokens() -> None:
    lane = lane_of(
        *(step(0, 1, drafts=2, nfe=1), step(1, 2, drafts=2, nfe=2), step(2, 4, nfe=3)),
        state=LaneState.FINISHED,
    )
    assert lane.at(0).rows.size == 0
    for layer, values in [
        (Layer.WAITING, {1: [0, 1, 1], 2: [0, 1, 2, 1], 3: [0, 1, 2, 1]}),
        (Layer.RUNS, {2: [1, 1, NAN, NAN], 3: [1, 1, 2, 2]}),
        (Layer.ORDER, {2: [1, 2, NAN, NAN]}),
    ]:
        for k, expected in values.items():
            np.testing.assert_array_equal(lane.values(layer, lane.at(k)), expected)
    assert lane.most(Layer.WAITING) == lane.most(Layer.RUNS) == 2
    assert lane.most(Layer.ORDER) == 4
    assert [lane.step_at("seconds", t) for t in (0, 0.99, 1, 2.5, 99)] == [0, 0, 1, 2, 3]
    assert [lane.step_at("passes", t) for t in (0, 1, 2.5, 99)] == [0, 1, 2, 3]


def test_what_no_draft_was_judged_for_has_no_number() -> None:
    lane = lane_of(build(1, 0, 1, (Spot(0, None, 2, Status.FRESH, 0.5),)))
    assert lane.values(Layer.TOP1, lane.at(1)).tolist() == [0.5]
    for layer in (Layer.TOP1_DRAFT, Layer.TV, Layer.ACCEPTANCE):
        assert np.isnan(lane.values(layer, lane.at(1))).all()


def test_what_differs_is_held_against_vanilla_ar_or_the_first() -> None:
    lanes = {"sjd": [step(0, 2, drafts=1)], "ar": [step(0, 1)], "gsd": [step(0, 1, token=4)]}
    trace = trace_of(lanes, length=4, rows=2, state=LaneState.RACING)
    found = [LaneReplay(trace, i) for i in range(3)]
    differs = [lane.values(Layer.DIFFERS, lane.at(1)) for lane in found]
    np.testing.assert_array_equal(differs[0], [0, NAN, NAN])
    assert [each.tolist() for each in differs[1:]] == [[0], [1]]
    header = trace.header
    assert reference_lane(header) == 1
    assert reference_lane(replace(header, lanes=header.lanes[::2])) == 0


def test_the_shift_is_the_mean_of_the_tests_so_far() -> None:
    fresh = Spot(0, None, 2, Status.FRESH, 0.5)
    tests = [Spot(at, 1, 1, Status.ACCEPTED, 0.5, shift=x) for at, x in ((1, 0.25), (2, 0.0))]
    last = build(2, 1, 3, (*tests, Spot(3, 1, 1, Status.REFINED, 0.5)))
    lane = lane_of(build(1, 0, 1, (fresh,)), last)
    assert [lane.shift(lane.at(k)) for k in range(2)] == [None, None]
    assert lane.shift(lane.at(2)) == pytest.approx(0.125, abs=1e-5)


def test_a_lane_that_never_moved() -> None:
    lane = LaneReplay(replace(trace_of({"ar": []}, length=4, rows=2), frames=()), 0)
    now = lane.at(0)
    assert (now.n, now.state, lane.step_at("seconds", 5.0)) == (0, LaneState.WAITING, 0)
    assert [lane.most(layer) for layer in COUNTS] == [0, 0]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.integers(0, 6))
def test_every_instant_is_a_run_of_cells(lengths, drafts) -> None:
    total, made, at = sum(lengths), [], 0
    for nfe, length in enumerate(lengths, 1):
        made.append(step(at, at + length, drafts=min(drafts, total - at - length), nfe=nfe))
        at += length
    lane = LaneReplay(trace_of({"sjd": made}, length=total), 0)
    for k in range(len(made) + 1):
        now = lane.at(k)
        assert now.n == sum(lengths[:k])
        assert now.cells.tolist() == list(range(len(now.rows)))
        assert len(now.rows) - now.n == (min(drafts, total - now.n) if k else 0)


def test_runs_begin_at_the_cells_that_they_begin_at() -> None:
    trace, _ = filled_trace()
    for i in range(2):
        lane, cells = LaneReplay(trace, i), np.array(trace.header.cells)
        starts = cells[lane.table.frontier[:-1]]
        assert lane.run_starts(lane.at(len(lane.table))).tolist() == starts.tolist()
        assert lane.run_starts(lane.at(2)).tolist() == starts[:2].tolist()


@pytest.mark.parametrize("forced", [False, True])
def test_rows_that_advance_each_at_its_own_pace_have_runs_and_drafts_of_their_own(forced) -> None:
    trace = rows_at_once(forced)
    lane = LaneReplay(trace, 1)
    table, cells = lane.table, np.array(trace.header.cells)
    several, committed = 0, set[int]()
    for k, one in enumerate(table.split(), 1):
        now, before = lane.at(k), lane.at(k - 1)
        found = cells[one.position]
        new = found[one.committed & (found >= 0)]
        committed |= set(new.tolist())
        assert set(now.cells[: now.n].tolist()) == committed
        assert now.cells[now.n :].tolist() == found[~one.committed & (found >= 0)].tolist()
        begun = len(lane.run_starts(now)) - len(lane.run_starts(before))
        rows = np.unique(new // 6)
        assert begun == len(rows)
        starts = lane.run_starts(now)[-begun:] if begun else []
        assert sorted(starts) == [new[new // 6 == row].min() for row in rows]
        several += len(rows) > 1
        # What is committed of a row are its first cells, and no row is ahead of the one above.
        reach = np.bincount(now.cells[: now.n] // 6, minlength=6)
        assert all(set(range(6 * row, 6 * row + n)) <= committed for row, n in enumerate(reach))
        assert (np.diff(reach) <= 0).all()
    assert several > 3


def test_a_lane_whose_rows_miss_some_has_no_shift_until_it_is_priced() -> None:
    trace = rows_at_once(False)
    whole, stopped = LaneReplay(trace, 1), LaneReplay(trace, 4)
    end = whole.at(len(whole.table))
    prices = share_values(whole.table.prices["shift"])
    assert whole.shift(end) == pytest.approx(prices.mean())
    assert np.allclose(whole.values(Layer.SHIFT, end), prices[end.cells])
    assert prices.max() > 0.01
    assert (stopped.table.positions["shift"] == 0).sum() > 3, "its tests are exact"
    for k in range(len(stopped.table) + 1):
        assert stopped.shift(stopped.at(k)) is None


def test_gain_is_what_the_group_added_to_acceptance() -> None:
    """GSD Fig. 7: p(C) / q(C) less p(x) / q(x), each at most 1."""
    texts = ("gsd", "lantern:drafter=jacobi;k=4;delta=0.5", "sjd")
    trace = raced(Toy((6, 6), 16), texts)
    for i in range(3):
        lane, table = LaneReplay(trace, i), trace.table(i)
        now = lane.at(len(table))
        both = np.minimum(1, table.groups["p"] / table.groups["q"])
        rows = table.positions[table.has_group]
        alone = np.minimum(1, share_values(rows["p"]) / share_values(rows["q"]))
        expected = np.full(len(table.positions), NAN)
        expected[table.has_group] = np.maximum(0, both - alone)
        values = lane.values(Layer.GAIN, now)
        np.testing.assert_allclose(values, expected[now.rows], atol=0.02)
        assert np.isnan(values).all() if i == 2 else np.nanmax(values) > 0.05
