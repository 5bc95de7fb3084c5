"""Masks and sequences of the infilling stage; its rows are those that the engine feeds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.infilling import Infilling, spread_order
from engine.models.embedded.infill import EmbeddedInfill
from engine.models.embedded.networks import EmbeddedTarget
from tests.floats import rounding, widen
from train import infill
from train.infill import PAINTERS, WARMUP, paint, sequences, shares, token_loss
from train.target import Examples, optimizers
from train.target import token_loss as raster_loss


def some(count: int = 3) -> Examples:
    generator = torch.Generator().manual_seed(1)
    return Examples(
        torch.randint(0, 50, (count, 16), generator=generator),
        torch.randint(0, 1024, (count, 400), generator=generator),
        torch.zeros(count, 400, dtype=torch.bool),
        torch.zeros(count, dtype=torch.bool),
    )


@given(st.integers(0, 10**6), st.floats(0.001, 1.0))
def test_masks_have_the_share_that_they_should(seed: int, share: float) -> None:
    mask = paint(np.random.default_rng(seed), share)
    assert mask.shape == (400,)
    assert mask.sum() == max(1, round(share * 400))


@pytest.mark.parametrize("painter", PAINTERS)
def test_each_kind_of_painting_covers_something(painter) -> None:
    rng = np.random.default_rng(0)
    covered = np.stack([painter(rng) for _ in range(50)])
    assert covered.shape == (50, 20, 20)
    assert covered.any((1, 2)).mean() > 0.9


def test_the_share_masked_warms_up() -> None:
    rng = np.random.default_rng(0)
    first = np.concatenate([shares(rng, 0, 16) for _ in range(20)])
    warm = np.concatenate([shares(rng, WARMUP, 16) for _ in range(20)])
    assert first.max() <= infill.FIRST_HIGHEST
    assert 0.05 < (warm == 1).mean() < 0.25
    assert (np.histogram(warm[warm < 1], 4, (0, 1))[0] > 40).all()
    batch = np.sort(shares(rng, WARMUP - 1, 16))
    assert np.diff(batch).max() < 2.1 / 16  # one in each part of the range


def test_sequences_are_known_cells_then_the_masked_in_the_infillings_order() -> None:
    masks = torch.from_numpy(
        np.stack([paint(np.random.default_rng(i), share) for i, share in enumerate((0.1, 0.7, 1))])
    )
    for spread, name in ((False, "raster"), (True, "spread")):
        orders = sequences(masks, torch.full((3,), spread))
        for order, mask in zip(orders.tolist(), masks.tolist(), strict=True):
            known = [cell for cell in range(400) if not mask[cell]]
            masked = Infilling.of_mask([0] * 400, mask, name).cells((20, 20))
            assert order == [*known, *masked]
    assert tuple(sequences(masks[2:], torch.tensor([True]))[0].tolist()) == spread_order((20, 20))


@torch.no_grad()
@pytest.mark.usefixtures("without_bfloat16")
def test_with_everything_masked_it_is_the_targets_loss(target: EmbeddedTarget) -> None:
    network = widen(EmbeddedInfill.continued(target).eval())
    masks = torch.ones(3, 400, dtype=torch.bool)
    nats, places = token_loss(network, some(), masks, torch.zeros(3, dtype=torch.bool))
    assert torch.equal(places, torch.arange(1200))
    expected = raster_loss(target, some())
    torch.testing.assert_close(nats.view(3, 400), expected, atol=rounding(expected), rtol=0)


@torch.no_grad()
def test_the_loss_is_that_of_masked_cells_given_what_comes_before(target: EmbeddedTarget) -> None:
    """A masked cell's loss depends on known cells and on earlier masked ones alone."""
    network = EmbeddedInfill.continued(target).eval()
    # So that every code matters to every later one by more than bfloat16 rounds off.
    for table in (network.next, network.model.embed_tokens):
        torch.nn.init.normal_(table.weight)
    for matrix in (p for p in network.model.layers.parameters() if p.ndim == 2):
        torch.nn.init.normal_(matrix, std=0.3)
    masks = torch.zeros(1, 400, dtype=torch.bool)
    masks[0, [3, 40, 200]] = True
    spread = torch.tensor([False])

    def loss(**changed: int) -> torch.Tensor:
        examples = some(1)
        for cell, code in changed.items():
            examples.codes[0, int(cell[4:])] = code
        return token_loss(network, examples, masks, spread)[0]

    before = loss()
    assert len(before) == 3
    for cell, same in (("cell3", 0), ("cell40", 1), ("cell200", 2)):
        after = loss(**{cell: 5})
        assert torch.equal(after[:same], before[:same])
        assert (after[same:] != before[same:]).all()
    assert not torch.equal(loss(cell399=5), before)  # known, and behind them in raster order


def test_it_learns(target: EmbeddedTarget) -> None:
    network = EmbeddedInfill.continued(target)
    examples, rng = some(2), np.random.default_rng(0)
    masks = torch.from_numpy(np.stack([paint(rng, 0.2) for _ in range(2)]))
    losses = []
    for _ in range(12):
        nats, _ = token_loss(network, examples, masks, torch.tensor([True, False]))
        losses.append(nats.mean().item())
        found = optimizers(network)
        for optimizer in found:
            optimizer.zero_grad()
        nats.mean().backward()
        assert network.next.weight.grad.any()
        for optimizer in found:
            optimizer.step()
    assert losses[-1] < losses[0] - 1
