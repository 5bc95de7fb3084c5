"""Infillings: orders, and what cannot be one."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.infilling import MASKED, Infilling, box_mask, spread_order
from engine.race import Lane, Race, RaceRequest
from engine.settings import Sampling, SettingError
from engine.trace import Trace, TraceError
from tests.races import race_of
from tools.judge.toys import InfillToy, Toy

HALF = Infilling((0, MASKED, MASKED, 1, MASKED, 0))


@given(st.lists(st.sampled_from([MASKED, 0, 1]), min_size=6, max_size=6))
def test_an_order_is_that_of_the_grid_restricted_to_the_mask(known: list[int]) -> None:
    if MASKED not in known:
        return
    for order, whole in (("raster", tuple(range(6))), ("spread", spread_order((2, 3)))):
        masked = [cell for cell in whole if known[cell] == MASKED]
        assert list(Infilling(tuple(known), order).cells((2, 3))) == masked


def test_the_mask_of_a_box_ends_where_the_grid_does() -> None:
    assert box_mask((2, 3), 0, 1, 1, 2) == [False, True, True, False, False, False]
    assert box_mask((2, 3), 1, 2, 8, 8) == [False] * 5 + [True]


@pytest.mark.parametrize(
    ("known", "order", "message"),
    [
        ((0, 1), "raster", "every cell is known"),
        ((), "raster", "every cell is known"),
        ((MASKED,), "middle first", "order is one of spread, raster, fork"),
        ((MASKED, -2), "raster", "whole numbers"),
        ((MASKED, 0.5), "raster", "whole numbers"),
        ((MASKED, True), "raster", "whole numbers"),
        ([MASKED, 0], "raster", "whole numbers"),
    ],
)
def test_what_is_no_infilling_is_rejected(known: object, order: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Infilling(known, order)


def test_what_is_known_makes_the_stream() -> None:
    """Also a single token, its cell, and a 0 beside a masked cell."""
    known = [(0, 1, MASKED), (1, 1, MASKED), (1, MASKED, 1), (MASKED, 1, 1), (0, MASKED, MASKED)]
    streams = {Infilling(each, "raster").stream for each in known}
    assert len(streams) == len(known)
    assert all(1 <= stream < 2**29 for stream in streams)
    assert Infilling(known[0], "spread").stream in streams
    assert Infilling((MASKED,) * 3).stream == 0  # a whole picture


# In a race and its trace


def race(name: str = "assd", infilling: Infilling | None = HALF) -> Race:
    return race_of(InfillToy((2, 3), 2), [Lane(name)], "a prompt", 1, infilling=infilling)


def test_a_race_is_over_the_masked_cells() -> None:
    header = race().header
    assert header.infilling == HALF
    assert header.cells == HALF.cells((2, 3))
    assert header.stride == 3
    assert Trace.loads(race().trace(list(race())).dumps()).header == header


def test_lanes_that_fill_in_need_something_masked() -> None:
    for name in ("assd", "parallel"):
        with pytest.raises(SettingError, match="fills in pictures"):
            RaceRequest("a prompt", 1, (Lane("ar"), Lane(name)), Sampling(), "toy")
        assert len(list(race(name))) > 1


def test_a_model_that_draws_whole_pictures_only_says_so() -> None:
    with pytest.raises(SettingError, match="cannot fill in"):
        race_of(Toy((2, 3), 2), [Lane("ar")], "a prompt", 1, infilling=HALF)


def test_a_trace_from_before_there_were_infillings_is_read() -> None:
    data = json.loads(race("ar", None).trace(list(race("ar", None))).dumps())
    del data["header"]["infilling"]
    assert Trace.loads(json.dumps(data)).header.infilling is None


UNKNOWN = [
    *([0] * 6, [MASKED] * 6, [0, -1, -1, 1, -1], "abcdef", 7),
    *([0, -1, -1, code, -1, 0] for code in (2, 10**400, "1", None)),
]


@pytest.mark.parametrize(
    "change",
    [
        *({"infilling": other} for other in (None, [], {})),
        *({"infilling": {"known": known, "order": "spread"}} for known in UNKNOWN),
        {"infilling": {"known": [0, -1, -1, 1, -1, 0], "order": ["spread"]}},
        *({"cells": cells} for cells in ([1, 2, 2], [0, 1, 2], [1, 2, 4, -1], [1, 2])),
    ],
)
def test_a_damaged_infilling_is_rejected(change: dict[str, object]) -> None:
    data = json.loads(race().trace(list(race())).dumps())
    data["header"] |= change
    with pytest.raises(TraceError):
        Trace.loads(json.dumps(data))


@pytest.mark.parametrize(
    "grid",
    [*((1, 1), (1, 9), (7, 1), (2, 3), (5, 8), (16, 16), (30, 20)), *((9, 9), (18, 24), (27, 20))],
)
def test_spread_order_has_every_cell_once_in_haltons_order(grid: tuple[int, int]) -> None:
    """In exact fractions."""

    def mirrored(n: int, base: int) -> Fraction:
        value, place = Fraction(0), Fraction(1, base)
        while n:
            n, digit = divmod(n, base)
            value, place = value + digit * place, place / base
        return value

    height, width = grid
    cells = dict.fromkeys(
        int(mirrored(n, 3) * height) * width + int(mirrored(n, 2) * width)
        for n in range(1, 6 * height * width)
    )
    order = spread_order(grid)
    assert sorted(order) == list(range(height * width))
    assert tuple(cells)[: len(order)] == order[: len(cells)]
