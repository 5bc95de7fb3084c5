"""The command `photo-finish judge`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import decoders
from engine.decoders.outside import classes_of
from engine.decoders.verdict import Outcome, VerdictFile, verdict_on, verdict_path
from photo_finish import __main__ as cli
from tests.unread import unread
from tools.judge import cases, command, larger
from tools.judge import judge as module

pytestmark = pytest.mark.exact

EXAMPLES = Path(decoders.__file__).parents[2] / "examples" / "decoders"
Capture = pytest.CaptureFixture[str]
Judge = Callable[..., int]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """The command with two models and few runs; its exit status."""
    monkeypatch.setattr(module, "standard_toys", lambda: cases.standard_toys()[:2])
    monkeypatch.setattr(cases, "RUNS_SMALL", 1)
    monkeypatch.setattr(cases, "RUNS_LARGER", 0)
    monkeypatch.setattr(larger, "SAMPLED", larger.SAMPLED[:1])
    monkeypatch.setattr(larger, "PICTURES", 50)
    monkeypatch.setattr(cases, "RUNS_A_CASE", 300)
    monkeypatch.setattr(module, "_tokens_a_pass", lambda kind, settings: {kind.title: 1.5})
    every = module.settings_to_judge
    monkeypatch.setattr(module, "settings_to_judge", lambda kind: every(kind)[:1])

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["photo-finish", "judge", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code

    return call


def copy(folder: Path, name: str, more: str = "") -> Path:
    file = folder / f"{name}.py"
    file.write_text((EXAMPLES / file.name).read_text("utf-8") + more, "utf-8")
    return file


def test_a_kept_promise_ends_with_status_0(judge: Judge, tmp_path: Path, capsys: Capture) -> None:
    file = copy(tmp_path, "my_rule")
    assert judge(str(file)) == 0
    captured = capsys.readouterr()
    assert "my-rule" in captured.out
    assert "lossless" in captured.out
    assert str(verdict_path(file)) in captured.err
    (rule,) = classes_of(file)
    assert verdict_on(rule).outcome is Outcome.LOSSLESS
    assert sorted(path.suffix for path in tmp_path.iterdir() if path.is_file()) == [".json", ".py"]


def test_an_interrupt_ends_it_with_what_was_known(
    judge: Judge, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(line: str) -> None:
        if line.startswith("sampled pictures"):
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "_progress", interrupt)
    file = copy(tmp_path, "my_rule")
    assert judge(str(file)) == 130
    captured = capsys.readouterr()
    assert "my-rule) is open" in captured.out
    assert "It was stopped" in captured.out
    assert not verdict_path(file).exists()


def test_a_verdict_that_nobody_reads_is_written(judge: Judge, tmp_path: Path) -> None:
    file = copy(tmp_path, "my_rule")
    with unread():
        assert judge(str(file)) == 0
    (rule,) = classes_of(file)
    assert verdict_on(rule).outcome is Outcome.LOSSLESS


def test_a_broken_promise_ends_with_status_1(judge: Judge, tmp_path: Path, capsys: Capture) -> None:
    file = copy(tmp_path, "wrong_rule")
    assert judge(str(file), "--json") == 1
    captured = capsys.readouterr()
    (printed,) = VerdictFile.model_validate(json.loads(captured.out)).verdicts
    assert (printed.decoder, printed.outcome) == ("wrong-rule", Outcome.CHANGED)
    assert printed.claim == "same distribution"
    assert printed.counterexample is not None
    (rule,) = classes_of(file)
    assert verdict_on(rule) == printed


def test_a_promise_of_less_is_kept(judge: Judge, tmp_path: Path) -> None:
    file = copy(tmp_path, "wrong_rule")
    text = file.read_text("utf-8").replace("Badge.SAME_", "Badge.CHANGED_")
    text += "\n    def committed(self, p, q, i):\n        return p.double()\n"
    file.write_text(text, "utf-8")
    assert judge(str(file)) == 0


def test_each_decoder_of_a_file_is_judged(judge: Judge, tmp_path: Path, capsys: Capture) -> None:
    text = '\n\nclass Other(WrongRule):\n    name, title = "other", "Other"\n'
    text += "\n    def verify(self, state, window, p):\n"
    text += "        return speculate(state, window, p, chain_acceptance(window, p))\n"
    file = copy(tmp_path, "wrong_rule", text)
    assert judge(str(file)) == 1  # one of them does not keep its promise
    found = [verdict_on(kind).outcome for kind in classes_of(file)]
    assert found == [Outcome.CHANGED, Outcome.LOSSLESS]
    file.write_text(
        file.read_text("utf-8").replace('"other", "Other"', '"wrong-rule", "Other"'), "utf-8"
    )
    assert judge(str(file)) == 2
    assert "is called 'wrong-rule', as another decoder is" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("which", "text", "words"),
    [
        ("none.py", None, "there is no file"),
        ("rule.py", "def verify(:\n", "rule.py, line 1: invalid syntax"),
        ("rule.py", "x = 1\n", "defines no class of Decoder"),
        ("rule.py", "1 / 0\n", "line 1: ZeroDivisionError"),
        ("jet", None, "there is no decoder 'jet'"),
        ("rule.txt", "", "give a file that ends with .py"),
    ],
)
def test_what_cannot_be_judged_ends_with_a_sentence(
    judge: Judge, tmp_path: Path, capsys: Capture, which: str, text: str | None, words: str
) -> None:
    file = tmp_path / which
    if text is not None:
        file.write_text(text, "utf-8")
    assert judge(which if which == "jet" else str(file)) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert not captured.out
    assert not list(tmp_path.glob("*.json"))


def test_a_built_in_name_is_taken(judge: Judge, tmp_path: Path, capsys: Capture) -> None:
    file = copy(tmp_path, "my_rule")
    file.write_text(file.read_text("utf-8").replace('"my-rule"', '"sjd"'), "utf-8")
    assert judge(str(file)) == 2
    assert "as another decoder is" in capsys.readouterr().err


def test_of_a_built_in_decoder_nothing_is_written(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(command, "write_verdicts", lambda *args: pytest.fail("it writes"))
    assert judge("sjd") == 0
    captured = capsys.readouterr()
    assert "SJD" in captured.out
    assert "written" not in captured.err
