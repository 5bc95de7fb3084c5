"""Measures: every number against hand-made steps, and against what the decoders really do."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders.gsd import GSDSettings
from engine.decoders.lantern import LanternSettings
from engine.race import Lane, Race
from engine.settings import Sampling
from engine.trace import Frame, Header, LaneState, Seconds, Status, Step, StepTable, Trace
from engine.trace.shares import quantise, share_values
from tests.steps import Candidate, Spot, Top, build, spots
from tests.toy import Toy
from visualize.measures import (
    acceptance,
    acceptance_lengths,
    progress,
    runners,
    sorted_top1,
    step_seconds,
    tv_by_distance,
)


def spot(
    at: int,
    status: Status,
    tv: float | None = None,
    *,
    top1: float = 0.5,
    draft: int | None = 1,
    uniform: float | None = 0.5,
    candidates: Sequence[Candidate] = (),
    top: Top = (),
    top_draft: Top = (),
) -> Spot:
    return Spot(
        at,
        draft,
        1,
        status,
        top1,
        None,
        tv,
        None,
        None,
        None,
        uniform,
        top,
        top_draft,
        None,
        tuple(candidates),
    )


def table(*steps: Step) -> StepTable:
    return StepTable.join([step.rows for step in steps])


def near(*values: float) -> list[float]:
    """These numbers as shares of 16 bits."""
    return share_values(quantise(np.array(values))).tolist()


def walked(*lengths: int, seconds: float = 1.0) -> list[Step]:
    """Steps that committed so many tokens each."""
    ends = np.cumsum(lengths).tolist()
    return [
        build(
            i + 1,
            end - length,
            end,
            tuple(spot(at, Status.FRESH) for at in range(end - length, end)),
            Seconds(seconds),
        )
        for i, (length, end) in enumerate(zip(lengths, ends, strict=True))
    ]


def single(*spots: Spot) -> StepTable:
    """One step that committed these positions."""
    return table(build(1, 0, len(spots), spots))


@functools.cache
def raced(seed: int, side: int = 8) -> Trace:
    model = Toy((side, side), 16)
    lanes = [
        *(Lane(name) for name in ("ar", "jacobi", "fpi", "sjd", "sjd-pac")),
        Lane("gsd", GSDSettings(G=4, delta=1.0, d=10.0, order="descending")),
        Lane("lantern", LanternSettings(k=8, delta=0.3)),
        Lane("gsd", GSDSettings(G=1)),
    ]
    race = Race(model, lanes, "a prompt", seed)
    return race.trace(list(race))


# Progress


def test_progress_counts_from_the_start() -> None:
    steps = walked(1, 3, 2, seconds=0.5)
    last = (spot(6, Status.FRESH), spot(7, Status.FRESH))
    found = progress(table(*steps, build(7, 6, 8, last, Seconds(1.0, 0.25, 0.5, 0.25))))
    assert found.tokens.tolist() == [0, 1, 4, 6, 8]
    assert found.passes.tolist() == [0, 1, 2, 3, 7]
    assert found.seconds.tolist() == [0, 0.5, 1, 1.5, 3.5]


# Acceptance lengths


def test_the_speed_up_comes_from_what_is_beyond_the_first_token_of_a_step() -> None:
    found = acceptance_lengths(table(*walked(1, 1, 3, 2, 1, 3, 1, 1)))
    assert found.lengths.tolist() == [1, 2, 3]
    assert found.steps.tolist() == [5, 1, 2]
    assert found.share.tolist() == [5 / 8, 1 / 8, 2 / 8]
    assert found.gain.tolist() == [0, 1 / 5, 4 / 5]
    assert found.mean == 13 / 8


def test_without_a_longer_step_there_is_no_speed_up() -> None:
    found = acceptance_lengths(table(*walked(1, 1, 1)))
    assert found.gain.tolist() == [0]
    assert found.share.tolist() == [1]
    assert found.mean == 1


@given(st.lists(st.integers(1, 20), min_size=1, max_size=40))
def test_the_shares_add_up_to_the_speed_up(lengths: list[int]) -> None:
    found = acceptance_lengths(table(*walked(*lengths)))
    assert found.steps.sum() == len(lengths)
    assert found.share.sum() == pytest.approx(1)
    assert found.gain.sum() == pytest.approx(1 if max(lengths) > 1 else 0)
    # A length's gain is its part of what each pass yields beyond one token.
    assert ((found.lengths - 1) * found.share).tolist() == pytest.approx(
        (found.gain * (found.mean - 1)).tolist()
    )


# Top-1


def test_top1_is_that_of_the_committed_positions_but_the_forced() -> None:
    committed = (
        spot(0, Status.ACCEPTED, top1=0.2),
        spot(1, Status.FORCED, top1=1.0),
        spot(2, Status.RESAMPLED, top1=0.7),
    )
    steps = [
        build(1, 0, 3, (*committed, spot(3, Status.REFINED, top1=0.9))),
        build(2, 3, 4, (spot(3, Status.FRESH, top1=0.4),)),
    ]
    assert sorted_top1(table(*steps)).tolist() == near(0.7, 0.4, 0.2)
    assert sorted_top1(single(spot(0, Status.FORCED))).tolist() == []


# Acceptance against 1 - TV


def test_trials_fall_into_ten_bins_of_one_minus_tv() -> None:
    tvs = (0.97, 0.0, 0.55, 0.52, 0.58, 1.0)
    found = acceptance(
        single(
            *(
                spot(i, Status.ACCEPTED if i < 4 else Status.RESAMPLED, tv)
                for i, tv in enumerate(tvs)
            )
        )
    )
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
    found = acceptance(
        single(*(spot(i, Status.ACCEPTED if i else Status.RESAMPLED, 0.25) for i in range(8)))
    )
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
    behind = (spot(1, Status.REFINED, 0.5), spot(2, Status.REJECTED, 0.5))
    step = build(1, 0, 1, (spot(0, Status.RESAMPLED, 0.5), *behind))
    assert acceptance(table(step)).trials.sum() == 1


def test_of_several_candidates_the_first_ones_own_outcome_counts() -> None:
    rejected, passed = Candidate(1, 0.1, 0.4, 0.25, 0.9), Candidate(2, 0.2, 0.2, 1.0, 0.3)
    second = spot(0, Status.ACCEPTED, 0.5, candidates=[rejected, passed])
    first = spot(1, Status.ACCEPTED, 0.5, candidates=[passed])
    none = spot(2, Status.RESAMPLED, 0.5, candidates=[rejected, rejected])
    found = acceptance(single(second, first, none))
    assert (found.trials.sum(), found.accepted.sum()) == (3, 1)


def pooled(lane: int, races: int = 12) -> tuple[float, float]:
    """Standard deviations above the diagonal, and how many trials, over several races."""
    found = [acceptance(raced(seed).table(lane)) for seed in range(races)]
    trials = sum(x.trials.sum() for x in found)
    tvs = np.array(
        [
            p.tv
            for seed in range(races)
            for step, found_ in zip(
                raced(seed).steps(lane), spots(raced(seed).steps(lane)), strict=True
            )
            for p in found_[: len(step.committed)]
            if p.draft is not None and p.uniform is not None
        ]
    )
    assert len(tvs) == trials
    return sum((x.rate - x.promised) * x.trials.sum() for x in found) / (
        tvs * (1 - tvs)
    ).sum() ** 0.5, trials


@pytest.mark.parametrize("name", ["SJD", "SJD-PAC", "GSD G=1"])
def test_a_lossless_lane_lies_on_the_diagonal(name: str) -> None:
    """The last is GSD whose groups have one member each."""
    lane = next(r.index for r in runners(raced(0)) if r.name == name)
    above, trials = pooled(lane)
    assert trials > 500
    assert abs(above) < 3


@pytest.mark.parametrize("name", ["GSD G=4 d=10 delta=1 order=descending", "LANTERN k=8 delta=0.3"])
def test_a_relaxed_lane_lies_above_it(name: str) -> None:
    lane = next(r.index for r in runners(raced(0)) if r.name == name)
    above, _ = pooled(lane)
    assert above > 4


@pytest.mark.parametrize("lane", [0, 1, 2])
def test_lanes_that_only_compare_are_left_out(lane: int) -> None:
    assert raced(0).header.lanes[lane].decoder in ("ar", "jacobi", "fpi")
    assert acceptance(raced(0).table(lane)) is None


# Time


def test_an_average_step() -> None:
    steps = [
        build(1, 0, 1, (spot(0, Status.FRESH),), Seconds(0.5, 0.25, 0.125, 0.0)),
        build(2, 1, 2, (spot(1, Status.FRESH),), Seconds(1.5, 0.75, 0.0, 1.0)),
    ]
    assert step_seconds(table(*steps)) == Seconds(1.0, 0.5, 0.0625, 0.5)


# Distance


def top_one(token: int) -> Top:
    return ((token, 0.5),)


def rejection_then(
    *after: Spot, status: Status = Status.RESAMPLED, draft: int | None = 1
) -> list[Step]:
    """A step that rejects position 0 and leaves drafts at 1 to 4, and one that finds `after`."""
    left = [
        spot(at, Status.FORCED if at == 4 else Status.REFINED, 0.9, top=top_one(at))
        for at in range(1, 5)
    ]
    first = build(1, 0, 1, (spot(0, status, 0.9, draft=draft), *left))
    return [first, build(2, 1, 2, after, earlier=[first])]


def test_tv_is_taken_from_the_next_step_by_distance() -> None:
    steps = rejection_then(
        spot(1, Status.ACCEPTED, 0.6, top_draft=top_one(1)),
        spot(2, Status.REFINED, 0.4, top_draft=top_one(2)),
    )
    last = build(3, 2, 3, (spot(2, Status.FRESH, 0.1),), earlier=steps)
    found = tv_by_distance(table(*steps, last))
    assert found.distance.tolist() == [1, 2]
    assert found.tv.tolist() == near(0.6, 0.4)
    assert found.pairs.tolist() == [1, 1]


def test_tv_is_averaged_over_rejections() -> None:
    first = rejection_then(
        spot(1, Status.RESAMPLED, 0.6, top_draft=top_one(1)),
        spot(2, Status.REFINED, 0.4, top=top_one(7), top_draft=top_one(2)),
    )
    last = spot(2, Status.ACCEPTED, 0.2, top_draft=top_one(7))
    found = tv_by_distance(table(*first, build(3, 2, 3, (last,), earlier=first)))
    assert found.distance.tolist() == [1, 2]
    assert found.tv.tolist() == pytest.approx([np.mean(near(0.6, 0.2)), *near(0.4)])
    assert found.pairs.tolist() == [2, 1]


def test_what_is_not_the_same_drafts_next_verification_is_left_out() -> None:
    other_distribution = spot(1, Status.ACCEPTED, 0.6, top_draft=top_one(9))
    unknown = spot(2, Status.REFINED, None, top_draft=top_one(2))
    forced, fresh = spot(4, Status.FORCED, 0.0, top_draft=top_one(4)), spot(5, Status.REFINED, 0.7)
    between = spot(3, Status.REFINED, None)
    steps = rejection_then(other_distribution, unknown, between, forced, fresh)
    none = tv_by_distance(table(*steps))
    assert none.distance.tolist() == []


@pytest.mark.parametrize(
    ("status", "draft"),
    [(Status.FRESH, None), (Status.RESAMPLED, None), (Status.ACCEPTED, 1), (Status.FORCED, 1)],
)
def test_a_step_that_rejected_nothing_disturbs_nothing(status: Status, draft: int | None) -> None:
    steps = rejection_then(
        spot(1, Status.ACCEPTED, 0.6, top_draft=top_one(1)), status=status, draft=draft
    )
    assert tv_by_distance(table(*steps)).pairs.tolist() == []
    assert tv_by_distance(table(*steps[:1])).pairs.tolist() == []


def test_in_a_real_race_drafts_keep_the_distribution_of_the_step_before() -> None:
    """Every draft that SJD leaves behind a rejection is verified in the next step: none is lost to
    the comparison of distributions."""
    steps = raced(0).steps(3)
    behind = sum(
        len(step.window) for step in steps if step.committed["status"][-1] == Status.RESAMPLED
    )
    found = tv_by_distance(raced(0).table(3))
    # a window may be shorter than what was left for it
    assert found.pairs.sum() >= 0.9 * behind > 100
    assert found.distance[0] == 1
    assert ((found.tv >= 0) & (found.tv <= 1)).all()


def test_an_eagle_drafters_distributions_are_not_the_targets_earlier_ones() -> None:
    assert raced(0).header.lanes[6].settings["drafter"] == "eagle"
    assert tv_by_distance(raced(0).table(6)).pairs.tolist() == []


# Runners


def test_runners_are_the_lanes_that_made_a_step() -> None:
    lanes = tuple(Lane(name).plain() for name in ("ar", "sjd", "gsd", "sjd", "lantern"))
    header = Header("a prompt", 1, "toy", (1, 2), 5, (0, 1), Sampling(), lanes, "here")
    one, two = walked(1, 1)
    frames = (
        Frame(0, LaneState.RACING),
        *(Frame(lane, LaneState.RACING, one) for lane in (1, 2, 3)),
        Frame(1, LaneState.FINISHED, two),
        Frame(2, LaneState.FAILED, error="OSError: gone"),
        Frame(3, LaneState.STOPPED),
    )
    found = runners(Trace(header, frames))
    assert [(r.index, r.name, r.lossless, r.finished, len(r.table)) for r in found] == [
        (1, "SJD (2)", True, True, 2),
        (2, "GSD", False, False, 1),
        (3, "SJD (4)", True, False, 1),
    ]
