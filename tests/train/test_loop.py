"""The loop goes on where it stopped, and its schedule ends low."""

import torch
from torch import nn

from train.loop import rate, train


def test_rate_warms_up_holds_and_falls() -> None:
    assert rate(0, 0) < 0.02
    assert rate(0.2, 1000) == 1
    assert 0.01 < rate(1, 1000) < 0.03


def test_resumes_and_extends(tmp_path) -> None:
    saves = []

    def run(minutes: float) -> tuple[nn.Module, list[int]]:
        torch.manual_seed(0)
        module, steps = nn.Linear(2, 1), []
        optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)

        def loss_of(step: int, progress: float):
            steps.append(step)
            assert 0 <= progress < 1
            return module(torch.ones(1, 2)).square().mean(), {"loss": 1.0}

        train("toy", module, [optimizer], loss_of, minutes=minutes, folder=tmp_path, save=lambda: saves.append(1))
        return module, steps

    first, steps = run(0.004)
    assert steps[0] == 0
    assert steps == list(range(len(steps)))
    second, none = run(0.004)
    assert none == []
    assert torch.equal(first.weight, second.weight)
    _, more = run(0.008)
    assert more[0] == len(steps)
    assert len(saves) == 3
