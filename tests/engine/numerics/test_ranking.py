"""Keys against a stable sort."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.numerics.ranking import rank_keys, ranked_index


@given(
    st.lists(st.sampled_from([0.0, 1e-45, 1e-9, 0.1, 0.5, 1.0, 3e38]), min_size=1, max_size=30),
    st.integers(0, 30),
)
def test_the_first_keys_are_the_first_of_a_stable_sort(values: list[float], count: int) -> None:
    row = torch.tensor([values, values[::-1]])
    first = rank_keys(row).topk(min(count, len(values)), largest=False).values
    order = row.argsort(dim=-1, stable=True)
    assert ranked_index(first).equal(order[:, : first.shape[1]])
