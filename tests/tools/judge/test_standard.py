"""Faults that one of the small models shows, and no smaller one."""

from __future__ import annotations

import pytest
import torch

from engine.decoders.jacobi_window import SpeculativeSettings
from engine.numerics.distributions import logits_to_probs
from tests.tools.judge.faults import AtTemperatureOne, BehindFour, OfEight, ThirdRedraw, WithoutTopP
from tests.tools.judge.rules import Rule
from tests.variants import further
from tools.judge.cases import standard_toys
from tools.judge.enumeration import CLOSE, distance, enumerated, exactly
from tools.judge.standard import SAMPLED

exact = exactly()


@exact
@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (WithoutTopP, "top-p"),
        *further(
            (AtTemperatureOne, "warm"),
            (OfEight, "nine codes"),
            (BehindFour, "six"),
            (ThirdRedraw, "six"),
        ),
    ],
)
def test_a_fault_that_shows_on_one_model_alone(wrong: type[Rule], name: str) -> None:
    _, model, plan, expected = next(each for each in standard_toys() if each[0].name == name)
    settings = SpeculativeSettings(window=6, fresh="uniform")
    found = enumerated(wrong(model, settings, plan=plan)).joint
    assert sum(found.values()) == pytest.approx(1)
    assert distance(found, expected) > 1e3 * CLOSE


@exact
def test_a_toys_own_distribution_is_what_a_lane_samples_from() -> None:
    """With the temperature, top-k and top-p of every model; not the same code."""
    built = [(standard, *standard.build()) for standard in SAMPLED]
    for standard, model, plan in (*(each[:3] for each in standard_toys()), *built):
        if plan.infilling is None:
            codes = model.vocab_size
            for before, last in ((codes, codes), (codes, 0), (0, 1)):
                logits = model.logits[before, last][None]
                lane = logits_to_probs(logits, model.sampling, None)[0]
                own = model.distribution([each for each in (before, last) if each < codes])
                torch.testing.assert_close(own, lane, rtol=0, atol=1e-15, msg=standard.name)


@pytest.mark.parametrize("standard", SAMPLED, ids=lambda each: each.name)
def test_a_sampled_models_tokens_are_possible_where_a_lane_draws_them(standard) -> None:
    """In float32, as lanes draw them: one that the model calls impossible is a difference."""
    model, plan = standard.build()
    if plan.infilling is not None:
        return
    codes = model.vocab_size
    lane = logits_to_probs(model.logits.flatten(0, 1), model.sampling, None)
    pairs = torch.cartesian_prod(torch.arange(codes + 1), torch.arange(codes + 1)).tolist()
    for p, state in zip(lane, pairs, strict=True):
        own = model.distribution(state)
        assert not ((p > 0) & (own == 0)).any(), state
        torch.testing.assert_close(own, p.to(own), rtol=1e-4, atol=1e-6)
