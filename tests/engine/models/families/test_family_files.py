"""What a public family reads: files that are missing or damaged, weights that do not fit, other
dtypes, no files at all, and the true sizes."""

from __future__ import annotations

import json
import operator
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.decoders import DECODERS
from engine.models.body import BodyModel
from engine.models.supply.card import CARDS, ModelError
from engine.settings import Sampling
from tests.engine.models.families import PUBLIC, TINY, Tiny
from tests.variants import further


@pytest.fixture(params=PUBLIC)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    return PUBLIC[request.param]


def linked(folders: dict[str, Path], to: Path) -> dict[str, Path]:
    """Folders whose files are links to these: a test replaces some."""
    for part, folder in folders.items():
        shutil.copytree(folder, to / part, copy_function=os.symlink)
    return {part: to / part for part in folders}


def rewritten(tiny: Tiny, to: Path, name: str, change: Callable[[dict], object]) -> dict[str, Path]:
    """Linked folders, but for one file of the model's, whose JSON is changed."""
    folders = linked(tiny.folders, to)
    path = folders["model"] / name
    values = json.loads(path.read_text())
    change(values)
    path.unlink()
    path.write_text(json.dumps(values))
    return folders


def change_weights(patch: pytest.MonkeyPatch, tiny: Tiny, change) -> None:
    """From here on, what the family reads of a file passes through `change`."""
    module = tiny.reader or tiny.module
    read = module.read_weights
    patch.setattr(module, "read_weights", lambda path: change(read(path)))


def first_logits(model: BodyModel, prompt: str) -> Tensor:
    return model.forward(model.start(prompt, 3.0), torch.tensor([0, 3, 5]))


# Files


@pytest.mark.parametrize("damage", ["missing", "cut", *further("another's", "bytes")])
def test_a_damaged_file_is_named_with_what_to_do(tiny: Tiny, damage: str, tmp_path: Path) -> None:
    for i, name in enumerate(tiny.files):
        folders = linked(tiny.folders, tmp_path / str(i))
        (file,) = folders[name.partition("/")[0]].glob(name.partition("/")[2])
        content = {"cut": file.read_bytes()[:100], "another's": b"[1]", "bytes": b"\xff\x00{"}
        file.unlink()
        if damage != "missing":
            file.write_bytes(content[damage])
        with pytest.raises(ModelError, match="downloads it again") as caught:
            tiny.load(folders)
        assert str(caught.value).startswith((file.name, "The tokenizer of ")), str(caught.value)
        assert str(tmp_path) not in str(caught.value), "visitors read it"


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [(name, *misfit) for name, tiny in PUBLIC.items() for misfit in tiny.misfits],
)
def test_files_of_another_model_are_rejected_in_words(
    name: str, file: str, change: Callable[[dict], object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=message):
        PUBLIC[name].load(rewritten(PUBLIC[name], tmp_path, file, change))


@pytest.mark.parametrize("damage", ["missing", *further("unexpected"), "misshapen"])
def test_weights_that_do_not_fit_are_named(tiny: Tiny, damage: str) -> None:
    for key, own in tiny.weights.items():
        spoilt = {
            "missing": (None, f"{own!r} is missing"),
            "unexpected": (f"{key}.more", f"{key + '.more'!r} is unexpected"),
            "misshapen": (key, f"{key!r} has the shape ("),
        }
        new, message = spoilt[damage]

        def spoil(state: dict[str, Tensor], key: str = key, new: str | None = new) -> dict:
            if key not in state:
                return state
            kept = {name: tensor for name, tensor in state.items() if name != key or new != key}
            weight = kept.pop(key, state[key]) if new is None else state[key]
            return kept | ({new: weight[:-1]} if new else {})

        with pytest.MonkeyPatch.context() as patch:
            change_weights(patch, tiny, spoil)
            with pytest.raises(ModelError, match=re.escape(message)) as caught:
                tiny.load(tiny.folders)
        if damage == "misshapen":
            assert re.search(r"\(\d.*\), not \(\d.*\)\.$", str(caught.value))


def test_weights_that_are_not_needed_are_not_loaded_and_may_be_absent(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = []

    def without(state: dict[str, Tensor]) -> dict[str, Tensor]:
        left.extend(key for key in state if key.startswith(tiny.unused))
        return {key: weight for key, weight in state.items() if not key.startswith(tiny.unused)}

    whole, prompt = tiny.model, tiny.prompts[0]
    change_weights(monkeypatch, tiny, without)
    model = tiny.load(tiny.folders)
    assert all(any(key.startswith(prefix) for key in left) for prefix in tiny.unused)
    assert first_logits(model, prompt).equal(first_logits(whole, prompt))
    codes = np.arange(6).reshape(2, 3)
    assert np.array_equal(model.pixels(codes), whole.pixels(codes))
    for path in tiny.absent:
        with pytest.raises(AttributeError):
            operator.attrgetter(path)(model)
    modules = [part for part in vars(model).values() if isinstance(part, torch.nn.Module)]
    tensors = [each for part in modules for each in (*part.parameters(), *part.buffers())]
    assert not any(tensor.is_meta or tensor.requires_grad for tensor in tensors)


# Dtypes, and no files


def test_the_body_has_the_dtype_and_the_decoder_of_pixels_float32(tiny: Tiny) -> None:
    half, single = (tiny.load(tiny.folders, each) for each in (torch.bfloat16, torch.float32))
    prompt = tiny.prompts[0]
    assert {weight.dtype for weight in half.body.parameters()} == {torch.bfloat16}
    assert {weight.dtype for weight in half.vq.parameters()} == {torch.float32}
    assert half.codebook.dtype == torch.float32
    angles = [dict(model.body.rotary_emb.named_buffers()) for model in (half, single)]
    assert angles[0], "they are not rounded"
    assert all(angles[0][name].equal(angles[1][name]) for name in angles[1])
    rounded, exact = (first_logits(model, prompt) for model in (half, single))
    assert rounded.dtype == exact.dtype == torch.float32
    assert F.cosine_similarity(rounded, exact).min() > 0.98
    codes = np.arange(9).reshape(3, 3)
    assert np.array_equal(half.pixels(codes), single.pixels(codes))
    assert len(DECODERS["sjd"](half).generate(prompt, 0)) == tiny.card.length


def test_random_weights_race_without_files(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt is its bytes, or its class."""
    # A family of which sizes are an option needs none.
    monkeypatch.setattr(tiny.reader or tiny.module, "config", lambda card: tiny.small)
    model = tiny.load(None)
    sampling = Sampling(guidance=2.0, top_k=0)
    tokens = DECODERS["sjd-pac"](model, sampling=sampling).generate(tiny.typed[1], 0)
    assert len(tokens) == model.plan.length
    rows = [first_logits(model, prompt) for prompt in tiny.typed]
    assert all(row.isfinite().all() and row.std() > 0 for row in rows)
    assert not any(row.equal(rows[0]) for row in rows[1:])
    picture = model.pixels(np.full((2, 3), model.vocab_size - 1))
    assert picture.shape == (2 * tiny.side, 3 * tiny.side, 3)


# True sizes


@pytest.mark.parametrize("name", CARDS)
def test_the_cards_sizes_are_the_networks(name: str) -> None:
    card = CARDS[name]
    (tiny, *_) = (tiny for tiny in TINY.values() if tiny.card.family == card.family)
    networks, body = tiny.true_networks(card)
    count = sum(weight.numel() for network in networks for weight in network.parameters())
    tolerance = 10_000_000 if card.repos else 200_000
    assert abs(count - card.parameters) < tolerance
    layers = sum(
        weight.numel()
        for network in networks
        for key, weight in network.named_parameters()
        if re.search(r"(^|\.)layers\.\d+\.", key) and "hidden_layers" not in key
    )
    assert abs(layers - card.layers) < tolerance
    assert card.depth == body.num_hidden_layers
    heads = body.num_key_value_heads or body.num_attention_heads
    dim = getattr(body, "head_dim", None) or body.hidden_size // body.num_attention_heads
    assert card.kv_values == card.inputs * 2 * body.num_hidden_layers * heads * dim
    assert card.inputs == tiny.model.inputs
    rows = tiny.words + card.codes
    assert any(rows in weight.shape for weight in networks[0].parameters())
