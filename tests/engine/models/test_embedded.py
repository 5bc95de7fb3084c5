"""The embedded model as it comes with the repository."""

from __future__ import annotations

import functools
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from engine.decoders import DECODERS, DEFAULT, WHOLE
from engine.decoders.ar import VanillaAR
from engine.decoders.base import Badge
from engine.decoders.fpi import FixedPoint
from engine.decoders.jacobi import Jacobi
from engine.decoders.jacobi_window import JacobiWindowSettings
from engine.models import load
from engine.models.card import WEIGHTS
from engine.models.embedded import EmbeddedModel
from engine.race import Lane, Race
from engine.trace import LaneState, LaneStats, Seconds, Step
from tests.engine.static_shapes import static_differences
from tests.steps import retimed

PROMPTS = [
    "red apple on sky clouds",
    "rocket on night stars at the top right",
    "nothing of this world: żółć 🦕",
]


@functools.cache
def model() -> EmbeddedModel:
    return load("embedded")


def test_a_name_that_is_not_known_is_rejected() -> None:
    with pytest.raises(ValueError, match="no model called 'other'; there is embedded"):
        load("other")


def test_missing_weights_are_named(tmp_path: object) -> None:
    with pytest.raises(FileNotFoundError, match="vq is missing"):
        EmbeddedModel(weights=tmp_path)


def test_the_contract() -> None:
    height, width = model().grid
    assert model().length == height * width
    assert model().codebook.shape[0] == model().vocab_size
    assert model().drafter is not None
    assert not any(
        parameter.requires_grad and parameter.is_leaf for parameter in [model().codebook]
    )
    assert model().forced(0) is None


def test_its_weights_are_told_from_others(tmp_path: Path) -> None:
    assert re.fullmatch("[0-9a-f]{16}", model().weights)
    shutil.copytree(WEIGHTS, tmp_path, dirs_exist_ok=True)
    assert EmbeddedModel(tmp_path).weights == model().weights
    file = tmp_path / "vq" / "model.safetensors"
    tensors = load_file(file)
    tensors["decoder.0.bias"] = tensors["decoder.0.bias"] + 1
    save_file(tensors, file, {"format": "pt"})
    changed = EmbeddedModel(tmp_path)
    assert changed.weights != model().weights
    assert changed.infill_weights not in (model().infill_weights, changed.weights)


@pytest.mark.parametrize(
    ("prompt", "seed", "window"),
    [(PROMPTS[0], 7, 16), (PROMPTS[1], 8, 64), (PROMPTS[2], 2**53 - 1, 5)],
)
def test_fixed_point_gives_vanilla_ars_picture_token_for_token(
    prompt: str, seed: int, window: int
) -> None:
    ar = VanillaAR(model()).generate(prompt, seed)
    assert FixedPoint(model(), JacobiWindowSettings(window=window)).generate(prompt, seed) == ar
    assert len(set(ar)) > 1


def _timeless(steps: list[Step]) -> list[Step]:
    return [retimed(step, Seconds()) for step in steps]


def test_every_lane_finishes_twice_the_same() -> None:
    """But for vanilla AR, Jacobi and fixed point, the slow ones, which other tests here finish."""
    lanes = [Lane(name) for name in DEFAULT if name != "ar"]
    races = [list(Race(model(), lanes, PROMPTS[0], 3)) for _ in range(2)]
    for lane in range(len(lanes)):
        steps = [
            [frame.step for frame in frames if frame.lane == lane and frame.step]
            for frames in races
        ]
        assert _timeless(steps[0]) == _timeless(steps[1])
        assert steps[0][-1].after == model().length
        assert all((step.positions["token"] < model().vocab_size).all() for step in steps[0])
        assert [f.state for f in races[0] if f.lane == lane][-1] is LaneState.FINISHED


def test_jacobi_finishes() -> None:
    tokens = Jacobi(model(), JacobiWindowSettings(window=3)).generate(PROMPTS[0], 1)
    assert len(tokens) == model().length


@torch.inference_mode()
def test_a_window_gives_the_logits_of_a_forward_in_one() -> None:
    """The target's own forward, with neither cache nor mask, over caption and codes."""
    tokens = torch.randint(0, model().vocab_size, (24,), generator=torch.Generator().manual_seed(1))
    ctx = model().start(PROMPTS[0], 3.0)
    prompt = model().prompt(PROMPTS[0], True).embeddings
    codes = model().target.embed_codes(tokens, torch.arange(24)).expand(2, -1, -1)
    logits = (
        model().target(inputs_embeds=torch.cat([prompt, codes], 1)).logits[:, prompt.shape[1] - 1 :]
    )
    whole = logits[1] + 3.0 * (logits[0] - logits[1])
    root = 0
    for start, end, kept in ((0, 10, 6), (6, 20, 4), (10, 24, 1)):
        rows = model().forward(ctx, torch.cat([torch.tensor([root]), tokens[start:end]]))
        torch.testing.assert_close(rows, whole[start : end + 1], atol=2e-3, rtol=1e-4)
        model().keep(ctx, list(range(kept)))
        root = int(tokens[start + kept - 1])
    ctx.close()


def test_pixels() -> None:
    height, width = model().grid
    codes = np.arange(2 * height * width).reshape(2, height, width) % model().vocab_size
    batch = model().pixels(codes)
    assert batch.shape == (2, 8 * height, 8 * width, 3)
    assert batch.dtype == np.uint8
    assert np.abs(batch[1].astype(int) - model().pixels(codes[1]).astype(int)).max() <= 1
    assert batch.std() > 1


def test_committed_pixels_do_not_change_when_tokens_far_below_arrive() -> None:
    """The decoder sees about four tokens around each: the top half stands while the last rows come
    in."""
    height, width = model().grid
    codes = np.arange(height * width).reshape(height, width) % model().vocab_size
    later = codes.copy()
    later[-2:] = 5
    top = slice(0, 8 * (height // 2 - 2))
    assert (
        np.abs(
            model().pixels(codes)[top].astype(int) - model().pixels(later)[top].astype(int)
        ).max()
        <= 1
    )


@settings(max_examples=30)
@given(st.text(min_size=1, max_size=200).filter(str.strip))
@example("x" * 1000)
@example("🍎" * 1000)
@example(" \t apple \n ")
@example("\x00\x01")
@example("Ünïcödé Ω 漢字 עברית")
@torch.inference_mode()
def test_any_prompt_is_accepted(prompt: str) -> None:
    """Of any length that a race accepts: the caption always has the same slots, and p is a
    distribution."""
    ctx = model().start(prompt, 2.0)
    assert ctx.prompt.embeddings.shape[:2] == (2, model().target.config.caption_slots + 1)
    assert model().forward(ctx, torch.tensor([0])).isfinite().all()
    ctx.close()


@torch.inference_mode()
def test_the_prompt_matters_and_its_case_and_spaces_do_not_fail() -> None:
    def first(prompt: str) -> torch.Tensor:
        return model().forward(model().start(prompt, 1.0), torch.tensor([0]))

    assert not torch.equal(first(PROMPTS[0]), first(PROMPTS[1]))
    assert first(PROMPTS[0]).equal(first(PROMPTS[0]))


def test_static_shapes_change_nothing() -> None:
    """Through two buckets of the cache. In float64: in float32 other shapes round otherwise, and a
    uniform number within that of a token's border draws its neighbour, as one seed in twenty does
    somewhere in its picture."""
    exact = EmbeddedModel()
    exact.dtype = torch.float64
    exact.target.double()
    exact.drafter.network.double()
    assert not static_differences(exact, PROMPTS[0])


@pytest.mark.parametrize("name", WHOLE)
def test_a_lossless_lane_s_shift_is_zero_and_a_changed_one_s_is_not(name: str) -> None:
    with torch.inference_mode():
        stats = LaneStats()
        for step in DECODERS[name](model()).steps("red apple on sky clouds", 1):
            stats.add(step)
    assert (stats.tests > 100) == (name != "ar")
    if DECODERS[name].badge is Badge.CHANGED_DISTRIBUTION:
        assert stats.shift > 0.01
    else:
        assert not stats.shifts  # of every test of the whole picture
