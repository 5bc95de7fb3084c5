"""The models, one file per family; `load` loads any of them."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch

from engine.failures import Failure
from engine.graphs import Captures, CudaCapture
from engine.models.base import ImageModel
from engine.models.supply.card import CARDS, ModelCard, ModelError
from engine.models.supply.device import check, resolve_device, resolve_dtype
from engine.models.supply.progress import Phase, Progress, Report

# A family's module is imported when one of its models is loaded: importing transformers takes
# seconds.
FAMILIES = {
    "janus": "JanusModel",
    "llamagen": "LlamaGenModel",
    "llamagen_class": "LlamaGenClassModel",
    "randar": "RandARModel",
    "simplear": "SimpleARModel",
    "emu3": "Emu3Model",
    "chameleon": "ChameleonModel",
}
Model = TypeVar("Model", bound=ImageModel)
_DOWNLOAD = 0.8  # share of the progress that is the download; the rest is loading


def load(
    name: str = "embedded",
    device: str = "cpu",
    dtype: str | torch.dtype | None = None,
    *,
    progress: Report | None = None,
    folder: Path | dict[str, Path] | None = None,
    random: bool = False,
    drafter: bool = False,
    graphs: bool = True,
    torchscript: bool = False,
    previews: Path | None = None,
) -> ImageModel:
    """Load a model by its name: the embedded one from the repository, any other from the hub.

    Args:
        name: the model's name.
        device: cpu, cuda, cuda:0 .. or auto.
        dtype: one of device.DTYPES; None for the device's default. The embedded model takes
            "int8" on a processor: three of a layer's four products are then in 8 bits.
        progress: called with a report, from any thread.
        folder: replaces the hub. It holds the model's files, or a subfolder for each part if the
            model has several parts. It may also be a map from each part to its folder.
        random: use random weights at the model's true size; nothing is read or downloaded.
        drafter: add the EAGLE drafter of LANTERN's authors, which is for research only.
        graphs: capture steps as CUDA graphs on a CUDA device.
        torchscript: allow a model's TorchScript files, which run code of their own.
        previews: the folder that keeps the preview decoders of public models; a model's decoder is
            fitted when the model is first loaded. None for no preview decoder.

    Raises:
        ValueError: the name is unknown.
        ModelError: the model cannot be loaded. If the device's free memory is known to be too
            small, this is raised before any weights are read or downloaded.
    """
    if name not in CARDS:
        raise ValueError(f"There is no model called {name!r}; there is {', '.join(CARDS)}.")
    card, report = CARDS[name], progress or (lambda progress: None)
    if drafter:
        if random:
            raise ModelError("Random weights have no drafter: leave one of the two off.")
        card = card.with_drafter()
    torch_device = resolve_device(device)
    if card.family == "embedded":
        from engine.models.embedded.model import EmbeddedModel

        exact, in_float = dtype is torch.float64, dtype in (None, "auto", "float32", torch.float32)
        eight = dtype == "int8" and torch_device.type == "cpu"
        if random or folder or not (exact or in_float or eight):
            raise ModelError(
                "The embedded model comes with its own weights, in float32: it has no other ones."
                " On a processor it also computes in int8."
            )
        own_dtype = torch.float64 if exact else torch.float32
        embedded = EmbeddedModel(device=str(torch_device), dtype=own_dtype, eight_bits=eight)
        return prepared(embedded, graphs)
    torch_dtype = resolve_dtype(torch_device, dtype)
    card.check_code(torchscript or random)
    check(card, torch_device, torch_dtype)
    folders = None if random else _folders(card, folder, report)
    report(Progress(Phase.LOADING, _DOWNLOAD if folders else 0.0))
    family = getattr(
        importlib.import_module(f"{__name__}.families.{card.family}"), FAMILIES[card.family]
    )
    try:
        model = family(card, folders, torch_device, torch_dtype)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise ModelError(
            f"{card.title} ran out of memory on {torch_device}: free some, or choose a smaller"
            " model.",
            Failure.OUT_OF_MEMORY,
        ) from error
    model.card, model.slow_pixels = card, torch_device.type == "cpu"
    if random:
        model.weights = "random"
    elif folders and folder is None:
        model.weights = ", ".join(f"{s.repo}@{s.commit(folders[s.part])[:12]}" for s in card.repos)
    report(Progress(Phase.LOADING, 1.0))
    if previews:
        from engine.models.distil import fitted

        network = fitted(model, previews, report)
        model.preview = network and network.pictures
    return prepared(model, graphs)


def prepared(model: Model, graphs: bool) -> Model:
    """Set a model up for its device, and return the model.

    On a CUDA device the model gets static shapes and, if `graphs`, captures its steps as CUDA
    graphs. Without static shapes, PyTorch would choose and set up attention's kernels again for
    each new shape. A model on another device is not changed.
    """
    if model.device.type == "cuda":
        model.static = True
        model.captures = Captures(partial(CudaCapture, model.device)) if graphs else None
    return model


def _folders(
    card: ModelCard, folder: Path | dict[str, Path] | None, report: Report
) -> dict[str, Path]:
    if isinstance(folder, dict):
        return folder
    if folder is not None:
        folders = {s.part: folder if len(card.repos) == 1 else folder / s.part for s in card.repos}
        for path in folders.values():
            if not path.is_dir():
                raise ModelError(f"There is no folder {path} to read {card.title} from.")
        return folders
    from engine.models.supply.hub import fetch_all  # importing the hub's client takes a while, too

    return fetch_all(card, lambda progress: report(progress.within(0.0, _DOWNLOAD)))
