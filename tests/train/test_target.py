"""The target's stage: what it trains on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from train import target as stage
from train.captions import load
from train.scenes import scene
from train.target import Drawn, Examples, batch, held_batch, shares_by_nats

VQ = SimpleNamespace(encode=lambda pixels: torch.zeros(len(pixels), 20, 20, dtype=torch.int64))


def test_things_are_drawn_by_their_nats_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in the square of each, wherever it stands."""
    tokenizer, counted = load(), []
    nats = {"banana": 0.1, "cat": 1.0, "dog": 2.9, "rocket": 16.0}  # their mean is 5
    known = {tokenizer.encode(name).ids[-1]: value for name, value in nats.items()}

    def token_loss(target: object, some: Examples) -> Tensor:
        assert not some.dropped.any()
        assert some.things.all()
        rows = []
        for caption in some.captions.tolist():
            four = torch.tensor([known[i] for i in caption if i in known]).view(2, 2)
            rows.append(four.repeat_interleave(10, 0).repeat_interleave(10, 1).flatten())
        counted.extend(rows)
        return torch.stack(rows)

    monkeypatch.setattr(stage, "vocabulary", lambda: (tuple(nats), (), ()))
    monkeypatch.setattr(stage, "token_loss", token_loss)
    monkeypatch.setattr(stage, "held_out", lambda what: what.ground != "red")
    expected = np.array([0.5, 0.5, 0.58, 3.0])
    np.testing.assert_allclose(
        shares_by_nats(None, VQ, tokenizer), expected / expected.sum(), rtol=1e-6
    )
    assert len(counted) == 2, "in two squares each"


def drawn(step: int) -> Drawn:
    return batch(load(), 0, None, step)


def test_a_dropped_caption_is_empty() -> None:
    some = drawn(3)
    assert (some.dropped == (some.captions == 0).all(1)).all()
    rates = [drawn(step).dropped.float().mean() for step in range(30)]
    assert 0.03 < np.mean(rates) < 0.2
    assert not held_batch(load(), 0, 3).dropped.any()


def test_things_are_where_the_scene_has_them() -> None:
    shown = [scene(0, index)[0] for index in range(16)]
    assert {what.side for what in shown} > {10}
    counts = drawn(0).things.sum(1)
    assert counts.tolist() == [what.side**2 * len(what.things) for what in shown]
