"""Published numbers: of a tiny Janus, whose transformers' own `generate` gives, and of the true
weights where they are at hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from engine.models import load
from engine.models.families.janus import TEMPLATE
from engine.models.families.published import PUBLISHED, Comparison, Published, compare
from engine.models.likelihood import teacher_forced
from engine.models.supply.card import CARDS
from engine.models.supply.device import DTYPES, shortage
from engine.models.supply.hub import at_hand
from engine.settings import Sampling
from tests.engine.models.families import JANUS
from tests.engine.models.families.janus import HEAD, UP


@pytest.mark.parametrize("name", PUBLISHED)
def test_true_weights_give_the_published_numbers(name: str) -> None:
    """`photo-finish models --check NAME` without the page."""
    card, published = CARDS[name], PUBLISHED[name]
    if not all(map(at_hand, card.repos)):
        pytest.skip(f"{card.title} is not on this machine: photo-finish models --fetch {name}")
    if short := shortage(card, torch.device("cpu"), DTYPES[published.dtype]):
        pytest.skip(short)
    found = compare(load(name, dtype=published.dtype), published)
    assert found.prompt_tokens == published.prompt_tokens
    assert found.same, found


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_vector_is_of_its_models_codes(name: str) -> None:
    published = PUBLISHED[name]
    assert len(published.tokens) == 50
    assert all(0 <= token < CARDS[name].codes for token in published.tokens)
    with pytest.raises(ValueError, match="no token was published"):
        dataclasses.replace(published, tokens=())


def test_the_librarys_greedy_tokens_are_the_likeliest() -> None:
    """Of the prompt as transformers' test has it, which is no conversation."""
    found = compare(JANUS.load(JANUS.folders), JANUS.published)
    assert found.same
    assert (found.greedy, found.likeliest, set(found.ranks)) == (16, 16, {1})
    assert found.prompt_tokens == JANUS.published.prompt_tokens


def test_the_best_two_codes_are_further_apart_than_float32_rounds() -> None:
    """So that the command's tests hold on any processor."""
    model, published = JANUS.load(JANUS.folders), JANUS.published
    model.template = published.template
    tokens, sampling = torch.tensor(published.tokens), Sampling(guidance=published.guidance)
    logits = teacher_forced(model, model.plan, published.prompt, sampling, tokens)
    first, second = logits.topk(2).values.unbind(1)
    assert (first - second).min() > 1000 * torch.finfo(torch.float32).eps * logits.abs().max()


def test_another_prompt_is_not_the_published_one() -> None:
    other = dataclasses.replace(JANUS.published, template=TEMPLATE)
    found = compare(JANUS.load(JANUS.folders), other)
    assert found.prompt_tokens > other.prompt_tokens
    assert not found.same


@pytest.mark.parametrize("key", [UP, HEAD])
@pytest.mark.parametrize("spoil", [Tensor.neg, torch.zeros_like, lambda weight: weight * torch.nan])
def test_a_spoilt_weight_is_found(key: str, spoil: Callable[[Tensor], Tensor]) -> None:
    model = JANUS.load(JANUS.folders)
    weight = model.network.get_parameter(key)
    weight.data = spoil(weight)
    found = compare(model, JANUS.published)
    assert not found.same
    assert found.greedy < 16


def ranked(published: Published, ranks: list[int], exact: bool, codes: int = 16384) -> Comparison:
    return Comparison(published, tuple(ranks), codes, published.prompt_tokens, exact)


@pytest.mark.parametrize(
    ("ranks", "exact", "same"),
    [
        ([*[1] * 45, *[163] * 5], True, True),
        ([*[1] * 44, *[2] * 6], True, False),
        ([*[1] * 44, *[2] * 6], False, True),  # rounding
        ([*[1] * 49, 164], False, False),
    ],
)
def test_the_bounds_of_ranks(ranks: list[int], exact: bool, same: bool) -> None:
    found = ranked(PUBLISHED["janus-pro-1b"], ranks, exact)
    assert found.same is same
    assert found.greedy == ranks.count(1)
