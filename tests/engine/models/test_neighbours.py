"""The table of each code's nearest codes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import engine.models.base
from engine.models.base import nearest_codes
from tools.judge.toys import Toy


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
    monkeypatch.setattr(engine.models.base, "CODES_AT_ONCE", block)
    model = Toy((2, 2), 130)
    model.codebook = codebook(130)
    table = model.neighbours(k)
    assert table.dtype is torch.int32
    assert table.long().equal(sorted_table(model.codebook)[:, : k - 1])
    assert nearest_codes(model.codebook, torch.tensor([5, 0]), k).equal(table[[5, 0]].long())


def test_random_codes_of_a_real_size() -> None:
    book = torch.nn.functional.normalize(
        torch.randn(2048, 8, generator=torch.Generator().manual_seed(2)), dim=-1
    )
    model = Toy((2, 2), 3)
    model.codebook = book
    assert model.neighbours(125).long().equal(sorted_table(book)[:, :124])


def test_the_widest_table_is_kept() -> None:
    model = Toy((2, 2), 30)
    wide = model.neighbours(20)
    assert model.neighbours(5).equal(wide[:, :4])
    assert model.neighbours(5).data_ptr() == wide.data_ptr()
