"""Reads model files (weights, tokenizers) and checks digests.

Weights are copied into modules strictly: an error names the first key that does not fit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from engine.models.supply.card import ModelError

_WRAPPERS = ("model", "module", "state_dict")  # keys under which training scripts put weights
AGAIN = "delete it, and the next start downloads it again"
SUMS = "SHA256SUMS"


def require_file(path: Path) -> Path:
    """Return the path of a file. Raises ModelError if the file is missing."""
    if not path.is_file():
        raise ModelError(
            f"{path.name} is missing: delete its folder, and the next start downloads it again."
        )
    return path


def check_sums(folder: Path) -> None:
    """Compare a folder's files with its SHA256SUMS, as `sha256sum --check` does.

    Folders that training writes have no SHA256SUMS, and are accepted unchecked. Raises ModelError,
    which names the first file that is missing or different.
    """
    sums = folder / SUMS
    if not sums.is_file():
        return
    for line in sums.read_text("utf-8").splitlines():
        digest, _, name = line.partition("  ")
        file = folder / name
        if not file.is_file():
            fault = "is missing"
        else:
            content = file.read_bytes()
            if file.suffix == ".json":  # on Windows git may end the lines otherwise
                content = content.replace(b"\r\n", b"\n")
            if hashlib.sha256(content).hexdigest() == digest:
                continue
            fault = "is damaged, or another version's"
        raise ModelError(
            f"{folder.name}/{name} {fault}: check out the repository, or install the package,"
            " again."
        )


def differing(folder: Path, digests: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of files in `folder` whose digest is not the hub's.

    `digests` are pairs of a file name and the hub's digest: SHA-256 (64 hexadecimal digits) or
    git's blob id (40 digits). Missing files are skipped.
    """
    return [
        name
        for name, digest in digests
        if (folder / name).is_file() and _digest(folder / name, len(digest) == 40) != digest
    ]


def _digest(file: Path, blob: bool) -> str:
    def begin() -> hashlib._Hash:
        if not blob:
            return hashlib.sha256()
        return hashlib.sha1(b"blob %d\0" % file.stat().st_size, usedforsecurity=False)

    with file.open("rb") as content:
        return hashlib.file_digest(content, begin).hexdigest()


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read all tensors of a .safetensors or torch file, or of a folder of safetensors.

    The tensors are on the CPU, memory-mapped where the format allows. Torch files are read with
    `weights_only`, so that no code in them runs. Raises ModelError where a file is missing or
    broken, or holds anything but tensors.
    """
    if path.is_dir():
        return _read_folder(path)
    require_file(path)
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        # Training scripts keep their options beside the weights in a Namespace, which runs nothing.
        with torch.serialization.safe_globals([argparse.Namespace]):
            stored = torch.load(
                path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path) or None
            )
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise ModelError(
            f"{path.name} cannot be read as weights ({_first_line(error)}): {AGAIN}."
        ) from error
    for name in _WRAPPERS:
        if isinstance(stored, dict) and isinstance(stored.get(name), dict):
            stored = stored[name]
            break
    if not (
        isinstance(stored, dict)
        and stored
        and all(isinstance(value, Tensor) for value in stored.values())
    ):
        raise ModelError(
            f"{path.name} holds something else than a table of tensors: it is not this"
            " model's file."
        )
    return dict(stored)


def shards(index: Path) -> list[str]:
    """Return the names of the files that a safetensors index lists, all in the index's folder.

    Raises ModelError if the index cannot be read or lists files elsewhere.
    """
    try:
        names = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
        beside = all(Path(name).name == name for name in names)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ModelError(f"{index.name} is not an index of weights: {AGAIN}.") from error
    if not beside:
        raise ModelError(f"{index} names files outside its folder: it is not this model's file.")
    return names


def read_tokenizer(folder: Path) -> Tokenizer:
    """Read a folder's `tokenizer.json`, without its truncation and padding.

    Raises ModelError where the file is missing or broken.
    """
    path = require_file(folder / "tokenizer.json")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise ModelError(f"{path.name} is not a tokenizer: {AGAIN}.") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _read_folder(folder: Path) -> dict[str, Tensor]:
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return read_weights(folder / "model.safetensors")
    state: dict[str, Tensor] = {}
    for shard in shards(index):
        state.update(read_weights(folder / shard))
    return state


def fill(
    module: nn.Module,
    state: dict[str, Tensor],
    rename: Callable[[str], str | None] | None = None,
    drop: Sequence[str] = (),
) -> None:
    """Copy `state` into `module`, key by key, in the module's own dtype and device.

    A module on the meta device takes over the tensors of `state`, cast to its own dtype; the caller
    sets the buffers that are not stored. Raises ModelError, which names the first key that is
    missing, unexpected or of another shape; the module is then unchanged.

    Args:
        module: the module.
        state: the stored tensors by their keys.
        rename: maps a stored key to the module's key, or to None to skip it.
        drop: prefixes of stored keys that are skipped before `rename`.
    """
    own = module.state_dict(keep_vars=True)
    placed: dict[str, Tensor] = {}
    for key, tensor in state.items():
        if key.startswith(tuple(drop)):
            continue
        name = rename(key) if rename else key
        if name is None:
            continue
        if name not in own:
            raise ModelError(f"The weights do not fit: {key!r} is unexpected.")
        if own[name].shape != tensor.shape:
            raise ModelError(
                f"The weights do not fit: {key!r} has the shape {tuple(tensor.shape)}, not"
                f" {tuple(own[name].shape)}."
            )
        placed[name] = tensor
    filled = {id(own[name]) for name in placed}  # of tied weights, one name is enough
    for name, tensor in own.items():
        if id(tensor) not in filled:
            raise ModelError(f"The weights do not fit: {name!r} is missing.")
    if any(tensor.is_meta for tensor in own.values()):
        ready = {name: tensor.to(own[name].dtype) for name, tensor in placed.items()}
        module.load_state_dict(ready, strict=False, assign=True)
        return
    with torch.no_grad():
        for name, tensor in placed.items():
            own[name].copy_(tensor)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:120] or type(error).__name__


def randomise(network: nn.Module) -> None:
    """Give a network the same random weights on every start.

    Weights are normal with deviation 0.02, scales are 1, and everything else is 0, so that states
    neither vanish nor overflow. A pass takes the same time with any weights.
    """
    generator = torch.Generator(next(network.parameters()).device).manual_seed(0)
    for name, values in network.state_dict().items():
        if values.dim() > 1:
            values.normal_(0, 0.02, generator=generator)
        else:
            values.fill_(name.endswith(("weight", "running_var")))
