"""The models, one file per family; `load` is the way to all of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import torch

from engine.models.base import ImageModel
from engine.models.card import CARDS, Card, ModelError
from engine.models.device import check, resolve_device, resolve_dtype

# A family's module is imported when one of its models is loaded: transformers takes seconds, and
# only who loads a model waits.
FAMILIES = {
    "janus": "JanusModel",
    "llamagen": "LlamaGenModel",
    "emu3": "Emu3Model",
    "chameleon": "ChameleonModel",
}
_FETCHED = 0.8  # of the way: the rest is reading


def load(
    name: str = "embedded",
    device: str = "cpu",
    dtype: str | torch.dtype | None = None,
    *,
    progress: Callable[[float, str], None] | None = None,
    folder: Path | None = None,
    random: bool = False,
) -> ImageModel:
    """Loads a model by its name, from the hub or, for the embedded one, from the repository.

    `device` is cpu, cuda, cuda:0 .. or auto, `dtype` one of device.DTYPES (None: the device's).
    `progress` hears a share from 0 to 1 and a sentence, from any thread. `folder` holds the files
    instead of the hub, in a folder for each part where a model has several. `random`: random
    weights at the model's true size; nothing is read or asked for.

    Raises ValueError for a name that is not known, ModelError for a model that cannot be had or
    does not fit: before any of its weights are read, or downloaded."""
    if name not in CARDS:
        raise ValueError(f"There is no model called {name!r}; there is {', '.join(CARDS)}.")
    card, tell = CARDS[name], progress or (lambda share, words: None)
    where = resolve_device(device)
    if card.family == "embedded":
        from engine.models.embedded import EmbeddedModel

        if random or folder or dtype not in (None, "auto", "float32", torch.float32):
            raise ModelError(
                "The embedded model comes with its own weights, in float32: it has no other ones."
            )
        return EmbeddedModel(device=str(where))
    number = resolve_dtype(where, dtype)
    check(card, where, number)
    folders = None if random else _folders(card, folder, tell)
    tell(_FETCHED if folders else 0.0, f"Loading {card.title}")
    family = getattr(importlib.import_module(f"{__name__}.{card.family}"), FAMILIES[card.family])
    try:
        model = family(card, folders, where, number)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise ModelError(
            f"{card.title} ran out of memory on {where}: free some, or choose a smaller model."
        ) from error
    tell(1.0, f"{card.title} is ready")
    return model


def _folders(
    card: Card, folder: Path | None, tell: Callable[[float, str], None]
) -> dict[str, Path]:
    if folder is not None:
        found = {s.part: folder if len(card.repos) == 1 else folder / s.part for s in card.repos}
        for place in found.values():
            if not place.is_dir():
                raise ModelError(f"There is no folder {place} to read {card.title} from.")
        return found
    from engine.models.hub import fetch  # the hub's client takes a while to import, too

    count = len(card.repos)
    return {
        source.part: fetch(
            source, lambda share, words, done=i: tell(_FETCHED * (done + share) / count, words)
        )
        for i, source in enumerate(card.repos)
    }
