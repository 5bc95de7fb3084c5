"""The KV cache against a list of rows; and the attention mask of a tree."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engine.models.cache import WindowCache, ancestors

LAYERS, ROWS, HEADS, SLOTS, DIM = 2, 3, 2, 9, 4


def cache() -> WindowCache:
    return WindowCache(LAYERS, ROWS, HEADS, SLOTS, DIM, torch.float32, torch.device("cpu"))


def fill(cache: WindowCache, marks: list[int]) -> tuple[Tensor, Tensor]:
    """Writes a window whose row i holds the mark everywhere (values: its negative); returns what
    the last layer sees."""
    cache.open(len(marks))
    k = torch.tensor(marks, dtype=torch.float32)[:, None].expand(ROWS, HEADS, len(marks), DIM)
    for layer in range(LAYERS):
        seen = cache.update(k + layer / 10, -(k + layer / 10), layer)
    return seen


# row i's parent is an earlier row
TREES = st.integers(1, 8).flatmap(
    lambda rows: st.tuples(st.just(0), *(st.integers(0, i - 1) for i in range(1, rows)))
)


def test_a_layers_part_is_in_one_piece_however_many_rows_are_read() -> None:
    held = cache()
    for rows in (ROWS, 2, 1):
        if rows == 1:
            held.narrow()
        else:
            held.reset(rows)
        assert len(held.layers) == LAYERS
        for part in (part for layer in held.layers for part in layer):
            assert part.shape == (rows, HEADS, SLOTS, DIM)
            assert part.is_contiguous()


def test_a_full_cache_says_so_and_stays_as_it_was() -> None:
    held = cache()
    fill(held, list(range(7)))
    held.keep(range(7))
    with pytest.raises(IndexError, match="9 slots; 7 are in use and 3 more"):
        held.open(3)
    assert held.base == 7
    fill(held, [1, 2])


@pytest.mark.parametrize("base", [-1, 4])
def test_rolling_back_goes_back_only(base: int) -> None:
    held = cache()
    fill(held, [1, 2, 3])
    held.keep([0, 1, 2])
    with pytest.raises(IndexError, match="cannot go back"):
        held.roll_back(base)
    held.roll_back(1)
    k, _ = fill(held, [7])
    torch.testing.assert_close(k[0, 0, :, 0], torch.tensor([1, 7]) + 0.1)


@given(st.data())
def test_any_windows_and_keeps_leave_the_kept_rows_in_every_layer(data: st.DataObject) -> None:
    held, kept, mark = cache(), [], 0
    while len(kept) < SLOTS:
        marks = list(range(mark, mark + data.draw(st.integers(1, SLOTS - len(kept)))))
        mark += len(marks)
        k, v = fill(held, marks)
        expected = torch.tensor([*kept, *marks]) + (LAYERS - 1) / 10
        torch.testing.assert_close(k, expected[None, None, :, None].expand_as(k))
        torch.testing.assert_close(v, -k)
        rows = sorted(data.draw(st.sets(st.integers(0, len(marks) - 1), min_size=1)))
        held.keep(rows)
        kept += [marks[row] for row in rows]
        assert held.base == len(kept)
        if data.draw(st.booleans()):
            kept = kept[: data.draw(st.integers(0, len(kept)))]
            held.roll_back(len(kept))
            if not kept:
                break


@given(TREES)
def test_a_row_sees_itself_and_its_line_of_parents(tree: tuple[int, ...]) -> None:
    seen = ancestors(tree)
    lines: list[set[int]] = []
    for row, parent in enumerate(tree):
        lines.append({row} | (lines[parent] if row else set()))
        assert set(seen[row].nonzero()[:, 0].tolist()) == lines[row]
