"""Faults that one of the small models shows, and no smaller one."""

from __future__ import annotations

import itertools

import pytest
import torch

from engine.decoders.jacobi_window import SpeculativeSettings
from engine.numerics.distributions import logits_to_probs
from tests.tools.judge.faults import (
    AtTemperatureOne,
    BehindFour,
    BehindGuided,
    ByIndices,
    ByOrder,
    Cooled,
    InHalf,
    OfEight,
    ThirdRedraw,
    UpToTheFork,
    WithoutTopP,
)
from tests.tools.judge.rules import Rule
from tests.variants import further
from tools.judge.cases import standard_toys
from tools.judge.enumeration import CLOSE, distance, enumerated, exactly
from tools.judge.standard import SAMPLED
from tools.judge.toys import Toy

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
            (Cooled, "cool"),
            (ByIndices, "ties of top-k"),
            (ByOrder, "ties of top-p"),
            (InHalf, "half precision"),
            (BehindGuided, "guided"),
            (UpToTheFork, "fork"),
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
            guided = model.sampling.guidance, model.sampling.guided_tokens
            for last in ([], [0], [0, 1]):
                logits = model.logits_after(last, len(last), guided)[None]
                lane = logits_to_probs(logits, model.sampling, None)[0]
                own = model.distribution(last)
                torch.testing.assert_close(own, lane, rtol=0, atol=1e-15, msg=standard.name)


@pytest.mark.parametrize("standard", SAMPLED, ids=lambda each: each.name)
def test_a_sampled_models_tokens_are_possible_where_a_lane_draws_them(standard) -> None:
    """In float32, as lanes draw them: one that the model calls impossible is a difference."""
    model, plan = standard.build()
    if plan.infilling is not None:
        return
    classes = len(model.logits) - 1
    lane = logits_to_probs(model.logits.flatten(0, 1), model.sampling, None)
    every = [*range(classes), model.vocab_size]
    for p, state in zip(lane, itertools.product(every, repeat=2), strict=True):
        own = model.distribution(state)
        assert not ((p > 0) & (own == 0)).any(), state
        torch.testing.assert_close(own, p.to(own), rtol=1e-4, atol=1e-6)


@exact
def test_guidance_ends_behind_the_guided_tokens_of_the_whole_picture() -> None:
    """Two rows are mixed where a token is guided; a fork counts from the picture's beginning."""
    for name, guided in (("guided", 2), ("fork", 3)):
        _, model, plan, _ = next(each for each in standard_toys() if each[0].name == name)
        known = [token for _, token in plan.known]
        for n in range(plan.length):
            tokens = [*known, *[1] * n]
            c = Toy.logits_after(model, tokens, 0, (1.0, 0))
            u = model.unconditional.logits_after(tokens, 0, (1.0, 0))
            mixed = c if len(tokens) >= guided else 2 * c - u
            torch.testing.assert_close(model.conditional(plan, [1] * n), mixed.softmax(-1))
            ctx = model.start("", 2.0, guided, plan)
            if n:
                ctx.kept = tokens[:-1]
            row = model.forward(ctx, torch.tensor([tokens[-1] if tokens else 0]))[0]
            torch.testing.assert_close(row, mixed)


def test_codes_above_the_classes_have_probabilities_and_logits_in_bfloat16() -> None:
    model, _ = next(each for each in SAMPLED if each.name == "300 codes").build()
    assert (model.vocab_size, model.dtype) == (300, torch.bfloat16)
    assert torch.equal(model.logits, model.logits.bfloat16().to(model.logits))
    assert 0.05 < float(model.distribution([299, 1])[256:].sum()) < 0.5
    for one, other in ((64, 0), (299, 299 % 64)):
        assert torch.equal(model.distribution([1, one]), model.distribution([1, other]))
