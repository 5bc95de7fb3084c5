"""Model cards: everything known of a model before it is loaded.

The cards are in cards.toml, in the order in which the page lists the models.

A family's class is `Model(card, folders, device, dtype)`, called by `engine.models.load`:

    folders: dict[str, Path] | None    maps each part to the folder of its files. Parts are named
                                       in `ModelCard.repos`: "model" for Janus and Emu3; "gpt",
                                       "vq", "text" for LlamaGen with captions; "gpt", "vq" for
                                       LlamaGen with classes and for RandAR; "model", "vq",
                                       "text" for the Chameleon family; "model", "vq" for
                                       SimpleAR. `card.source_of(part).files` has the names or
                                       patterns of a part's files: LlamaGen reads
                                       folders["gpt"] / card.source_of("gpt").files[0].
                                       If `folders` is None, the weights are random at the
                                       card's true size; no file is read or downloaded.
    device, dtype                      torch.device and torch.dtype of the body; memory has been
                                       checked.

The class raises ModelError for a file that is missing or does not fit the card. For a card whose
sizes differ from cards.toml (`dataclasses.replace`), the class takes the sizes from the files' own
configuration, and name, grid and sampling from the card.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from engine.failures import Failure
from engine.infilling import Fills
from engine.reader.classes import read_class
from engine.settings import Sampling

REVISIONS = Path(__file__).with_name("revisions.json")
WEIGHTS = Path(__file__).parents[3] / "weights"  # of the embedded model
TORCHSCRIPT = ".jit"  # suffix of TorchScript files; loading one runs the code in it
GIB = 2**30


class ModelError(Exception):
    """A model cannot be loaded or used; the message is for the user and says what to do."""

    def __init__(self, message: str, failure: Failure = Failure.MISSING_MODEL) -> None:
        super().__init__(message)
        self.failure = failure


def not_numbers(network: str, position: int) -> ModelError:
    """Return the error of a network, "model" or "drafter", whose probabilities are NaN."""
    return ModelError(
        f"The {network}'s probabilities at position {position} are not numbers: in float16"
        " something in it overflows (load it in bfloat16 or float32), in those a file of its"
        " weights is damaged.",
        Failure.OVERFLOW,
    )


class Prompts(Enum):
    """The kind of thing that a model draws from a prompt."""

    ANY = "any text"
    SCENES = "things on a ground"
    CLASSES = "one of ImageNet's classes"


@dataclass(frozen=True, slots=True)
class RepoFiles:
    """The files of one part of a model, all from one public repository.

    Attributes:
        files: patterns of the files to download.
        revision: a commit hash, or "main" until `python -m engine.models.supply.pin_revisions` has
            pinned the repository.
        digests: pairs of a file name and the hub's digest, as `weights.differing` takes them.
    """

    part: str
    repo: str
    revision: str
    files: tuple[str, ...]
    digests: tuple[tuple[str, str], ...] = ()

    def takes(self, name: str) -> bool:
        """Return whether a model downloads this file of the repository."""
        return any(fnmatchcase(name, pattern) for pattern in self.files)  # as the hub's client does

    def commit(self, folder: Path) -> str:
        """Return the commit of the files in a folder.

        A folder of the hub's cache is named by its commit. For any other folder this returns the
        revision.
        """
        return folder.name if re.fullmatch("[0-9a-f]{40}", folder.name) else self.revision


@dataclass(frozen=True, slots=True)
class DrafterCard:
    """An EAGLE drafter of LANTERN's authors, for research only."""

    source: RepoFiles
    parameters: int


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Everything known of a model before it is loaded.

    Attributes:
        length: sequence positions of one image, forced ones included.
        layers: number of parameters in all of the transformer's layers together.
        depth: how many layers the transformer has.
        kv_values: elements that the KV cache has for one position in one guidance row.
        working: bytes for activations and the image decoder.
        download: bytes of the model's files on the hub, to a tenth of a gigabyte.
        drafter: the model's drafter, which is loaded on request only.
        fills_in: the kind of infilling that the model can do (`Fills`).
        inputs: how many inputs the body reads for each row of a window: 1, the row's token. RandAR
            reads 2, the token and an instruction that asks for a cell.
        raced: who raced the model with its true weights; empty if nobody is known. The makers of
            this repository can reach no hub, so they raced only the embedded model.
    """

    name: str
    title: str
    family: str
    repos: tuple[RepoFiles, ...]
    grid: tuple[int, int]
    codes: int
    length: int
    parameters: int
    layers: int
    depth: int
    kv_values: int
    working: int
    sampling: Sampling
    source: str
    licence: str
    licence_url: str
    download: int = 0
    research_only: bool = False
    drafter: DrafterCard | None = None
    fills_in: Fills = Fills.BELOW
    prompts: Prompts = Prompts.ANY
    inputs: int = 1
    raced: str = ""

    def check_prompt(self, text: str) -> None:
        """Raise SettingError if the model draws classes and the prompt names none of them.

        The model need not be loaded.
        """
        if self.prompts is Prompts.CLASSES:
            read_class(text)

    def with_drafter(self) -> ModelCard:
        """Return the card with the drafter added as the part "drafter".

        Raises ModelError if no drafter was published.
        """
        if self.drafter is None:
            others = ", ".join(card.name for card in CARDS.values() if card.drafter)
            raise ModelError(
                f"LANTERN's authors published no drafter for {self.title}, but for {others}."
            )
        return dataclasses.replace(
            self,
            repos=(*self.repos, self.drafter.source),
            parameters=self.parameters + self.drafter.parameters,
        )

    def check_code(self, allowed: bool) -> None:
        """Raise ModelError if a file is TorchScript and the host has not allowed TorchScript.

        Loading such a file runs the code in it.
        """
        for source in () if allowed else self.repos:
            for file in source.files:
                if file.endswith(TORCHSCRIPT):
                    raise ModelError(
                        f"{self.title} draws its pictures with {file} of {source.repo}, a"
                        " TorchScript file, which runs code of its own: to allow it, start the page"
                        " with PHOTO_FINISH_TORCHSCRIPT=on, or a command with --torchscript."
                    )

    def source_of(self, part: str) -> RepoFiles:
        """Return the source of one part. Raises KeyError if the model has no such part."""
        return {source.part: source for source in self.repos}[part]


# Maps each repository to {"commit": hash, "files": {name: digest}}, or to None if not pinned.
_PINNED: dict[str, dict[str, Any] | None] = json.loads(REVISIONS.read_text("utf-8"))
# A drafter's repository holds everything that the trainer saved; these files are enough.
_DRAFTER_FILES = ("config.json", "pytorch_model*.bin", "model*.safetensors*")


def read_cards(file: Path) -> dict[str, ModelCard]:
    """Return the cards of a file like cards.toml, keyed by the models' names.

    Raises KeyError or TypeError if a card lacks a field or has an unknown field.
    """
    read = tomllib.loads(file.read_text("utf-8"))
    models = [read["families"].get(own["family"], {}) | own for own in read["models"]]
    return {model["name"]: _card(**model) for model in models}


def _card(
    *,
    repos: list[dict[str, Any]],
    grid: list[int],
    sampling: dict[str, Any],
    working_mib: int,
    download_mb: int = 0,
    drafter: dict[str, Any] | None = None,
    fills_in: str = "below",
    prompts: str = "any",
    **plain: Any,
) -> ModelCard:
    return ModelCard(
        repos=tuple(_source(**repo) for repo in repos),
        grid=(grid[0], grid[1]),
        sampling=Sampling(**sampling),
        working=working_mib * 2**20,
        download=download_mb * 10**6,
        drafter=_drafter(**drafter) if drafter else None,
        fills_in=Fills[fills_in.upper()],
        prompts=Prompts[prompts.upper()],
        **plain,
    )


def _drafter(repo: str, parameters: int) -> DrafterCard:
    return DrafterCard(_source("drafter", repo, _DRAFTER_FILES), parameters)


def _source(part: str, repo: str, files: Iterable[str]) -> RepoFiles:
    pinned = _PINNED[repo]
    if pinned is None:
        return RepoFiles(part, repo, "main", tuple(files))
    source = RepoFiles(part, repo, pinned["commit"], tuple(files))
    digests = ((name, digest) for name, digest in pinned["files"].items() if source.takes(name))
    return dataclasses.replace(source, digests=tuple(digests))


CARDS = read_cards(Path(__file__).with_name("cards.toml"))
if not (WEIGHTS / "infill" / "config.json").exists():
    CARDS["embedded"] = dataclasses.replace(CARDS["embedded"], fills_in=Fills.BELOW)
