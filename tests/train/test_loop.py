"""The loop resumes where it stopped, and its learning rate falls on request."""

import argparse
import itertools
import signal
import warnings
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from train.loop import Supply, rate, train


@pytest.fixture(autouse=True)
def _ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes on by 10 ms whenever the loop looks: a step takes as long on any machine."""
    looks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: next(looks) / 100)
    monkeypatch.setattr("train.loop.time", clock)


def test_rate_warms_up_holds_and_falls() -> None:
    assert rate(0, 0) < 0.02
    assert rate(1000, 0) == rate(10**6, 0) == 1
    assert 0.01 < rate(1000, 1) < 0.03


def run(folder, minutes: float, fall: float = 0.0, saves: list | None = None, stop_at: int = -1):
    """A linear layer's training: its module, the steps that ran, and how far the rate had fallen in
    each."""
    torch.manual_seed(0)
    module, steps = nn.Linear(2, 1), []
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)

    def loss_of(step: int, fallen: float):
        steps.append((step, fallen))
        if step == stop_at:
            signal.raise_signal(signal.SIGTERM)
        return module(torch.ones(1, 2)).square().mean(), {"loss": 1.0}

    done = saves if saves is not None else []
    args = argparse.Namespace(minutes=minutes, fall=fall, runs=folder)
    train("toy", module, [optimizer], loss_of, lambda: done.append(len(steps)), args)
    return module, steps


def test_resumes_and_extends(tmp_path) -> None:
    saves: list[int] = []
    first, steps = run(tmp_path, 0.004, saves=saves)
    assert [step for step, _ in steps] == list(range(len(steps)))
    assert {fallen for _, fallen in steps} == {0.0}
    second, none = run(tmp_path, 0.004, saves=saves)
    assert none == []
    assert torch.equal(first.weight, second.weight)
    _, more = run(tmp_path, 0.008, saves=saves)
    assert more[0] == (len(steps), 0.0)
    assert len(saves) == 3


def test_falls_when_asked_and_the_held_run_goes_on_after_it(tmp_path) -> None:
    held, steps = run(tmp_path, 0.004)
    _, falling = run(tmp_path, 0, fall=0.004)
    shares = [fallen for _, fallen in falling]
    assert falling[0] == (len(steps), 0.0)
    assert shares == sorted(shares)
    assert 0.5 < shares[-1] < 1
    resumed, none = run(tmp_path, 0.004)
    assert none == []
    assert torch.equal(held.weight, resumed.weight)


def squared(step: int) -> torch.Tensor:
    """A batch, in whichever process."""
    return torch.tensor([step, step**2])


def test_workers_supply_the_batches_of_their_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Supply(squared).batch(7).tolist() == [7, 49]
    monkeypatch.setattr("train.loop.DEVICE", torch.device("cuda"))
    monkeypatch.setattr("train.loop.processors", lambda: 3)
    supply = Supply(squared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no GPU to pin memory for
        assert [supply.batch(step).tolist() for step in range(5, 25)] == [
            [step, step**2] for step in range(5, 25)
        ]


def test_a_termination_signal_leaves_a_checkpoint(tmp_path) -> None:
    saves: list[int] = []
    _, steps = run(tmp_path, 60, saves=saves, stop_at=5)
    assert len(steps) == 6
    assert saves == [6]
    _, more = run(tmp_path, 60, stop_at=8)
    assert more[0][0] == 6
