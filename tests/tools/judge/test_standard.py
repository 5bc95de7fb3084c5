"""Faults that one of the small models shows, and no smaller one."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from engine.core import Rows, Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import SpeculativeSettings
from engine.decoders.speculate import chain_acceptance, speculate
from engine.numerics.distributions import logits_to_probs, residual
from tests.tools.judge.rules import Rule
from tools.judge.cases import standard_toys
from tools.judge.enumeration import CLOSE, distance, enumerated, exactly

exact = exactly()


class Forgetful(Rule):
    """A redrawn draft's q is that of another sampling."""

    forgotten: ClassVar[dict[str, float]]

    def verify_logits(
        self, state: DecodeState, window: Window, rows: Rows, logits: Tensor
    ) -> tuple[Verification, Tensor]:
        v, outcome = super().verify_logits(state, window, rows, logits)
        v.q = logits_to_probs(logits, replace(self.sampling, **self.forgotten), None)
        return v, outcome


class WithoutTopP(Forgetful):
    forgotten: ClassVar[dict[str, float]] = {"top_p": 1.0}


class AtTemperatureOne(Forgetful):
    forgotten: ClassVar[dict[str, float]] = {"temperature": 1.0}


class OfEight(Rule):
    """A rejected draft is replaced by one of the eight likeliest tokens."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        def likeliest(draft: Tensor, p: Tensor, q: Tensor) -> Tensor:
            least = p.topk(min(8, p.shape[-1])).values[..., -1:]
            return residual(p, q).masked_fill(p < least, 0)

        return speculate(state, window, p, chain_acceptance(window, p), likeliest)


class BehindFour(Rule):
    """The draft that is rejected after four accepted ones is replaced by a sample of p."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        acceptance = chain_acceptance(window, p)
        found = speculate(state, window, p, acceptance)
        if int(found.count) <= 4:
            return found
        return speculate(state, window, p, acceptance, lambda draft, p, q: p)


class ThirdRedraw(Rule):
    """A draft that is redrawn for the third time keeps the q of its second."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if not state.step:
            state.redrawn = [0] * state.plan.length
        found = speculate(state, window, p, chain_acceptance(window, p))
        q, behind = found.q.clone(), int(found.count)
        for row in range(behind, min(len(p) - 1, state.plan.length - state.frontier)):
            state.redrawn[state.frontier + row] += 1
            if state.redrawn[state.frontier + row] == 3:
                q[row] = window.q[row]
        found.q = q
        return found


@exact
@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (WithoutTopP, "top-p"),
        (AtTemperatureOne, "warm"),
        (OfEight, "nine codes"),
        (BehindFour, "six"),
        (ThirdRedraw, "six"),
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
    """With the temperature, top-k and top-p of every small model; not the same code."""
    for standard, model, plan, _ in standard_toys():
        if plan.infilling is None:
            codes = model.vocab_size
            for before, last in ((codes, codes), (codes, 0), (0, 1)):
                logits = model.logits[before, last][None]
                lane = logits_to_probs(logits, model.sampling, None)[0]
                own = model.distribution([each for each in (before, last) if each < codes])
                torch.testing.assert_close(own, lane, rtol=0, atol=1e-15, msg=standard.name)
