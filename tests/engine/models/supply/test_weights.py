"""Weights from files into modules: what fits, and the words for what does not."""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save, save_file
from torch import Tensor, nn

from engine.models.supply.card import ModelError
from engine.models.supply.weights import check_sums, fill, read_weights


def state(seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = {"weight": (3, 2), "bias": (3,)}
    return {key: torch.randn(shape, generator=generator) for key, shape in shapes.items()}


def equal(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def test_safetensors_are_read_whole_and_sharded(tmp_path: Path) -> None:
    save_file(state(), tmp_path / "model.safetensors")
    assert equal(read_weights(tmp_path / "model.safetensors"), state())
    assert equal(read_weights(tmp_path), state())
    for i, (key, tensor) in enumerate(state(1).items()):
        save_file({key: tensor}, tmp_path / f"part-{i}.safetensors")
    index = {"weight_map": {key: f"part-{i}.safetensors" for i, key in enumerate(state())}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert equal(read_weights(tmp_path), state(1)), "the index goes before a file that is there too"


@pytest.mark.parametrize("wrapper", ["model", "module", "state_dict", None])
@pytest.mark.parametrize("zipped", [True, False])
def test_torch_files_are_unwrapped(tmp_path: Path, wrapper: str | None, zipped: bool) -> None:
    stored = {wrapper: state(), "steps": 7} if wrapper else state()
    torch.save(stored, tmp_path / "gpt.pt", _use_new_zipfile_serialization=zipped)
    assert equal(read_weights(tmp_path / "gpt.pt"), state())


def test_a_training_scripts_options_do_no_harm(tmp_path: Path) -> None:
    options = argparse.Namespace(image_size=256, lr=1e-4)
    torch.save({"model": state(), "args": options}, tmp_path / "gpt.pt")
    assert equal(read_weights(tmp_path / "gpt.pt"), state())


WITNESS = Path("weights-ran-code")


class _Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (WITNESS,))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pt", pickle.dumps({"model": _Bomb()}, 2)),
        ("a.pt", b""),
        ("a.pt", b"<!doctype html>"),
        ("a.pt", b"PK\x03\x04 half of a file"),
        ("a.safetensors", b""),
        ("a.safetensors", b"\xff" * 64),
        ("a.safetensors", save({"weight": torch.zeros(1000)})[:2000]),
    ],
)
def test_broken_files_are_named_and_nothing_in_them_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError, match=f"{name} cannot be read as weights.*delete it"):
        read_weights(tmp_path / name)
    assert not WITNESS.exists()


@pytest.mark.parametrize(
    "stored", [{"model": {"lr": 0.1}}, {}, [torch.zeros(1)], torch.zeros(1), {"model": {}}]
)
def test_a_file_of_something_else_raises(tmp_path: Path, stored: object) -> None:
    torch.save(stored, tmp_path / "gpt.pt")
    with pytest.raises(ModelError, match="something else than a table of tensors"):
        read_weights(tmp_path / "gpt.pt")


def test_a_missing_file_or_shard_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"gpt\.pt is missing"):
        read_weights(tmp_path / "gpt.pt")
    with pytest.raises(ModelError, match=r"model\.safetensors is missing"):
        read_weights(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"weight": "model-2.safetensors"}}))
    with pytest.raises(ModelError, match=r"model-2\.safetensors is missing"):
        read_weights(tmp_path)
    index.write_text(json.dumps({"weight_map": {"weight": "../secret.safetensors"}}))
    with pytest.raises(ModelError, match="outside its folder"):
        read_weights(tmp_path)
    for broken in ("[]", "{}", "half of", '{"weight_map": 3}', '{"weight_map": {"weight": 3}}'):
        index.write_text(broken)
        with pytest.raises(ModelError, match="is not an index of weights"):
            read_weights(tmp_path)


def test_files_are_compared_with_their_digests(tmp_path: Path) -> None:
    """As sha256sum writes them; how lines end in JSON is git's choice."""
    folder = tmp_path / "weights"
    (folder / "vq").mkdir(parents=True)
    table, model = folder / "world.json", folder / "vq" / "model.safetensors"
    table.write_bytes(b'{\n"a": 1}\n')
    model.write_bytes(b"\x00\n\xff")
    check_sums(folder)
    (folder / "SHA256SUMS").write_text(
        "8285ec25c4193f78312b303c435b6c5efe2a5e91bbd2d2d1a2de7e9f71ed00a2  world.json\n"
        "a0956176ad28cadf4a54b314f9fcd6143d7007957454286ff24580445304b558  vq/model.safetensors\n"
    )
    check_sums(folder)
    table.write_bytes(b'{\r\n"a": 1}\r\n')
    check_sums(folder)
    model.write_bytes(b"\x00\r\n\xff")
    with pytest.raises(ModelError, match=r"^weights/vq/model\.safetensors is damaged"):
        check_sums(folder)
    table.unlink()
    with pytest.raises(ModelError, match=r"^weights/world\.json is missing"):
        check_sums(folder)


def test_a_state_that_fits_is_copied_in_the_modules_dtype() -> None:
    module = nn.Linear(2, 3).to(torch.bfloat16)
    fill(module, state())
    assert module.weight.dtype is torch.bfloat16
    assert torch.equal(module.weight, state()["weight"].bfloat16())
    assert torch.equal(module.bias, state()["bias"].bfloat16())


def test_keys_are_renamed_left_out_and_dropped() -> None:
    module = nn.Linear(2, 3)
    stored = {f"gpt.{key}": tensor for key, tensor in state().items()}
    stored |= {"codebook_used": torch.zeros(9), "old.x": torch.zeros(1)}

    def rename(key: str) -> str | None:
        return None if key.startswith("old") else key.removeprefix("gpt.")

    fill(module, stored, rename, drop=["codebook"])
    assert equal(dict(module.state_dict()), state())


def test_a_module_on_the_meta_device_takes_the_tensors() -> None:
    with torch.device("meta"):
        module = nn.Linear(2, 3, dtype=torch.float16)
    fill(module, state())
    assert module.weight.device.type == "cpu"
    assert torch.equal(module.weight, state()["weight"].half())


def test_one_name_of_a_tied_weight_is_enough() -> None:
    module = nn.ModuleDict({name: nn.Linear(2, 2, bias=False) for name in ("inner", "outer")})
    module["outer"].weight = module["inner"].weight
    fill(module, {"inner.weight": torch.eye(2)})
    assert torch.equal(module["outer"].weight, torch.eye(2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bias": None}, "'bias' is missing"),
        ({"scale": torch.zeros(1)}, "'scale' is unexpected"),
        ({"weight": torch.zeros(2, 3)}, r"'weight' has the shape \(2, 3\), not \(3, 2\)"),
    ],
)
def test_the_first_key_that_does_not_fit_is_named_and_nothing_is_copied(
    change: dict[str, Tensor | None], message: str
) -> None:
    module = nn.Linear(2, 3)
    before = {key: tensor.clone() for key, tensor in module.state_dict().items()}
    stored = {key: tensor for key, tensor in (state() | change).items() if tensor is not None}
    with pytest.raises(ModelError, match=message):
        fill(module, stored)
    assert equal(dict(module.state_dict()), before)
