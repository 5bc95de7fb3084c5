"""Records refuse what cannot have happened, and add up."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records import Frame, LaneState, Position, Seconds, Standing, Status, Step


def position(at: int, status: Status = Status.ACCEPTED) -> Position:
    return Position(at, 1, 1, status, 0.5, 0.5, 0.1, 0.9)


def step(
    nfe: int, before: int, after: int, *, drafts: int = 0, seconds: float = 1.0, drafter: int = 0
) -> Step:
    positions = [position(at) for at in range(before, after)]
    positions += [position(at, Status.REFINED) for at in range(after, after + drafts)]
    return Step(nfe, before, after, tuple(positions), Seconds(forward=seconds), drafter)


def test_committed_and_window_split_a_step() -> None:
    made = step(1, 2, 4, drafts=3)
    assert [p.position for p in made.committed] == [2, 3]
    assert [p.position for p in made.window] == [4, 5, 6]


@pytest.mark.parametrize(("nfe", "before", "after"), [(0, 0, 1), (1, 0, 0), (1, 3, 2)])
def test_a_step_commits_at_least_one_token(nfe: int, before: int, after: int) -> None:
    with pytest.raises(ValueError, match="commits at least one"):
        step(nfe, before, after)


@pytest.mark.parametrize(
    "positions", [(), (position(1),), (position(1), position(0)), (position(0), position(2))]
)
def test_the_committed_positions_come_first_and_in_order(positions: tuple[Position, ...]) -> None:
    with pytest.raises(ValueError, match="must come first"):
        Step(1, 0, 2, positions, Seconds())


def test_a_step_that_claims_billions_of_positions_is_refused_at_once() -> None:
    """Without a list as long as the claim: a damaged trace may say so."""
    with pytest.raises(ValueError, match="must come first"):
        Step(1, 0, 2**62, (position(0),), Seconds())


@pytest.mark.parametrize("values", [(-1, 0), (0, -1)])
def test_positions_and_tokens_are_not_negative(values: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="not negative"):
        Position(values[0], None, values[1], Status.FRESH, 0.5)


@pytest.mark.parametrize("part", ["forward", "verify", "cache", "draft"])
def test_time_does_not_run_backwards(part: str) -> None:
    with pytest.raises(ValueError, match="backwards"):
        Seconds(**{part: -1e-9})


def test_seconds_add_part_by_part() -> None:
    both = Seconds(1, 2, 3, 4) + Seconds(10, 20, 30, 40)
    assert both == Seconds(11, 22, 33, 44)
    assert both.total == 110


@pytest.mark.parametrize("state", LaneState)
def test_a_lane_has_an_error_exactly_if_it_failed(state: LaneState) -> None:
    failed = state is LaneState.FAILED
    assert Frame(0, state, error="why" if failed else None).state is state
    with pytest.raises(ValueError, match="exactly if it failed"):
        Frame(0, state, error=None if failed else "why")


def test_records_are_frozen() -> None:
    for record in (position(0), step(1, 0, 1), Seconds(), Frame(0, LaneState.RACING)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, dataclasses.fields(record)[0].name, 5)


def test_an_empty_standing_divides_by_nothing() -> None:
    assert (
        Standing().step_compression,
        Standing().mean_acceptance_length,
        Standing().acceptance_histogram,
    ) == (0, 0, {})


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.integers(0, 3))
def test_a_standing_is_the_sum_of_its_steps(lengths: list[int], drafter: int) -> None:
    standing, frontier = Standing(), 0
    for nfe, length in enumerate(lengths, 1):
        standing.add(step(nfe, frontier, frontier + length, drafter=drafter))
        frontier += length
    assert (standing.nfe, standing.frontier) == (len(lengths), sum(lengths))
    assert standing.drafter_passes == drafter * len(lengths)
    assert standing.seconds.total == len(lengths)
    assert standing.step_compression == pytest.approx(sum(lengths) / len(lengths))
    assert standing.mean_acceptance_length == pytest.approx(sum(lengths) / len(lengths))
    assert sum(n * times for n, times in standing.acceptance_histogram.items()) == sum(lengths)
