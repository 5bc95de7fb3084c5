"""The threshold of typical acceptance against worked numbers; its rule is in test_rules.py."""

from __future__ import annotations

import pytest
import torch

from engine.decoders.relaxed import RelaxedSettings, RelaxedSJD, typical_threshold
from tests.engine.decoders.driving import TOY, Q, acceptances, near


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
    groups = decoder.groups(torch.tensor([p] * 4), Q, torch.arange(4))
    assert (groups.counts.tolist(), groups.tokens.flatten().tolist()) == ([1] * 4, [0, 1, 2, 3])
    near(groups.masses.flatten(), [x for mass in p for x in (mass, threshold)], 1e-6)
