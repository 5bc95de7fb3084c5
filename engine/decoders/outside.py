"""Decoders from outside the repository.

Each is a subclass of `Decoder`, either in a Python file that PHOTO_FINISH_DECODERS names or an
entry point of an installed package. Whoever runs this machine chooses these decoders, and they run
as ordinary code. Nothing that a visitor sends reaches this module.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Collection
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from engine.decoders.base import Badge, Decoder
from engine.settings import SettingError, Settings

FILES = "PHOTO_FINISH_DECODERS"  # a variable: files, with commas between them
GROUP = "photo_finish.decoders"  # of entry points; each names a subclass of Decoder
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")  # as in links and on the command line
_TEXTS = ("name", "title", "idea", "paper")

log = logging.getLogger(__name__)


class DecoderError(Exception):
    """A decoder cannot race; the message says where and why."""


def load_outside(names: Collection[str]) -> list[type[Decoder]]:
    """Return the decoders of the files in PHOTO_FINISH_DECODERS, then those of installed packages.

    A decoder is left out with a warning if its file fails, its class lacks what a lane needs, or
    its name is one of `names`.
    """
    decoders: dict[str, type[Decoder]] = {}
    files = filter(None, map(str.strip, os.environ.get(FILES, "").split(",")))
    sources: list[Callable[[], list[type]]] = [partial(classes_of, Path(file)) for file in files]
    sources += [partial(_installed, point) for point in entry_points(group=GROUP)]
    for source in sources:
        try:
            for kind in source():
                decoder = checked(kind, {*names, *decoders})
                decoders[decoder.name] = decoder
        except DecoderError as error:
            log.warning("A decoder is left out: %s", error)
    return list(decoders.values())


def classes_of(file: Path) -> list[type[Decoder]]:
    """Return the decoders that a Python file defines, in the file's order.

    Raises DecoderError where the file cannot be run or defines no decoder.
    """
    name = f"photo_finish_decoder_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise DecoderError(f"{file} is no Python file: its name ends with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks its module up
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError as error:
        raise DecoderError(f"there is no file {file}.") from error
    except SyntaxError as error:
        raise DecoderError(f"{file}, line {error.lineno}: {error.msg}.") from error
    except (Exception, SystemExit) as error:
        line = last_line(error, file)
        where = f"{file}, line {line}" if line else str(file)
        raise DecoderError(f"{where}: {type(error).__name__}: {error}.") from error
    own = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Decoder) and value.__module__ == name
    ]
    if not own:
        raise DecoderError(f"{file} defines no class of Decoder.")
    return own


def last_line(error: BaseException, file: Path) -> int | None:
    """Return the line number of an error's last frame in `file`; None if no frame is in it."""
    lines = [
        line for path, line, *_ in traceback.extract_tb(error.__traceback__) if path == str(file)
    ]
    return lines[-1] if lines else None


def _installed(point: EntryPoint) -> list[type]:
    try:
        return [point.load()]
    except Exception as error:
        raise DecoderError(f"{point.value}: {type(error).__name__}: {error}.") from error


def checked(decoder: type, names: Collection[str]) -> type[Decoder]:
    """Check that a class can be a lane, and return it unchanged.

    Raises DecoderError where the class lacks what a lane needs, or its name is one of `names`.
    """
    if not (inspect.isclass(decoder) and issubclass(decoder, Decoder)):
        raise DecoderError(f"{decoder!r} is no class of Decoder.")
    which = f"{_place(decoder)}: {decoder.__name__}"
    if decoder.__abstractmethods__:
        raise DecoderError(f"{which} lacks {' and '.join(sorted(decoder.__abstractmethods__))}.")
    for field in _TEXTS:
        if not isinstance(text := getattr(decoder, field, None), str) or not text.strip():
            raise DecoderError(f"{which} has no {field}, a text.")
    if not _NAME.fullmatch(decoder.name):
        raise DecoderError(
            f"{which} is called {decoder.name!r}: a name is at most 40 small letters, digits and"
            " hyphens, a letter first."
        )
    if decoder.name in names:
        raise DecoderError(f"{which} is called {decoder.name!r}, as another decoder is.")
    claims = [badge for badge in Badge if badge is not Badge.NOT_JUDGED]
    if getattr(decoder, "badge", None) not in claims:
        raise DecoderError(f"{which} has no badge, one of {', '.join(map(str, claims))}.")
    _check_settings(which, decoder.Settings)
    return decoder


def _place(decoder: type) -> str:
    try:
        return f"{inspect.getsourcefile(decoder)}, line {inspect.getsourcelines(decoder)[1]}"
    except (OSError, TypeError):  # a class that no source file has
        return decoder.__module__


def _check_settings(which: str, settings: type) -> None:
    if not (inspect.isclass(settings) and issubclass(settings, Settings)):
        raise DecoderError(f"{which} has Settings that are no class of engine.settings.Settings.")
    for field in dataclasses.fields(settings):
        spec = field.metadata.get("knob")
        if spec is None:
            raise DecoderError(
                f"{which}: the setting {field.name} has no range: make it knob(default, help, ..),"
                " with low and high or choices."
            )
        number = isinstance(field.default, int | float) and not isinstance(field.default, bool)
        if number and (spec.low is None or spec.high is None):
            raise DecoderError(f"{which}: the setting {field.name} has no range: low and high.")
    try:
        settings()
    except (SettingError, TypeError) as error:  # a value out of range, or none
        raise DecoderError(f"{which}: of its own defaults {error}.") from error


def stand_in(name: str) -> type[Decoder]:
    """Return a class with a name and a badge, for a decoder that this machine lacks.

    It lets the page show a trace that names the decoder. It cannot decode.
    """
    facts = {
        "name": name,
        "title": name,
        "idea": "This machine has no such decoder: its author's file is missing.",
        "paper": "",
        "badge": Badge.NOT_JUDGED,
    }
    return type("StandIn", (Decoder,), facts)
