"""The registry: every decoder of the folder stands in `DECODERS`, under its own name."""

from __future__ import annotations

import importlib
import pkgutil

from engine import decoders
from engine.decoders import DECODERS, Decoder


def test_every_decoder_of_the_folder_is_registered() -> None:
    found = set()
    for module in pkgutil.iter_modules(decoders.__path__):
        for value in vars(importlib.import_module(f"engine.decoders.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Decoder) and "name" in vars(value):
                found.add(value)
    assert found == set(DECODERS.values()), "a new decoder's class also goes into DECODERS"


def test_names_and_titles_are_unique() -> None:
    assert [decoder.name for decoder in DECODERS.values()] == list(DECODERS)
    assert len({decoder.title for decoder in DECODERS.values()}) == len(DECODERS)
