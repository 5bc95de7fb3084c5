"""Muon: the same steps as torch's own."""

from __future__ import annotations

import pytest
import torch

from train import muon
from train.muon import Muon


@pytest.mark.parametrize("shape", [(8, 8), (4, 12), (12, 4)])
def test_the_steps_are_those_of_torchs_own(shape, monkeypatch) -> None:
    monkeypatch.setattr(muon, "cpu_has_bfloat16", lambda: True)
    start = torch.randn(*shape, generator=torch.Generator().manual_seed(1))
    ours, theirs = (start.clone().requires_grad_() for _ in range(2))
    stepping: list[torch.optim.Optimizer] = [
        Muon([ours], lr=0.01, weight_decay=0.05),
        torch.optim.Muon([theirs], lr=0.01, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
    ]
    for turn in range(3):
        pull = torch.randn(*shape, generator=torch.Generator().manual_seed(turn))
        ours.grad, theirs.grad = pull.clone(), pull.clone()
        for optimizer in stepping:
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4)  # a hundredth of a step
    assert not torch.allclose(ours, start, atol=1e-3)
