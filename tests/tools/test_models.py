"""The command `photo-finish models`, on a tiny Janus-Pro in a folder of weights."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants
from safetensors.torch import load_file, save_file

from engine.models.families import published
from engine.models.supply import device, hub
from engine.models.supply.card import CARDS, GIB
from photo_finish import __main__ as cli
from tests.engine.models.families import JANUS
from tests.engine.models.families.janus import UP
from tools import models as command

NAME = JANUS.card.name
(SOURCE,) = JANUS.card.repos
Capture = pytest.CaptureFixture[str]
Models = Callable[..., int]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Models:
    """The command, on a machine that may ask no hub, whose cache is empty; its exit status."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub, "folder_of_weights", None)
    monkeypatch.setattr(command, "lane_seconds", lambda card, dtype, lane: 61.0)

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["photo-finish", "models", *arguments])
        try:
            cli.main()
        except SystemExit as ended:
            return ended.code
        return 0

    return call


def spoil(folder: Path) -> str:
    """Turns the sign of a matrix in one of the files; the file's name."""
    for file in (folder / SOURCE.repo).glob("*.safetensors"):
        if UP in (state := load_file(file)):
            save_file(state | {UP: -state[UP]}, file, {"format": "pt"})
            return file.name
    raise AssertionError(f"no file has {UP}")


def test_each_model_has_a_row(
    models: Models, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(command, "available", lambda where: 9 * GIB)
    monkeypatch.setattr(device, "available", lambda where: 9 * GIB)
    assert models("--weights", str(folder), "--device", "cpu", "--dtype", "bfloat16") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    starts = [head.index(name) for name in command._HEAD]
    rows = {
        line.split()[0]: [
            line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)
        ]
        for line in lines[: len(CARDS)]
    }
    assert list(rows) == list(CARDS)
    assert [row[-1] for row in rows.values()] == [card.licence for card in CARDS.values()]
    memory = device.required_bytes(CARDS[NAME], device.DTYPES["bfloat16"])
    seconds = ["61 s", "61 s"]
    assert rows[NAME][:-1] == [
        *(NAME, JANUS.card.title, "4.2 GB", f"{memory / GIB:.1f} GiB", "yes"),
        *(*seconds, "here", "yes", "never"),
    ]
    own = ["embedded", "Embedded model", "none", "0.3 GiB", "yes", *seconds, "here", "yes"]
    assert rows["embedded"][:-1] == [*own, "by us"]
    assert rows["emu3"][4:-1] == ["no", *seconds, "missing", "no", "never"]
    assert rows["lumina-768"][8] == "1 of 3"
    said = " ".join(lines[len(CARDS) :])
    assert "in bfloat16; 9.0 GiB are free" in said
    assert f"Files are looked for in {folder}, then in {constants.HF_HUB_CACHE}." in said
    assert "Never: not by the makers of this repository, who can reach no hub" in said


def test_what_a_gpu_takes_is_not_measured(
    models: Models, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")  # where nothing asks the GPU itself
    assert models() == 0
    out = capsys.readouterr().out
    assert out.count("not measured") == 2 * len(CARDS)
    assert "61 s" not in out


def test_a_duration_has_one_unit() -> None:
    assert list(map(command._duration, (0.2, 99, 100, 5999, 6000))) == [
        *("1 s", "99 s", "2 min", "100 min", "2 h")
    ]


def test_a_model_is_fetched_into_the_pages_cache_with_a_bar(
    models: Models, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "model.safetensors").touch()

    def download(repo: str, **options: Any) -> str:
        if options.get("local_files_only"):
            raise FileNotFoundError
        bar = options["tqdm_class"](total=4_000_000_000, unit="B")
        bar.update(1_000_000_000)
        return str(tmp_path)

    monkeypatch.setattr(hub, "snapshot_download", download)
    monkeypatch.setenv("PHOTO_FINISH_CACHE", str(tmp_path / "downloads"))
    assert models("--fetch", NAME) == 0
    printed = capsys.readouterr()
    assert f"Downloading {JANUS.card.title}, 25% (1.0 of 4.0 GB) |" in printed.err
    assert printed.out.splitlines()[-1].startswith(SOURCE.repo)
    assert printed.out.endswith(f": {tmp_path}\n")
    assert str(tmp_path / "downloads") == constants.HF_HUB_CACHE


def test_there_is_nothing_to_fetch_of_the_embedded_model(models: Models, capsys: Capture) -> None:
    assert models("--fetch", "embedded") == 0
    assert "comes with the page" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["--fetch", "--check"])
def test_files_that_cannot_be_had_end_with_a_sentence(
    models: Models, capsys: Capture, what: str
) -> None:
    assert models(what, NAME) == 2
    said = capsys.readouterr().err
    assert f"{SOURCE.repo} is not on this machine, or not all of it: the hub's cache lacks" in said
    assert ("HF_HUB_OFFLINE" if what == "--fetch" else f"--fetch {NAME}` downloads it.") in said


def test_a_folder_of_weights_that_is_not_there_is_named(models: Models, capsys: Capture) -> None:
    assert models("--weights", "/no/such/folder") == 2
    assert "There is no folder /no/such/folder of weights." in capsys.readouterr().err


def test_the_authors_weights_give_the_authors_numbers(
    models: Models, folder: Path, capsys: Capture
) -> None:
    """In float32, where the best two codes of each token are far enough apart on any machine."""
    ids = list(JANUS.published.tokens)
    assert models("--check", NAME, "--weights", str(folder), "--device", "cpu") == 0
    *lines, last = capsys.readouterr().out.splitlines()
    count = len(CARDS[NAME].repos[0].digests)
    assert lines[0].endswith(f"pinned, {count} digests: none differs")
    assert f"greedy decoding gives the first {len(ids)} of them here" in lines
    assert last == "The weights at hand give the authors' numbers."


def test_a_spoilt_weight_is_found_by_its_digest_and_by_its_numbers(
    models: Models, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    name = spoil(folder)
    assert models("--check", NAME, "--weights", str(folder)) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith(f"{name} differs")
    assert last.startswith(f"What differs: {name} of {SOURCE.repo}; the numbers: with the authors'")
    monkeypatch.setitem(CARDS, NAME, JANUS.card)
    assert models("--check", NAME, "--weights", str(folder)) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith("not pinned: nothing to compare with")
    assert last.startswith("What differs: the numbers: ")


def test_where_nothing_was_published_the_files_are_compared_and_loaded(
    models: Models, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delitem(published.PUBLISHED, NAME)
    assert models("--check", NAME, "--weights", str(folder)) == 0
    *_, loaded, last = capsys.readouterr().out.splitlines()
    assert loaded.startswith("loaded")
    assert last == "They load, and nothing was published to compare their numbers with."
