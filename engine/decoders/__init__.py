"""The decoders, one file each. A class here that says its name is a lane everywhere: command line,
page, trace and tests."""

from __future__ import annotations

import importlib
import pkgutil

from engine.decoders.base import Decoder


def _found() -> dict[str, type[Decoder]]:
    classes = {}
    for module in pkgutil.iter_modules(__path__):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Decoder) and "name" in vars(value):
                classes[value.name] = value
    return dict(sorted(classes.items(), key=lambda item: item[1].order))


DECODERS: dict[str, type[Decoder]] = _found()
