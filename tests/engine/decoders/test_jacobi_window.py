"""The initial tokens of a window, scheme by scheme."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders.base import never
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import INIT_SCHEMES, initial_tokens
from engine.decoders.sjd import SJD
from engine.models import load
from engine.numerics.distributions import one_hot
from tools.judge.one_pass import FixedNoise
from tools.judge.toys import Toy

CODES = 6


def state_after(
    scheme: str, committed: list[int], *, forced: bool = False, width: int = 4
) -> DecodeState:
    """These tokens committed; random tokens are code 3, and position n's newest p is one-hot on
    n."""
    model = Toy((3, width), CODES, forced=forced)
    state = SJD(model, SJD.Settings(window=6, init=scheme)).begin("", 0)
    state.tokens[: len(committed)] = torch.tensor(committed, dtype=torch.long)
    state.frontier = len(committed)
    state.n.fill_(state.frontier)
    state.recent_p = one_hot(torch.arange(state.model.plan.stride + 6) % CODES, CODES)
    state.noise = FixedNoise()
    return state


def initial(
    scheme: str, committed: list[int], kept: list[int], count: int, **grid: int | bool
) -> list[int]:
    drafts = torch.tensor(kept + [0] * count, dtype=torch.long)
    there = torch.arange(len(drafts)) < len(kept)
    tokens = initial_tokens(state_after(scheme, committed, **grid), drafts, there, scheme)
    return tokens[len(kept) :].tolist()


def test_chance_reaches_every_code_alike() -> None:
    state = state_after("random", [])
    state.noise = FixedNoise(fresh=[[(i + 0.5) / 12] for i in range(12)])
    none = torch.zeros(12, dtype=torch.bool)
    found = initial_tokens(state, none.long(), none, "random")
    assert found.tolist() == [i // 2 for i in range(12)]


def test_horizontal_repeat_copies_the_last_known_token_and_leaves_first_columns_to_chance() -> None:
    assert initial("horizontal repeat", [0, 1], [2], 4) == [2, 3, 2, 2]
    assert initial("horizontal repeat", [0, 1], [], 2) == [1, 1]
    assert initial("horizontal repeat", [], [], 3) == initial("random", [0, 1], [2], 3) == [3, 3, 3]


def test_vertical_repeat_copies_the_token_above_or_the_nearest_known_above_that() -> None:
    assert initial("vertical repeat", [0, 1, 2], [4], 5) == [0, 1, 2, 4, 0]
    assert initial("vertical repeat", [0, 1], [], 4) == [3, 3, 0, 1]


def test_sampling_draws_from_the_newest_p_of_the_neighbour() -> None:
    """Each position's p is one-hot on it, so the token says which position was sampled."""
    assert initial("horizontal sample", [0] * 5, [0], 2) == [5, 5]
    assert initial("vertical sample", [0] * 5, [], 4) == [1, 2, 3, 4]


@pytest.mark.parametrize("scheme", INIT_SCHEMES)
def test_an_end_of_line_is_never_guessed_nor_copied(scheme: str) -> None:
    """Width 2 and an end of line: positions 2, 5 and 8 are forced (index 0 stands for them)."""
    tokens = initial(scheme, [5, 5], [], 5, forced=True, width=2)
    assert tokens[0] == 0
    assert tokens[3] == 0


def test_behind_an_end_of_line_there_is_no_left_neighbour() -> None:
    assert initial("horizontal repeat", [5, 5, 0], [], 2, forced=True, width=2) == [3, 3]
    assert initial("vertical repeat", [5, 4, 0], [], 2, forced=True, width=2) == [5, 4]


@given(st.sampled_from(INIT_SCHEMES), st.integers(0, 11), st.integers(0, 6), st.integers(1, 8))
def test_any_place_gives_codes_of_the_vocabulary(
    scheme: str, committed: int, kept: int, count: int
) -> None:
    kept = min(kept, 12 - committed)
    count = min(count, 12 - committed - kept)
    tokens = initial(scheme, [1] * committed, [2] * kept, count)
    assert len(tokens) == count
    assert all(0 <= token < CODES for token in tokens)


@pytest.mark.parametrize("init", [scheme for scheme in INIT_SCHEMES if scheme.endswith("sample")])
def test_samples_are_drawn_from_the_probabilities_of_a_model_in_float64(init: str) -> None:
    model = load("embedded", dtype=torch.float64)
    steps = SJD(model, SJD.Settings(window=4, init=init)).steps("red apple", 0, never)
    assert [next(steps).nfe for _ in range(4)] == [1, 2, 3, 4]
    steps.close()
