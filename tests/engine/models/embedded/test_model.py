"""The embedded model as it comes with the repository, and what is its alone; the rest is in
`test_families.py`."""

from __future__ import annotations

import functools
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.decoders.ar import VanillaAR
from engine.decoders.fpi import FixedPoint
from engine.decoders.jacobi_window import JacobiWindowSettings
from engine.models import load
from engine.models.embedded.model import EmbeddedModel
from tests.engine.models.families import TINY

PROMPT = "red apple on sky clouds"
TINY_EMBEDDED = TINY["embedded"]


@functools.cache
def model() -> EmbeddedModel:
    return load("embedded")


def test_missing_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="vq is missing"):
        EmbeddedModel(weights=tmp_path)


def test_its_weights_are_told_from_others(tmp_path: Path) -> None:
    tiny, folder = TINY_EMBEDDED.model, tmp_path / "weights"
    assert re.fullmatch("[0-9a-f]{16}", tiny.weights)
    shutil.copytree(TINY_EMBEDDED.folders["weights"], folder)
    assert EmbeddedModel(folder).weights == tiny.weights
    file = folder / "vq" / "model.safetensors"
    tensors = load_file(file)
    tensors["decoder.0.bias"] = tensors["decoder.0.bias"] + 1
    save_file(tensors, file, {"format": "pt"})
    changed = EmbeddedModel(folder)
    assert changed.weights != tiny.weights
    assert changed.infill_weights not in (tiny.infill_weights, changed.weights)


def test_the_fixed_point_of_the_true_weights_is_vanilla_ars_picture() -> None:
    """In float64: of two tokens that are as likely, rounding would choose."""
    prompt, seed = "nothing of this world: żółć 🦕", 2**53 - 1
    true = EmbeddedModel(dtype=torch.float64)
    ar = VanillaAR(true).generate(prompt, seed)
    assert FixedPoint(true, JacobiWindowSettings(window=16)).generate(prompt, seed) == ar
    assert len(set(ar)) > 1


def test_committed_pixels_do_not_change_when_tokens_far_below_arrive() -> None:
    """The decoder sees about four tokens around each: the top half stands while the last rows come
    in."""
    height, width = model().grid
    codes = np.arange(height * width).reshape(height, width) % model().vocab_size
    later = codes.copy()
    later[-2:] = 5
    top = slice(0, 8 * (height // 2 - 2))
    before, after = (model().pixels(each)[top].astype(int) for each in (codes, later))
    assert np.abs(before - after).max() <= 1


@pytest.mark.parametrize(
    "prompt", ["x" * 1000, "🍎" * 1000, " \t apple \n ", "\x00\x01", "Ünïcödé Ω 漢字 עברית"]
)
@torch.inference_mode()
def test_any_prompt_is_accepted(prompt: str) -> None:
    """Of any length that a race accepts: the caption always has the same slots, and p is a
    distribution."""
    tiny = TINY_EMBEDDED.model
    ctx = tiny.start(prompt, 2.0)
    assert ctx.prompt.embeddings.shape[:2] == (2, tiny.target.config.caption_slots + 1)
    assert tiny.forward(ctx, torch.tensor([0])).isfinite().all()
    ctx.close()
