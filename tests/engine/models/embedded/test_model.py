"""The embedded model as it comes with the repository, and what is its alone; the rest is in
`test_families.py`."""

from __future__ import annotations

import functools
import hashlib
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
from engine.models.embedded.infill import EmbeddedInfill
from engine.models.embedded.model import EmbeddedModel
from engine.models.supply.card import WEIGHTS, ModelError
from engine.models.supply.weights import SUMS
from tests.engine.models.families import TINY
from tests.engine.models.families.tiny import save

PROMPT = "red apple on sky clouds"
TINY_EMBEDDED = TINY["embedded"]


@functools.cache
def model() -> EmbeddedModel:
    return load("embedded")


def test_missing_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="vq is missing: check out the repository"):
        EmbeddedModel(weights=tmp_path)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A folder of all parts, infilling's too, without digests."""
    folder = tmp_path / "weights"
    shutil.copytree(TINY_EMBEDDED.folders["weights"], folder)
    save(EmbeddedInfill.continued(TINY_EMBEDDED.target), folder / "infill")
    return folder


@pytest.mark.parametrize("part", ["target", "vq", "drafter", "preview", "infill"])
def test_a_weight_of_another_name_is_not_drawn_at_random(weights: Path, part: str) -> None:
    """Infilling's neither, before anything is filled in."""
    assert EmbeddedModel(weights).filler
    file = sorted((weights / part).glob("*.safetensors"))[0]
    tensors = load_file(file)
    name = min(tensors)
    tensors[f"{name}.old"] = tensors.pop(name)
    save_file(tensors, file, {"format": "pt"})
    with pytest.raises(ModelError, match=re.escape(f"'{name}.old' is unexpected")):
        EmbeddedModel(weights)


def test_a_bit_that_flipped_in_any_file_is_found_at_the_start(weights: Path) -> None:
    """Whatever number it makes of a weight; the message names the file as visitors may see it."""
    files = [path for path in sorted(weights.rglob("*")) if path.is_file()]
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(weights).as_posix()}"
        for path in files
    ]
    (weights / SUMS).write_text("\n".join(sums) + "\n")
    assert EmbeddedModel(weights).filler
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(whole[:-3] + bytes([whole[-3] ^ 0x40]) + whole[-2:])
        with pytest.raises(ModelError, match=r"is damaged.*check out") as caught:
            EmbeddedModel(weights)
        assert str(caught.value).startswith(f"weights/{file.relative_to(weights).as_posix()} is")
        file.unlink()
        with pytest.raises(ModelError, match=f"{file.name} is missing: check out the repository"):
            EmbeddedModel(weights)
        file.write_bytes(whole)


def test_every_file_that_it_reads_has_its_digest() -> None:
    unread = {"README.md", "evaluation.json", "samples.png", "generation_config.json", SUMS}
    files = {path for path in WEIGHTS.rglob("*") if path.is_file() and path.name not in unread}
    named = [line.partition("  ")[2] for line in (WEIGHTS / SUMS).read_text().splitlines()]
    assert sorted(named) == sorted(path.relative_to(WEIGHTS).as_posix() for path in files)


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


def test_weights_for_infilling_are_told_from_the_raster_ones(weights: Path) -> None:
    before = EmbeddedModel(weights)
    file = weights / "infill" / "model.safetensors"
    tensors = load_file(file)
    tensors["next.weight"] = tensors["next.weight"] + 1
    save_file(tensors, file, {"format": "pt"})
    after = EmbeddedModel(weights)
    assert after.weights == before.weights
    assert len({before.weights, before.filler.weights, after.filler.weights}) == 3


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
