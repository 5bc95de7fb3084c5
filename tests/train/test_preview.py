"""The preview decoder's training: what it trains on, and how its figures are measured."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.models.distil import loss, start
from engine.models.embedded.networks import EmbeddedVQ, VQConfig
from engine.models.preview import PreviewDecoder
from train.preview import pool, psnr, raced
from train.sample import pictures

SMALL = VQConfig(30, coarse=16, fine=8, depth=1)


def test_every_other_scene_is_half_made() -> None:
    torch.manual_seed(0)
    vq = EmbeddedVQ(SMALL).eval()
    codes, shown, known = pool(vq, 0, 4)
    assert codes.shape == known.shape == (4, 20, 20)
    np.testing.assert_array_equal(shown, pictures(vq, codes.flatten(1)))
    cells = known.flatten(1)
    assert cells[::2].all()
    for half in cells[1::2]:
        assert 1 <= half.sum() < 400
        assert half[: half.sum()].all()


def test_the_loss_counts_known_cells_alone() -> None:
    torch.manual_seed(0)
    network, codes = PreviewDecoder(30, 8), torch.randint(30, (2, 4, 4))
    shown = torch.randint(256, (2, 32, 32, 3)).byte()
    known = torch.rand(2, 4, 4) < 0.5
    found = loss(network, codes, shown, known)
    shown[~known.repeat_interleave(8, 1).repeat_interleave(8, 2)] = 0
    torch.testing.assert_close(loss(network, codes, shown, known), found)
    assert loss(network, codes, shown, ~known) != found


def test_it_starts_from_each_codes_mean_patch() -> None:
    """Of a code that is often there; one that is nowhere has the patch that its vector says."""
    generator = torch.Generator().manual_seed(0)
    codes = torch.randint(29, (300, 4, 4), generator=generator)
    codebook = torch.randn(30, 2, generator=generator)
    patches = 100 + 20 * codebook @ torch.randn(2, 3, generator=generator)
    shown = patches[codes].round().byte()
    network = PreviewDecoder(30, 1)
    start(network, codebook, codes, shown)
    drawn = network.pictures(np.arange(30)[None])[0]
    np.testing.assert_allclose(drawn, patches, atol=2)


def test_psnr_is_of_the_known_share() -> None:
    grids = np.zeros((1, 2, 2), int)

    def black(codes: np.ndarray) -> np.ndarray:
        return np.zeros((1, 4, 4, 3), np.uint8)

    def grey_below(codes: np.ndarray) -> np.ndarray:
        return black(codes) + np.array([1, 1, 9, 9], np.uint8)[:, None, None]

    assert psnr(black, grey_below, grids, 0.5) == [pytest.approx(20 * math.log10(255))]
    assert psnr(black, grey_below, grids) == [pytest.approx(20 * math.log10(255 / 41**0.5))]


def test_grids_of_the_recorded_races(tmp_path: Path) -> None:
    grids = raced()
    assert grids.shape[1:] == (20, 20)
    assert len(grids) > 30
    assert grids.min() >= 0
    assert len(np.unique(grids, axis=0)) == len(grids)
