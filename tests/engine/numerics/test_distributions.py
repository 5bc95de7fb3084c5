"""From logits to distributions, and operations on them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engine.numerics.distributions import (
    logits_to_probs,
    normalise,
    residual,
    sample,
    total_variation,
)
from engine.settings import Sampling
from tests.floats import rounding

FREE = torch.tensor([False])


def distributions(codes: int = 5) -> st.SearchStrategy[Tensor]:
    """A distribution [1, codes], some of its entries zero."""
    weights = st.lists(st.integers(0, 40), min_size=codes, max_size=codes).filter(any)
    return weights.map(lambda w: torch.tensor([w], dtype=torch.float32) / sum(w))


def probs(logits: list[float], **changes: float) -> Tensor:
    return logits_to_probs(torch.tensor([logits]), Sampling(**{"top_k": 0, **changes}), FREE)[0]


FOUR = [math.log(p) for p in (0.4, 0.3, 0.2, 0.1)]


@pytest.mark.parametrize(
    ("logits", "changes", "kept"),
    [
        ([0.5, 1.0, -1.0], {"temperature": 0.5}, 3),
        ([3.0, 1.0, 1.0, 0.0], {"top_k": 2}, 3),  # ties are kept: the support can exceed k
        ([3.0, 1.0, 1.0, 0.0], {"top_k": 0}, 4),
        ([3.0, 1.0, 1.0, 0.0], {"top_k": 4}, 4),
        ([3.0, 1.0, 1.0, 0.0], {"top_k": 9}, 4),
        (FOUR, {"top_p": 0.65}, 2),  # the likeliest that together hold it
        (FOUR, {"top_p": 0.75}, 3),
        (FOUR, {"top_k": 2, "top_p": 0.5}, 1),  # of what top-k left
        ([9.0, 0.0, 0.0], {"top_p": 0.05}, 1),  # always one
    ],
)
def test_the_likeliest_are_kept_in_proportion(
    logits: list[float], changes: dict[str, float], kept: int
) -> None:
    """All of these are in falling order, but for the first."""
    weights = torch.tensor(logits) / changes.get("temperature", 1.0)
    weights[kept:] = -torch.inf
    torch.testing.assert_close(probs(logits, **changes), torch.softmax(weights, 0))


@pytest.mark.parametrize("changes", [{"top_k": 2}, {"top_p": 0.5}, {"top_k": 4, "top_p": 0.5}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ties_are_kept_wherever_they_stand(dtype: torch.dtype, changes: dict[str, float]) -> None:
    """The last of the likeliest tokens is as likely as two others, of 300 that a sort may move."""
    sampling = Sampling(**{"top_k": 0, **changes})
    for seed in range(20):
        order = torch.randperm(300, generator=torch.Generator().manual_seed(seed))
        logits = torch.full((1, 300), -9.0, dtype=dtype)
        logits[0, order[:4]] = torch.tensor([1.0, 0.5, 0.5, 0.5], dtype=dtype)
        p = logits_to_probs(logits, sampling, None)[0]
        assert set(p.nonzero()[:, 0].tolist()) == set(order[:4].tolist())


@pytest.mark.parametrize("changes", [{"top_k": 100}, {"top_p": 0.9}, {"top_k": 50, "top_p": 0.9}])
def test_no_token_is_left_out_beside_one_that_is_as_likely(changes: dict[str, float]) -> None:
    """Of logits in bfloat16, where ties are common."""
    logits = torch.randn(64, 2048, generator=torch.Generator().manual_seed(0)).bfloat16()
    p = logits_to_probs(logits, Sampling(**{"top_k": 0, **changes}), None)
    least = torch.where(p > 0, logits.float(), torch.inf).amin(-1, keepdim=True)
    assert torch.equal(p > 0, logits.float() >= least)
    assert ((logits.float() == least).sum(-1) > 1).any()


ROWS = st.lists(
    st.lists(
        st.sampled_from([-math.inf, -3.0, 0.0, 0.5, 2.0, 88.0]), min_size=9, max_size=9
    ).filter(lambda row: max(row) > -math.inf),
    min_size=1,
    max_size=4,
)


@given(ROWS, st.integers(1, 8), st.sampled_from([torch.float32, torch.float64]))
def test_top_k_keeps_what_sorting_does(
    rows: list[list[float]], top_k: int, dtype: torch.dtype
) -> None:
    """Also in rows beside one that has fewer than k finite logits."""
    p = logits_to_probs(torch.tensor(rows, dtype=dtype), Sampling(top_k=top_k), None)
    for row, found in zip(rows, p, strict=True):
        least = sorted(row)[-top_k]
        kept = torch.tensor([x if x >= least else -math.inf for x in row], dtype=dtype)
        torch.testing.assert_close(found, torch.softmax(kept, 0))


def test_a_forced_position_is_one_hot_on_index_0_whatever_the_logits() -> None:
    forced = torch.tensor([False, True, False])
    p = logits_to_probs(torch.randn(3, 4), Sampling(temperature=0.7), forced)
    assert p[1].tolist() == [1, 0, 0, 0]
    assert (p[0] > 0).all()


def test_low_precision_logits_become_float32_distributions() -> None:
    p = logits_to_probs(torch.randn(2, 300).bfloat16(), Sampling(top_k=0), FREE.expand(2))
    assert p.dtype == torch.float32
    torch.testing.assert_close(p.sum(-1), torch.ones(2))


@given(
    st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=12),
    st.integers(0, 14),
    st.floats(0.05, 1),
    st.floats(0.1, 2),
)
def test_any_settings_give_a_distribution_whose_support_is_the_likeliest_tokens(
    logits: list[float], top_k: int, top_p: float, temperature: float
) -> None:
    p = probs(logits, top_k=top_k, top_p=top_p, temperature=temperature)
    assert (p >= 0).all()
    assert p.sum().item() == pytest.approx(1, abs=rounding(1))
    assert p.max() == p[torch.tensor(logits).argmax()]
    inside = torch.tensor(logits)[p > 0]
    if 0 < top_k < len(logits):
        assert inside.min() >= sorted(logits)[-top_k]


@given(distributions(), st.floats(2**-53, 1 - 2**-53), st.sampled_from([1.0, 0.3, 1e-6, 7.0]))
def test_sample_never_gives_a_token_of_probability_zero_and_needs_no_normalisation(
    p: Tensor, u: float, scale: float
) -> None:
    token = sample(p * scale, torch.tensor([u], dtype=torch.float64))
    assert p[0, token] > 0


@given(distributions())
def test_sample_gives_each_token_its_share_of_the_unit_interval(p: Tensor) -> None:
    u = (torch.arange(4000).double() + 0.5) / 4000
    share = torch.bincount(sample(p.expand(4000, -1), u), minlength=5) / 4000
    torch.testing.assert_close(share, p[0], atol=2 / 4000, rtol=0)


@pytest.mark.parametrize("codes", [1_024, 16_384, 65_536])
def test_the_distribution_of_a_sample_is_p(codes: int) -> None:
    """The implemented distribution, not an estimate: a token's share is the distance between the
    uniforms at which samples become it and the next, here found to 2**-40 of the unit interval on
    either side of where exact sums put it. A third of the tokens have no probability, others down
    to 1e-9."""
    logits = 2 * torch.randn(codes, generator=torch.Generator().manual_seed(codes))
    logits[1::3] = -torch.inf
    p = torch.softmax(logits, -1)
    exact = p.double().cumsum(0)
    share = (p.double() / exact[-1]).numpy()
    tokens = np.arange(0, codes - 1, codes // 1024)  # as many are enough of the most
    ends = (exact / exact[-1])[tokens]

    def drawn_at(u: Tensor) -> Tensor:
        return torch.cat([sample(p.expand(len(part), -1), part) for part in u.split(512)])

    below, above = (drawn_at(ends + move).numpy() for move in (-(2**-40), 2**-40))
    # Just below the end of token i a sample is i or before it, just above behind it: each end is
    # off by at most 2**-40, and so each share by twice that.
    assert (below <= tokens).all()
    assert (above > tokens).all()
    assert 0.5 * codes * 2 * 2**-40 < 1e-7  # the total variation
    # No token is out of reach, except those of no probability, which are never drawn.
    middles = torch.from_numpy(share.cumsum() - share / 2)[tokens]
    drawn = drawn_at(middles)
    possible = p[tokens] > 0
    assert torch.equal(drawn[possible], torch.from_numpy(tokens)[possible])
    assert (p[drawn] > 0).all()


def test_normalise_keeps_little_in_proportion() -> None:
    p = torch.tensor([[0.0, 2e-34, 3e-34, 5e-34], [0.0] * 4])
    torch.testing.assert_close(normalise(p), torch.tensor([[0.0, 0.2, 0.3, 0.5], [0.0] * 4]))


def test_residual_of_equal_distributions_falls_back_to_p() -> None:
    p = torch.tensor([[0.1, 0.2, 0.7]])
    assert torch.equal(residual(p, p), p)
    assert total_variation(p, p).item() == 0


@given(distributions(), distributions())
def test_accepted_and_residual_mass_make_p(p: Tensor, q: Tensor) -> None:
    left = residual(p, q)
    alpha = torch.minimum(p, q).sum()
    assert alpha.item() == pytest.approx(1 - total_variation(p, q).item(), abs=rounding(1))
    committed = torch.minimum(p, q) + (1 - alpha) * left / left.sum()
    torch.testing.assert_close(committed, p, atol=rounding(1), rtol=0)


def test_a_token_of_probability_0_is_not_drawn_where_rounding_ends_before_its_block() -> None:
    """1 and 3 / 4 of its last place sum to the next number above 1: what is before the block of the
    1, taken as a difference, is more than what was added."""
    p = torch.zeros(512)
    p[256], p[385] = 3 * 2.0**-54, 1
    assert sample(p[None], torch.tensor([0.9 * 2.0**-52], dtype=torch.float64)).item() == 385
