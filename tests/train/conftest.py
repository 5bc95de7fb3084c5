"""Small networks of the embedded model's classes."""

from __future__ import annotations

import pytest
import torch

from engine.models.embedded.networks import EmbeddedDrafter, EmbeddedTarget, target_config
from tests.floats import widen

SMALL = {"hidden_size": 32, "intermediate_size": 48}
SMALL |= {"num_hidden_layers": 2, "num_attention_heads": 2}


@pytest.fixture
def without_bfloat16(
    target: EmbeddedTarget, drafter: EmbeddedDrafter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Target and drafter in float64, and what trains them without autocast, as on a processor that
    has no bfloat16."""
    monkeypatch.setattr("train.loop.has_bfloat16", lambda: False)
    widen(target)
    widen(drafter)


@pytest.fixture
def target() -> EmbeddedTarget:
    torch.manual_seed(0)
    return EmbeddedTarget(target_config(50, **SMALL)).eval()


@pytest.fixture
def drafter(target: EmbeddedTarget) -> EmbeddedDrafter:
    torch.manual_seed(1)
    return EmbeddedDrafter(target.config).eval()
