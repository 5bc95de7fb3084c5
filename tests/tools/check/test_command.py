"""The command `photo-finish check`, on a tiny Janus-Pro in a folder of weights."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.decoders import WHOLE
from engine.models.supply.card import CARDS
from photo_finish import __main__ as cli
from tests.tools.conftest import NAME, folder_of
from tools.check import command, lanes, races, speed
from tools.check.finding import Finding, Grade, Subject, fault

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return folder_of(monkeypatch, tmp_path)


def check(monkeypatch: pytest.MonkeyPatch, folder: Path, out: Path) -> int:
    options = ["--model", NAME, "--device", "cpu", "--dtype", "float32", "--threads", "1"]
    where = ["--weights", str(folder), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["photo-finish", "check", *options, *where])
    try:
        cli.main()
    except SystemExit as ended:
        return ended.code
    return 0


def test_a_check_ends_with_a_report_and_a_line_of_json(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    for module in (lanes, races, speed):
        monkeypatch.setattr(module, "TOKENS", 4)
    monkeypatch.setattr(speed, "WIDTHS", (1, 3))
    monkeypatch.setattr(speed, "PASSES", 2)
    out = tmp_path / "report.md"
    assert check(monkeypatch, folder, out) == 0
    printed = capsys.readouterr().out.splitlines()
    found = json.loads(printed[-1])["findings"]
    assert {each["outcome"] for each in found} == {"good", "left out"}
    # Both models' lanes and logits, and of everything else a word.
    assert sum("static shapes" in each["words"] for each in found) == 2 * len(WHOLE)
    assert [each["name"] for each in found if each["name"].startswith("logits")] == [
        "logits of a small model",
        f"logits of {CARDS[NAME].title}",
    ]
    names = {each["name"] for each in found}
    assert names >= {"a race", "memory", "a pass of 3 rows", "a step of SJD", "pictures"}
    assert "No fault was found." in printed
    assert printed[-1] in out.read_text("utf-8")


def test_a_fault_ends_it_with_1(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    def wrong(subject: Subject) -> Iterator[Finding]:
        yield fault("a race", "It failed.", "set something.")

    monkeypatch.setattr(command, "CHECKS", {"races": wrong})
    monkeypatch.setattr(command, "SMALL", ())
    assert check(monkeypatch, folder, tmp_path / "report.md") == 1
    printed = capsys.readouterr().out
    assert "fault  a race: It failed. What to do: set something." in printed
    (found,) = json.loads(printed.splitlines()[-1])["findings"]
    assert found["outcome"] == Grade.FAULT.value


def test_a_model_that_is_not_there_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    assert check(monkeypatch, tmp_path / "nowhere", tmp_path / "report.md") == 2
    assert "There is no folder" in capsys.readouterr().err
