"""How many passes rows take that are corrected, and which of their tokens have a price."""

from __future__ import annotations

import pytest
import torch

from engine.decoders.auto_correct import AutoCorrect, AutoCorrectSettings
from engine.models.base import MAX_ROWS
from engine.trace import Status
from tests.steps import spots
from tools.judge.toys import Toy

CODES = 6


def decoded(toy: Toy, rounds: int) -> list:
    with torch.inference_mode():
        return list(AutoCorrect(toy, AutoCorrectSettings(rounds=rounds)).steps("", 3))


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("rounds", [1, 2, 3, 9])
def test_a_row_takes_as_many_passes_as_rounds(rounds: int, forced: bool) -> None:
    toy = Toy((3, 4), CODES, forced=forced)
    steps, width = decoded(toy, rounds), toy.plan.stride
    assert len(steps) == 3 * min(rounds, width)
    assert steps[-1].after == toy.plan.length


def test_a_row_longer_than_a_pass_is_corrected_in_parts() -> None:
    steps = decoded(Toy((2, MAX_ROWS // 2 + 12), CODES), 2)
    assert len(steps) == 2 * 2 * 2
    assert max(step.rows.steps["rows"].max() for step in steps) <= MAX_ROWS


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_the_first_tokens_of_a_row_have_no_price(rounds: int) -> None:
    """In pass t over a row, its first t tokens see nothing that changes later."""
    width = 5
    prices = decoded(Toy((4, width), CODES), rounds)[-1].rows.prices["shift"].reshape(-1, width)
    assert (prices[:, :rounds] == 0).all()
    assert (prices[:, rounds:] > 0).any()


def test_what_a_row_leaves_is_committed_by_the_next_pass_without_a_test() -> None:
    first, second, *_ = decoded(Toy((3, 4), CODES), 1)
    assert (first.before, first.after, second.after) == (0, 1, 5)
    drawn, seen = spots([first, second])
    left, new = seen[:3], seen[3:]
    assert [spot.token for spot in left] == [spot.token for spot in drawn[1:]]
    assert {spot.uniform for spot in left} == {None}
    assert {spot.status for spot in left} == {Status.ACCEPTED}
    assert None not in {spot.uniform for spot in new}
