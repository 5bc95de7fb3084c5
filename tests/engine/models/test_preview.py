"""The preview decoder: what it depends on, its file, and the weights that ship."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from engine.models import load
from engine.models.preview import LAYERS, PreviewDecoder
from engine.models.supply.card import ModelError
from tests.engine.models.families import TINY
from train.preview import psnr, raced


@pytest.mark.parametrize("scale", [1, 8, 16])
def test_shapes(scale: int) -> None:
    network = PreviewDecoder(5, scale)
    codes = torch.randint(5, (2, 3, 4))
    assert network(codes).shape == (2, 3, 3 * scale, 4 * scale)
    both = network.pictures(codes.numpy())
    assert both.shape == (2, 3 * scale, 4 * scale, 3)
    assert both.dtype == np.uint8
    one = network.pictures(codes.numpy()[1])
    assert one.shape == both.shape[1:]
    # A grey level may be rounded otherwise in another batch.
    np.testing.assert_allclose(one.astype(int), both[1], atol=1)


@torch.inference_mode()
def test_far_tokens_change_nothing() -> None:
    torch.manual_seed(0)
    network = PreviewDecoder(5, 2).double()
    codes = torch.randint(5, (1, 12, 12))
    codes[0, 6, 6] = 0
    changed = codes.clone()
    changed[0, 6, 6] = 1
    differs = (network(codes) != network(changed))[0].any(0).view(12, 2, 12, 2).any(3).any(1)
    rows, columns = differs.nonzero().T
    for places in (rows, columns):
        assert (places - 6).abs().max() == LAYERS


def test_its_file_has_all_of_it(tmp_path: Path) -> None:
    file, codes = tmp_path / "model.safetensors", torch.randint(7, (1, 6, 6))
    network = PreviewDecoder(7, 4)
    network.save(file)
    again = PreviewDecoder.load(file, torch.device("cpu"))
    assert again.scale == 4
    expected = PreviewDecoder(7, 4)
    expected.load_state_dict({key: x.half().float() for key, x in network.state_dict().items()})
    torch.testing.assert_close(again(codes), expected(codes))
    assert not any(parameter.requires_grad for parameter in again.parameters())


def test_files_of_something_else_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    with pytest.raises(ModelError, match="missing"):
        PreviewDecoder.load(file, torch.device("cpu"))
    save_file({"weight": torch.zeros(3)}, file)
    with pytest.raises(ModelError, match="no preview decoder"):
        PreviewDecoder.load(file, torch.device("cpu"))
    save_file({"patches.weight": torch.zeros(3, 12)}, file)
    with pytest.raises(ModelError, match="do not fit"):
        PreviewDecoder.load(file, torch.device("cpu"))


def test_its_pictures_are_as_large_as_the_models() -> None:
    model = TINY["embedded"].model
    grid = np.zeros(model.grid, int)
    assert model.preview(grid).shape == model.pixels(grid).shape


@pytest.mark.exact
def test_the_weights_that_ship_draw_nearly_as_the_vq_decoder() -> None:
    """Mean PSNR in dB on pictures that the target draws, of finished and of half-made ones: 26.6,
    26.5, 27.5 and 32.0. How a processor rounds moves none of these by 0.01."""
    model = load("embedded")
    assert model.preview is not None
    for share in (1.0, 0.75, 0.5, 0.25):
        assert np.mean(psnr(model.pixels, model.preview, raced(), share)) > 25, share
