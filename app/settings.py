"""The page's settings, each from the environment variable PHOTO_FINISH_<NAME>.

The settings are read and checked once, when the page starts.
"""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from engine.models.supply import hub
from engine.models.supply.card import CARDS, ModelError
from engine.models.supply.device import DTYPES, resolve_device

PREFIX = "PHOTO_FINISH_"
AUTO = "auto"
_HOST = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
ANY_PAGE = "*"
# What Kubernetes sets for each Service beside a pod, after the Service's name in capitals.
_SERVICE = re.compile(
    r"(?:\w+_)?(?:SERVICE_HOST=.*|SERVICE_PORT(?:_\w+)?=\d+|PORT=[a-z]+://.*"
    r"|PORT_\d+_(?:TCP|UDP|SCTP)(?:_PROTO|_PORT|_ADDR)?=.*)"
)

log = logging.getLogger(__name__)


def _check_opening(name: str) -> str:
    return name if name == AUTO else _check_model(name)


def _check_model(name: str) -> str:
    if name not in CARDS:
        raise ValueError(f"there is no model {name!r:.60}; there are {', '.join(CARDS)}")
    return name


def _check_drafter(name: str) -> str:
    try:
        CARDS[_check_model(name)].with_drafter()
    except ModelError as error:
        raise ValueError(str(error)) from error
    return name


def _split(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return tuple(name.strip() for name in value.split(",") if name.strip())


def _split_names(value: Any) -> Any:
    names = _split(value)
    return tuple(CARDS) if names == ("all",) else names


def _check_host(name: str) -> str:
    if not _HOST.fullmatch(name):
        raise ValueError(f"{name!r:.60} is no name without scheme and port: photo.example.org")
    return name.lower()


def _check_frame(site: str) -> str:
    """Return a site of the setting `frames` in lower case; raise ValueError if it is invalid.

    A site is `*`, or a host-source of Content Security Policy (level 3, section 2.3.1) for HTTP,
    without a path.
    """
    scheme, _, name = site.rpartition("://")
    name, _, port = name.removeprefix("*.").partition(":")
    named = scheme in ("", "http", "https") and _HOST.fullmatch(name) and re.fullmatch(r"\d*", port)
    if site != ANY_PAGE and not named:
        raise ValueError(f"{site!r:.60} is no site such as slides.example.org or localhost:8000")
    return site.lower()


def _check_device(name: str) -> str:
    try:
        resolve_device(name)
    except ModelError as error:
        raise ValueError(str(error)) from error
    return name


def _check_dtype(name: str) -> str:
    if name not in ("auto", *DTYPES):
        raise ValueError(f"it is auto, {', '.join(DTYPES)}")
    return name


def _read_folder(value: Any) -> Any:
    if value in (None, ""):
        return None
    folder = Path(value).expanduser()
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a folder")
    return folder


def _read_weights(value: Any) -> Any:
    folder = _read_folder(value)
    if folder is not None and not folder.exists():
        raise ValueError("there is no such folder")
    return folder


ModelName = Annotated[str, AfterValidator(_check_model)]
ModelNames = Annotated[tuple[ModelName, ...], NoDecode, BeforeValidator(_split_names)]
DraftedName = Annotated[str, AfterValidator(_check_drafter)]
DraftedNames = Annotated[tuple[DraftedName, ...], NoDecode, BeforeValidator(_split_names)]
HostName = Annotated[str, AfterValidator(_check_host)]
FrameNames = Annotated[
    tuple[Annotated[str, AfterValidator(_check_frame)], ...], NoDecode, BeforeValidator(_split)
]
HostNames = Annotated[tuple[HostName, ...], NoDecode, BeforeValidator(_split)]


class AppSettings(BaseSettings):
    """Every setting with its default and its description.

    A test compares the settings with docs/hosting.md.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    models: ModelNames = Field(
        tuple(card.name for card in CARDS.values() if not card.research_only),
        description="models that may race, by name, with commas between them; `all` is every one",
    )
    model: Annotated[str, AfterValidator(_check_opening)] = Field(
        AUTO,
        description="the model that is chosen when the page opens; `auto`: the larger Janus-Pro"
        " that fits a GPU here and that the hub has, else the embedded one",
    )
    drafters: DraftedNames = Field(
        (),
        description="models for which LANTERN drafts with its authors' EAGLE networks, for research"
        " only: `llamagen-256`, `llamagen-512`, `anole`, `lumina-768`, with commas between them",
    )
    # Read where decoders are listed, in engine/decoders/outside.py.
    decoders: str | None = Field(
        None,
        description="Python files with decoders of your own, with commas between them"
        " (decoders.md); they are run as they are, and a lane wears what the verdict beside its"
        " file says",
    )
    device: Annotated[str, AfterValidator(_check_device)] = Field(
        "auto",
        description="`auto`, `cpu` (public models too, at minutes a picture), `cuda`, or `cuda:0`"
        " and so on",
    )
    dtype: Annotated[str, AfterValidator(_check_dtype)] = Field(
        "auto",
        description="`auto`, `bfloat16`, `float16` or `float32`, for public models; `auto` is the"
        " fast one here",
    )
    graphs: bool = Field(
        True,
        description="`off`: kernels of a public model's steps are launched one by one, not as CUDA"
        " graphs; always so on ZeroGPU, and of a lane whose graphs fail a trial at loading",
    )
    torchscript: bool = Field(
        False,
        description="`on`: models may be loaded whose decoder of pictures is a TorchScript file,"
        " SimpleAR's; such a file runs code of its own, with the page's rights",
    )
    cache: Annotated[Path | None, BeforeValidator(_read_folder)] = Field(
        None,
        description="folder for downloaded weights; empty: the hub's own, `~/.cache/huggingface`",
    )
    weights: Annotated[Path | None, BeforeValidator(_read_weights)] = Field(
        None,
        description="folder of weights that are here already: the files of a repository in its"
        " folder `owner/name`, under the hub's names; what is not there is downloaded",
    )
    hosts: HostNames = Field(
        (),
        description="names under which a proxy serves the page, and sites whose pages may call it,"
        " with commas between them",
    )
    frames: FrameNames = Field(
        (),
        description="sites whose pages may show this one in a frame, with commas between them:"
        " `slides.example.org`, `*.example.org`, `localhost:8000`; `*`: any page, one from a disk"
        " too",
    )
    queue_size: int = Field(
        20, ge=1, le=200, description="races that may wait; further ones are rejected"
    )
    race_seconds: float = Field(
        180.0,
        gt=0,
        le=3600,
        description="seconds after which a race is stopped; a public model's on a CPU has as long"
        " as its passes need",
    )
    gpu_seconds: float = Field(
        60.0,
        ge=20,
        le=1200,
        description="the same on ZeroGPU, where it counts against a visitor's daily quota",
    )
    updates: float = Field(10.0, gt=0, le=30, description="of the board, a second, at most")
    kept_races: int = Field(
        32,
        ge=1,
        le=1000,
        description="visitors whose races are kept in memory, up to 256 MB of each",
    )
    make_seconds: float = Field(
        120.0,
        gt=0,
        le=3600,
        description="seconds that making a file to take away may take, without waiting for races",
    )
    share_seconds: float = Field(
        450.0,
        gt=0,
        le=900,
        description="seconds in each quarter of an hour for the films, seeds and sweeps of one"
        " address; none for visitors on the machine itself",
    )


def read(environment: Mapping[str, str] = os.environ) -> AppSettings:
    """Read the settings from environment variables.

    Only unknown names are looked for in `environment`; values come from `os.environ`. Raises
    SystemExit, with a line for each variable that is unknown or has an invalid value.
    Variables that Kubernetes sets for a Service called photo-finish look like settings, and are
    ignored.
    """
    known = [field.upper() for field in AppSettings.model_fields]
    errors, services = [], []
    for name in sorted(environment):
        setting = name.upper().removeprefix(PREFIX)
        if not name.startswith(PREFIX) or setting in known:
            continue
        if _SERVICE.fullmatch(f"{setting}={environment[name]}"):
            services.append(name)
        else:
            close = difflib.get_close_matches(setting, known, 1)
            suggestion = f"; did you mean {PREFIX}{close[0]}?" if close else "."
            errors.append(f"{name} is not a setting{suggestion}")
    if services:
        log.warning(
            "passed over, since Kubernetes sets such names for a Service called photo-finish:"
            " %s. `enableServiceLinks: false` in the pod leaves them out.",
            ", ".join(services),
        )
    try:
        settings = AppSettings()
    except ValidationError as error:
        errors += [
            f"{PREFIX}{str(each['loc'][0]).upper()}={each['input']!r:.80}:"
            f" {each['msg'].removeprefix('Value error, ').rstrip('.')}."
            for each in error.errors()
        ]
    if errors:
        raise SystemExit(
            "Photo Finish cannot start with these settings (docs/hosting.md has the list):\n  "
            + "\n  ".join(errors)
        )
    return settings


SETTINGS = read()
hub.set_folders(SETTINGS.cache, SETTINGS.weights)
