"""Plans: every token of a picture is known or has a position, once, in whatever order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Plan
from engine.infilling import FORK, MASKED, ORDERS, Infilling
from engine.plan import anywhere, below, rolling, whole
from engine.settings import SettingError

MARK = 99  # the id of a row's end
sides = st.tuples(st.integers(1, 5), st.integers(1, 5))


def layout(grid: tuple[int, int], marked: bool) -> list[int]:
    return ([-1] * grid[1] + [MARK] * marked) * grid[0]


def agree(plan: Plan, grid: tuple[int, int], marked: bool) -> None:
    """With the layout: slots, their cells and what is forced there."""
    forced = layout(grid, marked)
    there = [slot for slot, _ in plan.known]
    assert sorted([*there, *plan.slots]) == list(range(len(forced)))
    cells = {slot: sum(each < 0 for each in forced[:slot]) for slot in plan.slots}
    for slot, cell, token in zip(plan.slots, plan.cells, plan.forced, strict=True):
        assert token == forced[slot]
        assert cell == (-1 if token >= 0 else cells[slot])
    assert plan.has_forced == any(forced[slot] >= 0 for slot in plan.slots)


@given(sides, st.booleans(), st.data())
def test_a_whole_picture_the_rest_of_one_and_its_rows_at_once(
    grid: tuple[int, int], marked: bool, data: st.DataObject
) -> None:
    everything = whole(grid, layout(grid, marked))
    agree(everything, grid, marked)
    assert everything.root == -1
    count = grid[0] * grid[1]
    first = data.draw(st.integers(0, count - 1))
    known = tuple(cell if cell < first else MASKED for cell in range(count))
    rest = below(everything, Infilling(known, "raster"))
    agree(rest, grid, marked)
    assert rest.slots == everything.slots[rest.root + 1 :]
    assert rest.stride == everything.stride
    for slot, token in rest.known:
        cell = everything.cells[slot]
        assert token == (MARK if cell < 0 else cell)
    assert (rest.before, everything.stream) == (0, 0)
    assert rest.stream == rest.gumbel_stream == Infilling(known).stream
    fork = below(everything, Infilling(known, FORK))
    assert fork.before == rest.root + 1 == everything.length - rest.length
    assert (fork.stream, fork.gumbel_stream) == (rest.stream, 0)
    assert replace(fork, before=0, infilling=rest.infilling) == rest
    agree(rolling(everything), grid, marked)
    assert rolling(everything).fronts


@given(sides, st.sampled_from(ORDERS), st.data())
def test_any_cells_in_their_order_behind_the_known_ones(
    grid: tuple[int, int], order: str, data: st.DataObject
) -> None:
    mask = data.draw(
        st.lists(st.booleans(), min_size=grid[0] * grid[1], max_size=grid[0] * grid[1])
    )
    mask[data.draw(st.integers(0, len(mask) - 1))] = True
    infilling = Infilling.of_mask(range(len(mask)), mask, order)
    plan = anywhere(grid, infilling)
    agree(plan, grid, marked=False)
    assert plan.ahead
    assert plan.slots == infilling.cells(grid)
    assert plan.stream == plan.gumbel_stream == infilling.stream
    assert plan.known == tuple((cell, cell) for cell, masked in enumerate(mask) if not masked)
    assert plan.root == max((cell for cell, masked in enumerate(mask) if not masked), default=-1)


def test_a_fork_begins_as_the_model_draws() -> None:
    columns = Plan((0, 2, 1, 3), (0, 1, 2, 3), (-1,) * 4, 4)
    assert below(columns, Infilling((5, MASKED, 6, MASKED), FORK)).cells == (1, 3)
    with pytest.raises(SettingError, match="not the beginning of a picture"):
        below(columns, Infilling((5, 6, MASKED, MASKED), FORK))


def test_what_is_filled_in_has_no_rows_to_draw_at_once() -> None:
    rest = below(whole((2, 2), [-1] * 4), Infilling((0, 1, MASKED, MASKED), "raster"))
    with pytest.raises(SettingError, match="no rows to draw at once"):
        rolling(rest)


def test_columns_that_do_not_fit_are_no_plan() -> None:
    with pytest.raises(ValueError, match="of each position"):
        Plan((0, 1), (0, 1), (-1,), 1)
