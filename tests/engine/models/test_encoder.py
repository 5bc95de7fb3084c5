"""The encoders of the families' image tokenizers, against transformers' or the published code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.models import load
from engine.models.encoder import encode, parts, size
from engine.models.families import llamagen
from engine.models.supply.card import CARDS, ModelError
from engine.reader.scene import Layout, Scene
from tests.engine.models.families import PUBLIC
from train.scenes import render

ENCODERS = [name for name, tiny in PUBLIC.items() if parts(tiny.card) is not None]


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_every_family_but_two_has_one() -> None:
    without = {card.family for card in CARDS.values() if parts(card) is None}
    assert without == {"emu3", "simplear"}


@pytest.mark.parametrize("name", ENCODERS)
def test_codes_are_the_librarys(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = PUBLIC[name]
    if parts(tiny.card) == ("vq",):  # its files have no configuration
        monkeypatch.setattr(llamagen, "config", lambda card: tiny.small)
    height, width = (side * tiny.side for side in tiny.card.grid)
    picture = noise(height, width)
    found = encode(tiny.card, tiny.folders, picture)
    pixels = torch.from_numpy(picture).permute(2, 0, 1)[None].double() / 127.5 - 1
    assert found == tiny.encoded(pixels).tolist()
    assert len(found) == tiny.card.grid[0] * tiny.card.grid[1]
    assert len(set(found)) > 3, "a picture of one code would prove little"


def test_a_scene_comes_back_from_its_codes() -> None:
    model = load("embedded")
    card = CARDS["embedded"]
    width, height = size(card)
    apple = Scene(Layout.ONE, ("red apple",), "sky clouds")
    picture = render(apple, np.random.default_rng(3))[:height, :width]
    assert picture.shape == (height, width, 3)
    codes = np.array(encode(card, {}, picture)).reshape(model.grid)
    error = (model.pixels(codes).astype(float) - picture) ** 2
    assert 10 * np.log10(255**2 / error.mean()) > 24


def test_pictures_are_as_large_as_the_models() -> None:
    for tiny in PUBLIC.values():
        assert size(tiny.card) == (16 * tiny.card.grid[1], 16 * tiny.card.grid[0])
    assert size(CARDS["lumina-768"]) == (768, 768)
    assert size(CARDS["llamagen-256"]) == (256, 256)


def test_files_without_an_encoder_are_said_to_be(tmp_path: Path) -> None:
    tiny = PUBLIC["anole"]
    state = load_file(tiny.folders["vq"] / "model.safetensors")
    del state["encoder.conv_in.weight"]
    save_file(state, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"encoder\.conv_in\.weight.* is missing"):
        encode(tiny.card, tiny.folders | {"vq": tmp_path}, noise(16, 16))
