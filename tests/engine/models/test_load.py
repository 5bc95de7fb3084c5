"""load: the way to every model, with families and machines made up where the real ones are
large."""

from __future__ import annotations

import shutil
import sys
import types
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from huggingface_hub import constants
from huggingface_hub.file_download import repo_folder_name

from engine import models
from engine.failures import Failure
from engine.models import load
from engine.models.base import ImageModel
from engine.models.embedded.model import EmbeddedModel
from engine.models.preview import PreviewDecoder
from engine.models.supply import device, hub
from engine.models.supply.card import CARDS, GIB, ModelCard, ModelError, RepoFiles
from engine.models.supply.progress import Phase, Progress
from engine.race import Lane
from engine.trace import LaneState
from engine.trace.file import MAX_NAME
from tests.engine.models.families import JANUS
from tests.races import race_of

Folders = dict[str, Path] | None


class Family:
    """Stands for a family's class: keeps what it was made of."""

    made: list[Family] = []
    weights, preview = ImageModel.weights, ImageModel.preview

    def __init__(
        self, card: ModelCard, folders: Folders, where: torch.device, number: torch.dtype
    ) -> None:
        self.card, self.folders, self.device, self.number = card, folders, where, number
        self.made.append(self)


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> type[Family]:
    """In the place of every family, on a machine with room for all."""
    for name, kind in models.FAMILIES.items():
        module = types.ModuleType(name)
        setattr(module, kind, Family)
        monkeypatch.setitem(sys.modules, f"engine.models.families.{name}", module)
    monkeypatch.setattr(Family, "made", [])
    monkeypatch.setattr(device, "main_memory", lambda: 500 * GIB)
    return Family


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[RepoFiles]:
    """What is fetched; each source lies in a folder of its part's name."""
    calls: list[RepoFiles] = []

    def fetch(source: RepoFiles, progress: Any) -> Path:
        calls.append(source)
        progress(Progress(Phase.DOWNLOADING, 0.5, 1, 2))
        return tmp_path / source.part

    monkeypatch.setattr(hub, "fetch", fetch)
    return calls


def test_an_unknown_name_is_rejected_with_the_known_ones() -> None:
    words = r"no model called 'other'; there is embedded, llamagen-b-256, .*lumina-768"
    with pytest.raises(ValueError, match=words):
        load("other")


def test_the_embedded_model_needs_no_hub(fetched: list[RepoFiles]) -> None:
    model = load("embedded", "cpu", "float32")
    assert isinstance(model, EmbeddedModel)
    assert fetched == []
    for options in ({"random": True}, {"dtype": "bfloat16"}, {"folder": Path()}):
        with pytest.raises(ModelError, match="comes with its own weights"):
            load(**options)


@pytest.mark.parametrize("name", [name for name in CARDS if name != "embedded"])
def test_a_public_models_parts_are_fetched_and_handed_over(
    family: type[Family], fetched: list[RepoFiles], tmp_path: Path, name: str
) -> None:
    card, reports = CARDS[name], list[Progress]()
    model = load(name, "cpu", "bfloat16", progress=reports.append, torchscript=True)
    assert fetched == list(card.repos)
    assert model.folders == {source.part: tmp_path / source.part for source in card.repos}
    made = (model.card, model.device, model.number)
    assert made == (card, torch.device("cpu"), torch.bfloat16)
    assert model.slow_pixels, "on a CPU"
    assert model.weights.count("@") == len(card.repos)
    assert f"{card.repos[0].repo}@" in model.weights
    assert len(model.weights) <= MAX_NAME
    fractions = [progress.fraction for progress in reports]
    assert fractions == sorted(fractions)
    assert reports[0] == Progress(Phase.DOWNLOADING, 0.8 * 0.5 / len(card.repos), 1, 2)
    assert reports[-1] == Progress(Phase.LOADING, 1.0)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_a_preview_decoder_is_fitted_where_there_is_a_folder_for_it(
    family: type[Family],
    fetched: list[RepoFiles],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    network = PreviewDecoder(3, 2)
    monkeypatch.setattr(models, "resolve_device", lambda name: torch.device(where))
    monkeypatch.setattr(models, "check", lambda *_: None)
    monkeypatch.setattr(models, "prepared", lambda model, *_: model)
    monkeypatch.setattr("engine.models.distil.fitted", lambda *_: network)
    model = load("janus-pro-1b", where, "bfloat16", previews=tmp_path)
    assert model.preview == network.pictures
    assert load("janus-pro-1b", where, "bfloat16").preview is None


def test_a_folder_takes_the_hubs_place(
    family: type[Family], fetched: list[RepoFiles], tmp_path: Path
) -> None:
    model = load("janus-pro-1b", folder=tmp_path)
    assert model.folders == {"model": tmp_path}
    assert not model.weights, "nobody knows whose"
    with pytest.raises(ModelError, match=r"no folder .*gpt to read LlamaGen XL 256 px from"):
        load("llamagen-256", folder=tmp_path)
    parts = {part: tmp_path / part for part in ("gpt", "vq", "text")}
    for folder in parts.values():
        folder.mkdir()
    assert load("llamagen-256", folder=tmp_path).folders == parts
    elsewhere = {"gpt": tmp_path, "vq": tmp_path, "text": tmp_path}
    assert load("llamagen-256", folder=elsewhere).folders == elsewhere
    assert fetched == []


def test_random_weights_ask_for_nothing(family: type[Family], fetched: list[RepoFiles]) -> None:
    model = load("emu3", random=True)
    assert model.folders is None
    assert model.weights == "random"
    assert model.number is device.resolve_dtype(torch.device("cpu"))
    assert fetched == []


def test_torchscript_is_not_loaded_unless_it_is_allowed(
    family: type[Family], fetched: list[RepoFiles]
) -> None:
    with pytest.raises(ModelError, match="a TorchScript file, which runs code of its own"):
        load("simplear-512")
    assert (family.made, fetched) == ([], [])
    assert load("simplear-512", random=True).folders is None, "which reads no file"


def test_a_drafter_comes_on_request(
    family: type[Family], fetched: list[RepoFiles], tmp_path: Path
) -> None:
    assert "drafter" not in load("anole").folders
    fetched.clear()
    model, card = load("anole", drafter=True), CARDS["anole"]
    assert fetched == list(model.card.repos) == [*card.repos, card.drafter.source]
    assert model.folders["drafter"] == tmp_path / "drafter"
    for part in ("gpt", "vq", "text", "drafter"):
        assert not (tmp_path / part).exists()
        with pytest.raises(ModelError, match=f"no folder .*{part} to read LlamaGen XL 512 px"):
            load("llamagen-512", folder=tmp_path, drafter=True)
        (tmp_path / part).mkdir()
    assert load("llamagen-512", folder=tmp_path, drafter=True).folders["drafter"].is_dir()


@pytest.mark.parametrize(
    ("name", "random", "words"),
    [
        ("emu3", False, "published no drafter for Emu3-Gen, but for llamagen-256"),
        ("embedded", False, "published no drafter for Embedded model"),
        ("anole", True, "Random weights have no drafter"),
    ],
)
def test_a_drafter_that_there_is_not_is_rejected(
    family: type[Family], fetched: list[RepoFiles], name: str, random: bool, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        load(name, random=random, drafter=True)
    assert (family.made, fetched) == ([], [])


def test_what_does_not_fit_is_rejected_before_anything_is_fetched_or_read(
    monkeypatch: pytest.MonkeyPatch, family: type[Family], fetched: list[RepoFiles]
) -> None:
    monkeypatch.setattr(device, "main_memory", lambda: 4 * GIB)
    for random in (True, False):
        with pytest.raises(ModelError, match="Janus-Pro 7B needs"):
            load("janus-pro-7b", random=random)
    assert (family.made, fetched) == ([], [])


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError()])
def test_out_of_memory_while_loading_is_a_model_error(
    monkeypatch: pytest.MonkeyPatch, family: type[Family], error: Exception
) -> None:
    monkeypatch.setattr(family, "__init__", Mock(side_effect=error))
    words = "Janus-Pro 1B ran out of memory on cpu: free some, or choose a smaller model"
    with pytest.raises(ModelError, match=words) as caught:
        load("janus-pro-1b", random=True)
    assert caught.value.failure is Failure.OUT_OF_MEMORY


def test_a_failed_download_is_explained_by_the_hub(
    monkeypatch: pytest.MonkeyPatch, family: type[Family]
) -> None:
    monkeypatch.setattr(hub, "fetch", Mock(side_effect=ModelError("it is gated")))
    with pytest.raises(ModelError, match="it is gated"):
        load("emu3")
    assert family.made == []


def test_a_model_comes_out_of_the_hubs_cache_without_a_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The whole way, nothing made up but the model's size: the cache's layout, the family's files,
    a race of two lanes."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setitem(CARDS, JANUS.card.name, JANUS.card)
    (source,) = JANUS.card.repos
    revision = "0" * 40 if source.revision == "main" else source.revision
    repository = tmp_path / repo_folder_name(repo_id=source.repo, repo_type="model")
    snapshot = repository / "snapshots" / revision
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(revision)
    shutil.copytree(JANUS.folders["model"], snapshot)
    model = load(JANUS.card.name)
    frames = list(race_of(model, [Lane("ar"), Lane("sjd")], "a cat", 7))
    assert [frame.state for frame in frames].count(LaneState.FINISHED) == 2
    for file in snapshot.glob("*.safetensors*"):
        file.unlink()
    with pytest.raises(ModelError, match="no file of weights here, or only half of one: delete"):
        load(JANUS.card.name)
