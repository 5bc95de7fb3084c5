"""Where a fresh draft comes from, scheme by scheme."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders.refill import SCHEMES, RefillSettings, fresh
from engine.decoders.run import Run
from engine.decoders.sjd import SJD
from engine.distributions import one_hot
from tests.engine.decoders.driving import Chosen
from tests.toy import Toy

CODES = 6


def begun(scheme: str, committed: list[int], *, forced: bool = False, width: int = 4) -> Run:
    """A run with these tokens committed, whose chance always gives code 3, and whose memory at
    position n is certain of n."""
    run = Run(
        SJD(Toy((3, width), CODES, forced=forced), RefillSettings(window=6, init=scheme)), "", 0
    )
    run.tokens[: len(committed)] = torch.tensor(committed, dtype=torch.long)
    run.frontier = len(committed)
    run.memory = one_hot(torch.arange(run.model.stride + 6) % CODES, CODES)
    run.noise = Chosen()
    return run


def filled(
    scheme: str, committed: list[int], kept: list[int], count: int, **grid: int | bool
) -> list[int]:
    return fresh(
        begun(scheme, committed, **grid), torch.tensor(kept, dtype=torch.long), count, scheme
    ).tolist()


def test_random_is_chance() -> None:
    assert filled("random", [0, 1], [2], 3) == [3, 3, 3]


def test_chance_reaches_every_code_alike() -> None:
    run = begun("random", [])
    run.noise = Chosen(fresh=[[(i + 0.5) / 12] for i in range(12)])
    assert fresh(run, run.drafts, 12, "random").tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_horizontal_repeat_copies_the_last_known_token_and_leaves_first_columns_to_chance() -> None:
    assert filled("horizontal repeat", [0, 1], [2], 4) == [2, 3, 2, 2]
    assert filled("horizontal repeat", [0, 1], [], 2) == [1, 1]
    assert filled("horizontal repeat", [], [], 3) == [3, 3, 3]


def test_vertical_repeat_copies_the_token_above_or_the_nearest_known_above_that() -> None:
    assert filled("vertical repeat", [0, 1, 2], [4], 5) == [0, 1, 2, 4, 0]
    assert filled("vertical repeat", [0, 1], [], 4) == [3, 3, 0, 1]


def test_sampling_draws_from_the_neighbours_latest_law() -> None:
    """The memory is certain of its position, so the token tells whose law was drawn from."""
    assert filled("horizontal sample", [0] * 5, [0], 2) == [5, 5]
    assert filled("vertical sample", [0] * 5, [], 4) == [1, 2, 3, 4]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_end_of_line_is_never_guessed_nor_copied(scheme: str) -> None:
    """Width 2 and an end of line: positions 2, 5 and 8 are forced (index 0 stands for them)."""
    tokens = filled(scheme, [5, 5], [], 5, forced=True, width=2)
    assert tokens[0] == 0
    assert tokens[3] == 0


def test_behind_an_end_of_line_there_is_no_left_neighbour() -> None:
    assert filled("horizontal repeat", [5, 5, 0], [], 2, forced=True, width=2) == [3, 3]
    assert filled("vertical repeat", [5, 4, 0], [], 2, forced=True, width=2) == [5, 4]


@given(st.sampled_from(SCHEMES), st.integers(0, 11), st.integers(0, 6), st.integers(0, 8))
def test_any_place_gives_codes_of_the_vocabulary(
    scheme: str, committed: int, kept: int, count: int
) -> None:
    kept = min(kept, 12 - committed)
    count = min(count, 12 - committed - kept)
    tokens = filled(scheme, [1] * committed, [2] * kept, count)
    assert len(tokens) == count
    assert all(0 <= token < CODES for token in tokens)
