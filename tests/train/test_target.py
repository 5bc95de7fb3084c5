"""The target's stage: which glyphs it draws most."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from train import target as stage
from train.captions import load
from train.target import Examples, examples, shares_by_nats

VQ = SimpleNamespace(encode=lambda pixels: torch.zeros(len(pixels), 16, 16, dtype=torch.int64))


def test_glyphs_are_drawn_by_their_nats_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = load()
    nats = {"banana": 0.1, "cat": 1.0, "dog": 2.9, "rocket": 16.0}  # their mean is 5
    known = {tokenizer.encode(name).ids[-1]: value for name, value in nats.items()}

    def token_loss(target: object, some: Examples) -> Tensor:
        assert not some.dropped.any()
        assert 8 <= len(some.captions) <= 12  # the plain grounds, but for those held out
        each = [next(known[i] for i in row if i in known) for row in some.captions.tolist()]
        return torch.tensor(each)[:, None] * torch.where(some.glyph, 1.0, 100.0)

    monkeypatch.setattr(stage, "vocabulary", lambda: (tuple(nats), (), ()))
    monkeypatch.setattr(stage, "token_loss", token_loss)
    expected = np.array([0.5, 0.5, 0.58, 3.0])
    np.testing.assert_allclose(
        shares_by_nats(None, VQ, tokenizer), expected / expected.sum(), rtol=1e-6
    )


def test_a_dropped_caption_is_empty() -> None:
    some = examples(VQ, load(), 0, 3)
    assert (some.dropped == (some.captions == 0).all(1)).all()
    rates = [examples(VQ, load(), 0, step).dropped.float().mean() for step in range(60)]
    assert 0.03 < np.mean(rates) < 0.2
    assert not examples(VQ, load(), 0, 3, held_out=True).dropped.any()
