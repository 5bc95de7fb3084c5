"""Measures: every number against hand-made steps, and against what the decoders really do."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.trace import Frame, LaneState, Seconds, Status, Step, StepTable, Trace
from engine.trace.rows import DTYPES
from engine.trace.shares import NONE, quantise, share_values
from tests.races import raced
from tests.steps import Candidate, Spot, build
from tests.visualize.races import ROWS, steps, trace_of
from tools.judge.toys import Toy
from visualize.figures.measures import (
    acceptance,
    acceptance_by_depth,
    acceptance_lengths,
    progress,
    runners,
    sorted_top1,
    step_seconds,
    tv_by_distance,
)

LANES = (
    "ar",
    "jacobi",
    "fpi",
    "sjd",
    "sjd-pac",
    "gsd:G=8;delta=1;d=10",
    "lantern:k=8;delta=0.3",
    "gsd:G=1",
)


def spot(at: int, status: Status, tv: float | None = None, **facts: Any) -> Spot:
    return Spot(**{**_SPOT, "position": at, "status": status, "tv": tv} | facts)


_SPOT = {"draft": 1, "token": 1, "top1": 0.5, "uniform": 0.5}


def table(*steps: Step) -> StepTable:
    return StepTable.join([step.rows for step in steps])


def near(*values: float) -> list[float]:
    """These numbers as shares of 16 bits."""
    return share_values(quantise(np.array(values))).tolist()


def single(*spots: Spot) -> StepTable:
    """One step that committed these positions."""
    return table(build(1, 0, len(spots), spots))


@functools.cache
def seeded(seed: int) -> Trace:
    return raced(Toy((8, 8), 16), LANES, seed=seed)


def test_progress_counts_from_the_start() -> None:
    last = (spot(6, Status.FRESH), spot(7, Status.FRESH))
    late = build(7, 6, 8, last, Seconds(1.0, 0.25, 0.5, 0.25))
    found = progress(table(*steps(1, 3, 2, seconds=0.5), late))
    assert found.tokens.tolist() == [0, 1, 4, 6, 8]
    assert found.passes.tolist() == [0, 1, 2, 3, 7]
    assert found.seconds.tolist() == [0, 0.5, 1, 1.5, 3.5]


def test_an_average_step() -> None:
    spent = Seconds(0.5, 0.25, 0.125, 0.0), Seconds(1.5, 0.75, 0.0, 1.0)
    found = step_seconds(table(*(steps(1, seconds=each)[0] for each in spent)))
    assert found == Seconds(1.0, 0.5, 0.0625, 0.5)


# Acceptance lengths


@pytest.mark.parametrize(
    ("lengths", "counted", "gain"),
    [((1, 1, 3, 2, 1, 3, 1, 1), {1: 5, 2: 1, 3: 2}, [0, 1 / 5, 4 / 5]), ((1, 1, 1), {1: 3}, [0])],
)
def test_the_speed_up_comes_from_beyond_the_first_token_of_a_step(lengths, counted, gain) -> None:
    found = acceptance_lengths(table(*steps(*lengths)))
    assert dict(zip(found.lengths.tolist(), found.steps.tolist(), strict=True)) == counted
    assert found.share.tolist() == [count / len(lengths) for count in counted.values()]
    assert found.gain.tolist() == gain
    assert found.mean == sum(lengths) / len(lengths)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=40))
def test_the_shares_add_up_to_the_speed_up(lengths: list[int]) -> None:
    found = acceptance_lengths(table(*steps(*lengths)))
    assert found.steps.sum() == len(lengths)
    assert found.share.sum() == pytest.approx(1)
    assert found.gain.sum() == pytest.approx(1 if max(lengths) > 1 else 0)
    # A length's gain is its part of what each pass yields beyond one token.
    assert ((found.lengths - 1) * found.share).tolist() == pytest.approx(
        (found.gain * (found.mean - 1)).tolist()
    )


def test_top1_is_that_of_the_committed_positions_but_the_forced() -> None:
    committed = (
        spot(0, Status.ACCEPTED, top1=0.2),
        spot(1, Status.FORCED, top1=1.0),
        spot(2, Status.RESAMPLED, top1=0.7),
    )
    first = build(1, 0, 3, (*committed, spot(3, Status.REFINED, top1=0.9)))
    last = build(2, 3, 4, (spot(3, Status.FRESH, top1=0.4),))
    assert sorted_top1(table(first, last)).tolist() == near(0.7, 0.4, 0.2)
    assert sorted_top1(single(spot(0, Status.FORCED))).tolist() == []


# Acceptance by depth


def test_a_depth_counts_the_drafts_before_it_in_its_step_and_no_forced_position() -> None:
    accepted, resampled, refined = Status.ACCEPTED, Status.RESAMPLED, Status.REFINED
    first = build(
        1,
        0,
        4,
        (
            spot(0, accepted, 0.5),
            spot(1, Status.FORCED),
            spot(2, accepted, 0.5),
            spot(3, resampled, 0.5),
            spot(4, refined),
        ),
    )
    second = build(2, 4, 5, (spot(4, resampled, 0.5), spot(5, refined)))
    third = build(3, 5, 8, (spot(5, accepted, 0.5), spot(6, accepted, 0.5), spot(7, Status.FRESH)))
    found = acceptance_by_depth(table(first, second, third), 8)
    assert found.depth.tolist() == [1, 2, 3]
    assert found.trials.tolist() == [3, 2, 1]
    assert found.share.tolist() == pytest.approx([2 / 3, 1, 0])
    assert (found.low <= found.share).all()
    assert (found.share <= found.high).all()
    assert acceptance_by_depth(single(spot(0, Status.FRESH)), 1) is None


def test_where_rows_advance_each_at_its_own_pace_a_depth_is_in_the_drafts_row() -> None:
    accepted, resampled, rejected = Status.ACCEPTED, Status.RESAMPLED, Status.REJECTED
    first = (
        *(spot(0, accepted, 0.5), spot(1, Status.FORCED), spot(2, resampled, 0.5)),
        *(spot(3, accepted, 0.5), spot(4, accepted, 0.5), spot(5, Status.REFINED)),
        spot(6, rejected, 0.5),
    )
    # Positions 2 and 3 of the first row of 8, and 8 to 11 of the next, the last one postponed.
    rolling = placed(build(1, 0, 5, first), (2, 3, 4, 8, 9, 5, 10))
    found = acceptance_by_depth(table(rolling), 8)
    assert found.depth.tolist() == [1, 2, 3]
    assert found.trials.tolist() == [2, 2, 1]
    assert found.share.tolist() == [1, 0.5, 0]
    assert acceptance(table(rolling)).trials.sum() == 5
    assert len(tv_by_distance(table(rolling)).pairs) == 0


def placed(step: Step, positions: Sequence[int]) -> Step:
    """The step with its rows at these positions."""
    places = np.zeros(len(positions), DTYPES["places"])
    places["position"] = positions
    return Step.of(replace(step.rows, places=places))


# Acceptance against 1 - TV


def test_trials_fall_into_ten_bins_of_one_minus_tv() -> None:
    tvs = (0.97, 0.0, 0.55, 0.52, 0.58, 1.0)
    passed = [Status.ACCEPTED if i < 4 else Status.RESAMPLED for i in range(6)]
    tested = [spot(i, status, tv) for i, (status, tv) in enumerate(zip(passed, tvs, strict=True))]
    found = acceptance(single(*tested))
    a, b, c, d, e, f = 1 - np.array(near(*tvs))
    assert found.trials.tolist() == [2, 0, 0, 0, 3, 0, 0, 0, 0, 1]
    assert found.accepted.tolist() == [1, 0, 0, 0, 2, 0, 0, 0, 0, 1]
    assert found.promise[[0, 4, 9]].tolist() == pytest.approx([(a + f) / 2, (c + d + e) / 3, b])
    assert found.share[[0, 4, 9]].tolist() == pytest.approx([0.5, 2 / 3, 1.0])
    assert np.isnan(found.promise[[1, 2, 3, 5, 6, 7, 8]]).all()
    assert np.isnan(np.stack([found.share, found.low, found.high])[:, found.trials == 0]).all()
    assert found.rate == pytest.approx(4 / 6)
    assert found.promised == pytest.approx((a + b + c + d + e + f) / 6)
    spread = sum(x * (1 - x) for x in (a, c, d, e))
    assert found.z == pytest.approx((4 - (a + b + c + d + e)) / spread**0.5)


def test_the_interval_of_a_bin_is_wilsons() -> None:
    tested = [spot(i, Status.ACCEPTED if i else Status.RESAMPLED, 0.25) for i in range(8)]
    found = acceptance(single(*tested))
    assert (found.low[7], found.high[7]) == pytest.approx((0.5291, 0.9776), abs=1e-4)


@pytest.mark.parametrize(
    "untested",
    [
        spot(1, Status.FORCED, 0.0),
        spot(1, Status.FRESH, 0.5, draft=None),
        spot(1, Status.RESAMPLED, None),
        spot(1, Status.ACCEPTED, 0.5, uniform=None),
        spot(1, Status.RESAMPLED, 0.5, draft=None),
    ],
)
def test_what_was_not_held_against_a_uniform_number_is_no_trial(untested: Spot) -> None:
    assert acceptance(single(spot(0, Status.ACCEPTED, 0.5), untested)).trials.sum() == 1
    assert acceptance(table(build(1, 1, 2, (untested,)))) is None


def test_drafts_behind_a_rejection_are_no_trials() -> None:
    behind = (spot(1, Status.ACCEPTED, 0.5), spot(2, Status.RESAMPLED, 0.5))
    step = build(1, 0, 1, (spot(0, Status.RESAMPLED, 0.5), *behind))
    assert acceptance(table(step)).trials.sum() == 1


def test_of_several_candidates_the_first_ones_own_outcome_counts() -> None:
    rejected, passed = Candidate(1, 0.1, 0.4, 0.25, 0.9), Candidate(2, 0.2, 0.2, 1.0, 0.3)
    second = spot(0, Status.ACCEPTED, 0.5, candidates=(rejected, passed))
    first = spot(1, Status.ACCEPTED, 0.5, candidates=(passed,))
    none = spot(2, Status.RESAMPLED, 0.5, candidates=(rejected, rejected))
    found = acceptance(single(second, first, none))
    assert (found.trials.sum(), found.accepted.sum()) == (3, 1)


@pytest.mark.parametrize(
    ("lane", "low", "high"), [(3, -3, 3), (4, -3, 3), (7, -3, 3), (5, 4, 99), (6, 4, 99)]
)
def test_lossless_lanes_lie_on_the_diagonal_and_relaxed_ones_above(lane, low, high) -> None:
    """In standard deviations, over twelve races; the last of the lossless is GSD whose groups have
    one member each."""
    tables = [seeded(seed).table(lane) for seed in range(12)]
    found = [acceptance(table) for table in tables]
    rows = np.concatenate([table.positions[table.committed] for table in tables])
    tvs = share_values(rows["tv"][~np.isnan(share_values(rows["uniform"]))])
    assert len(tvs) == sum(x.trials.sum() for x in found) > 500
    excess = sum((x.rate - x.promised) * x.trials.sum() for x in found)
    assert low < excess / (tvs * (1 - tvs)).sum() ** 0.5 < high


def test_a_lane_that_is_exact_within_each_row_lies_on_the_diagonal() -> None:
    tables = [raced(Toy((8, 8), 16), ROWS[:1], seed=seed).table(0) for seed in range(12)]
    found = [acceptance(table) for table in tables]
    tested = [table.committed & (table.positions["uniform"] != NONE) for table in tables]
    tvs = np.concatenate([t.positions["tv"][x] for t, x in zip(tables, tested, strict=True)])
    tvs = share_values(tvs)
    assert len(tvs) == sum(x.trials.sum() for x in found) > 500
    excess = sum((x.rate - x.promised) * x.trials.sum() for x in found)
    assert abs(excess) < 3 * (tvs * (1 - tvs)).sum() ** 0.5


@pytest.mark.parametrize("lane", [0, 1, 2])
def test_lanes_that_only_compare_are_left_out(lane: int) -> None:
    assert acceptance(seeded(0).table(lane)) is None


# Distance


def behind(at: int, status: Status, tv: float | None, token: int, **facts: Any) -> Spot:
    """A draft whose q was a distribution of its own, with this token."""
    return spot(at, status, tv, top_draft=((token, 0.5),), **facts)


def rejection_then(
    *after: Spot, status: Status = Status.RESAMPLED, draft: int | None = 1
) -> list[Step]:
    """A step that rejects position 0 and leaves drafts at 1 to 4, and one that finds `after`."""
    left = [
        spot(at, Status.FORCED if at == 4 else Status.REFINED, 0.9, top=((at, 0.5),))
        for at in range(1, 5)
    ]
    first = build(1, 0, 1, (spot(0, status, 0.9, draft=draft), *left))
    return [first, build(2, 1, 2, after, earlier=[first])]


def distances(*steps: Step) -> tuple[list[float], list[float], list[float]]:
    found = tv_by_distance(table(*steps))
    return found.distance.tolist(), found.tv.tolist(), found.pairs.tolist()


def test_tv_is_taken_from_the_next_step_by_distance_and_averaged_over_rejections() -> None:
    one = rejection_then(behind(1, Status.ACCEPTED, 0.6, 1), behind(2, Status.REFINED, 0.4, 2))
    last = build(3, 2, 3, (spot(2, Status.FRESH, 0.1),), earlier=one)
    assert distances(*one, last) == ([1, 2], near(0.6, 0.4), [1, 1])
    two = rejection_then(
        behind(1, Status.RESAMPLED, 0.6, 1), behind(2, Status.REFINED, 0.4, 2, top=((7, 0.5),))
    )
    last = build(3, 2, 3, (behind(2, Status.ACCEPTED, 0.2, 7),), earlier=two)
    distance, tv, pairs = distances(*two, last)
    assert (distance, pairs) == ([1, 2], [2, 1])
    assert tv == pytest.approx([np.mean(near(0.6, 0.2)), *near(0.4)])


@pytest.mark.parametrize(
    "steps",
    [
        # another distribution, an unknown TV, no draft of this step, a forced position, one beyond
        rejection_then(
            behind(1, Status.ACCEPTED, 0.6, 9),
            behind(2, Status.REFINED, None, 2),
            spot(3, Status.REFINED, None),
            behind(4, Status.FORCED, 0.0, 4),
            spot(5, Status.REFINED, 0.7),
        ),
        # nothing was rejected
        *(
            rejection_then(behind(1, Status.ACCEPTED, 0.6, 1), status=status, draft=draft)
            for status, draft in [
                *((Status.FRESH, None), (Status.RESAMPLED, None)),
                *((Status.ACCEPTED, 1), (Status.FORCED, 1)),
            ]
        ),
        rejection_then(spot(1, Status.FRESH))[:1],
    ],
)
def test_what_is_not_the_same_drafts_next_verification_is_left_out(steps: list[Step]) -> None:
    assert distances(*steps) == ([], [], [])


def test_in_a_real_race_drafts_keep_the_distribution_of_the_step_before() -> None:
    """Every draft that SJD leaves behind a rejection is verified in the next step: none is lost to
    the comparison of distributions. An EAGLE drafter's were never the target's."""
    rejecting = [
        len(step.window)
        for step in seeded(0).steps(3)
        if step.committed["status"][-1] == Status.RESAMPLED
    ]
    found = tv_by_distance(seeded(0).table(3))
    # a window may be shorter than what was left for it
    assert found.pairs.sum() >= 0.9 * sum(rejecting) > 100
    assert found.distance[0] == 1
    assert ((found.tv >= 0) & (found.tv <= 1)).all()
    assert seeded(0).header.lanes[6].settings["drafter"] == "eagle"
    assert tv_by_distance(seeded(0).table(6)).pairs.tolist() == []


def test_runners_are_the_lanes_that_made_a_step() -> None:
    header = trace_of({"ar": [], "sjd": [], "gsd": [], "lantern": []}, length=2).header
    lanes = tuple(header.lanes[i] for i in (0, 1, 2, 1, 3))
    one, two = steps(1, 1)
    frames = (
        Frame(0, LaneState.RACING),
        *(Frame(lane, LaneState.RACING, one) for lane in (1, 2, 3)),
        Frame(1, LaneState.FINISHED, two),
        Frame(2, LaneState.FAILED, error="OSError: gone"),
        Frame(3, LaneState.STOPPED),
    )
    found = runners(Trace(replace(header, lanes=lanes), frames))
    assert [(r.index, r.name, r.repeat, r.lossless, r.finished, len(r.table)) for r in found] == [
        (1, "SJD (2)", 0, True, True, 2),
        (2, "GSD", 0, False, False, 1),
        (3, "SJD (4)", 1, True, False, 1),
    ]
