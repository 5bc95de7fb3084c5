"""Relaxed SJD against SJD and its own worked numbers."""

from __future__ import annotations

import pytest
import torch

from engine.decoders.relaxed import RelaxedSettings, RelaxedSJD, typical_threshold
from engine.decoders.sjd import SJD
from tests.engine.decoders.driving import TOY, Q, acceptances, near, verify_chain
from tests.toy import Toy

NEUTRAL = [
    {"relax": "amplify", "k": 1.0},
    {"relax": "add", "e": 0.0},
    {"relax": "anneal", "k": 1.0},
]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("knobs", NEUTRAL, ids=lambda knobs: knobs["relax"])
def test_neutral_numbers_are_sjd_token_for_token(knobs: dict[str, object], forced: bool) -> None:
    model = Toy((4, 4), 9, forced=forced)
    for seed in range(10):
        for window in (2, 7):
            relaxed = RelaxedSJD(model, RelaxedSettings(window=window, **knobs))
            sjd = SJD(model, SJD.Settings(window=window))
            assert relaxed.generate("", seed) == sjd.generate("", seed)


def test_other_numbers_take_fewer_passes() -> None:
    model = Toy((6, 6), 8)
    knobs = [*NEUTRAL, {"k": 3.0}, {"relax": "add", "e": 0.2}, {"relax": "anneal", "k": 5.0}]
    passes = [
        sum(len(list(RelaxedSJD(model, RelaxedSettings(**k)).steps("", seed))) for seed in range(6))
        for k in knobs
    ]
    assert passes[0] == passes[1] == passes[2]
    assert max(passes[3:]) < passes[0]


def test_the_annealed_factor_falls_along_the_window_down_to_one() -> None:
    p, q = torch.tensor([0.1, 0.9, 0, 0]), torch.tensor([1.0, 0, 0, 0])
    decoder = RelaxedSJD(TOY, RelaxedSettings(relax="anneal", k=4.0))
    accepted = verify_chain(decoder, p, q, [0] * 6).acceptance[:6]
    near(accepted, [0.4, 0.198634, 0.1, 0.1, 0.1, 0.1], 1e-6)


def test_only_add_accepts_a_token_that_p_rules_out() -> None:
    p = torch.tensor([0.0, 0.5, 0.5, 0.0])
    for knobs, accepted in (
        ({"k": 100.0}, 0.0),
        ({"relax": "anneal", "k": 100.0}, 0.0),
        ({"relax": "add", "e": 0.1}, 0.25),
    ):
        decoder = RelaxedSJD(TOY, RelaxedSettings(**knobs))
        assert acceptances(decoder, p, Q)[0].item() == pytest.approx(accepted)


@pytest.mark.parametrize(
    ("p", "eps", "threshold"),
    [
        ([1.0, 0.0, 0.0, 0.0], 0.09, 0.09),  # delta exp(-H) is 0.3
        ([0.25, 0.25, 0.25, 0.25], 0.09, 0.075),
        ([0.25, 0.25, 0.25, 0.25], 0.0, 0.0),
        ([0.5, 0.5, 0.0, 0.0], 0.5, 0.353553),
    ],
)
def test_a_typical_draft_has_more_than_the_threshold(
    p: list[float], eps: float, threshold: float
) -> None:
    near(typical_threshold(torch.tensor([p]), eps)[0], [threshold], 1e-6)
    decoder = RelaxedSJD(TOY, RelaxedSettings(relax="typical", eps=eps))
    near(acceptances(decoder, torch.tensor(p), Q), [float(mass > threshold) for mass in p])
    groups = verify_chain(decoder, torch.tensor(p), Q, [0, 1, 2, 3]).diagnostics().groups
    near(groups.flatten(), [x for i in range(4) for x in (1, p[i], threshold, i)], 1e-6)
