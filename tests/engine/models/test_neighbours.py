"""The table of each code's nearest codes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import engine.models.neighbours
from engine.models.neighbours import nearest_codes, neighbours


def codebook(codes: int) -> Tensor:
    """With codes that lie in one place, and others at equal distances."""
    book = torch.randint(-2, 3, (codes, 3), generator=torch.Generator().manual_seed(1)).float()
    book[1::7] = book[0]
    return book


def sorted_table(book: Tensor) -> Tensor:
    distance = torch.cdist(book, book, compute_mode="donot_use_mm_for_euclid_dist")
    distance.fill_diagonal_(torch.inf)
    return distance.argsort(dim=-1, stable=True)


@pytest.mark.parametrize("block", [1, 7, 64, 300])
@pytest.mark.parametrize("k", [1, 2, 20, 130])
def test_the_table_is_that_of_a_stable_sort_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch, block: int, k: int
) -> None:
    monkeypatch.setattr(engine.models.neighbours, "CODES_AT_ONCE", block)
    book = codebook(130)
    table = neighbours(book, k)
    assert table.dtype is torch.int32
    assert table.long().equal(sorted_table(book)[:, : k - 1])
    assert nearest_codes(book, torch.tensor([5, 0]), k).equal(table[[5, 0]].long())


def test_random_codes_of_a_real_size() -> None:
    book = torch.nn.functional.normalize(
        torch.randn(2048, 8, generator=torch.Generator().manual_seed(2)), dim=-1
    )
    assert neighbours(book, 125).long().equal(sorted_table(book)[:, :124])


def test_the_widest_table_is_kept() -> None:
    book = codebook(30)
    wide = neighbours(book, 20)
    assert neighbours(book, 5).equal(wide[:, :4])
    assert neighbours(book, 5).data_ptr() == wide.data_ptr()
