"""Decoders from outside: what a file has to have, and that they race as the repository's own do."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from engine.decoders import DECODERS
from engine.decoders import outside as module
from engine.decoders.outside import DecoderError, checked, classes_of, load_outside
from engine.decoders.window import WindowDecoder
from visualize.board.board import replay
from visualize.pictures.recorded_race import RecordedRace

EXAMPLE = Path(__file__).parents[3] / "examples" / "decoders" / "my_rule.py"
RULE = """
from dataclasses import MISSING, dataclass

from engine.decoders.base import Badge
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings
from engine.decoders.speculate import chain_acceptance, speculate
from engine.settings import knob


@dataclass(frozen=True, slots=True)
class MySettings(SpeculativeSettings):
    strict: float = knob(1.0, "How strict the test is.", low=0.1, high=1.0)


class MyRule(JacobiWindowDecoder):
    name, title = "my-rule", "My rule"
    idea, paper = "SJD's test, as strict as one likes.", "nowhere yet"
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = MySettings

    def verify(self, state, window, p):
        acceptance = chain_acceptance(window, p) / self.settings.strict
        return speculate(state, window, p, acceptance.clamp_max(1))

    def committed(self, p, q, i):
        return p.double()
"""


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path, old: str = "", new: str = "") -> Path:
    """The file of the rule, with a change in it."""
    assert old in RULE
    file = folder / "my_rule.py"
    file.write_text(RULE.replace(old, new, 1) if old else RULE)
    return file


def test_a_file_s_own_decoders_are_found_and_none_that_it_imports(rule: Path) -> None:
    (found,) = classes_of(rule)
    assert checked(found, ()) is found
    assert found.name == "my-rule"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("def verify(self", "def verify(self,,", r"my_rule\.py, line 2\d: "),
        ("badge = Badge.CHANGED", "badge = Badge.CHANGE", r"my_rule\.py, line \d+: AttributeError"),
        ("class MyRule(JacobiWindowDecoder)", "class MyRule", "defines no class of Decoder"),
        (
            "from engine.settings import knob",
            "import nothing_of_this_name",
            r"line 7: ModuleNotFound",
        ),
        ("from engine.settings import knob", "raise SystemExit(1)", "line 7: SystemExit"),
    ],
)
def test_a_file_that_fails_says_where(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(DecoderError, match=words):
        classes_of(written(tmp_path, old, new))


def test_the_example_can_race() -> None:
    (found,) = classes_of(EXAMPLE)
    assert checked(found, ()).name == "my-rule"
    assert len(EXAMPLE.read_text().splitlines()) <= 32


def test_a_file_has_to_be_there_and_be_python(tmp_path: Path) -> None:
    with pytest.raises(DecoderError, match="there is no file"):
        classes_of(tmp_path / "none.py")
    with pytest.raises(DecoderError, match=r"its name ends with \.py"):
        classes_of(tmp_path / "my_rule.txt")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name, title = "my-rule", "My rule"', 'name, title = "my-rule", ""', "has no title"),
        ('name, title = "my-rule", "My rule"', 'name, title = "my rule", "My"', "small letters"),
        (
            'name, title = "my-rule", "My rule"',
            'name, title = "sjd", "My"',
            "as another decoder is",
        ),
        ("badge = Badge.CHANGED_DISTRIBUTION", "badge = Badge.NOT_JUDGED", "has no badge, one of"),
        ("    def verify(", "    def verify_it(", "lacks verify"),
        ("strict: float = knob(1.0", "strict: float = 1.0 or knob(1.0", "strict has no range"),
        (", low=0.1, high=1.0", ", low=0.1", "strict has no range: low and high"),
        ("knob(1.0, ", "knob(2.0, ", "from 0.1 to 1, not 2.0"),
        (
            "    Settings = MySettings",
            "    Settings = dict",
            "no class of engine.settings.Settings",
        ),
        (
            "slots=True)\nclass MySettings(SpeculativeSettings):\n    strict: float = knob(1.0",
            "slots=True, kw_only=True)\nclass MySettings(SpeculativeSettings):\n"
            "    strict: float = knob(MISSING",
            "missing 1 required keyword-only argument: 'strict'",
        ),
    ],
)
def test_a_class_that_cannot_be_a_lane_says_what_it_lacks(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    (found,) = classes_of(written(tmp_path, old, new))
    with pytest.raises(DecoderError, match=rf"my_rule\.py, line \d+: MyRule.*{words}"):
        checked(found, {"sjd"})


def test_a_class_without_a_source_file_is_named_by_its_module() -> None:
    with pytest.raises(DecoderError, match="Made lacks propose and verify"):
        checked(type("Made", (WindowDecoder,), {"__module__": "built"}), ())


def test_what_cannot_race_is_left_out_with_a_warning(
    rule: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(module.FILES, f" {rule} ,/nowhere/other.py,{rule}")
    assert [found.name for found in load_outside({"sjd"})] == ["my-rule"]
    assert "there is no file /nowhere/other.py" in caplog.text
    assert "is called 'my-rule', as another decoder is" in caplog.text
    assert not load_outside({"my-rule"})


def test_an_installed_package_offers_decoders_by_entry_points(
    rule: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.syspath_prepend(str(rule.parent))
    points = [
        EntryPoint(name, value, module.GROUP)
        for name, value in (("mine", "my_rule:MyRule"), ("no", "my_rule:Nothing"))
    ]
    monkeypatch.setattr(module, "entry_points", lambda group: points)
    assert [found.name for found in load_outside(())] == ["my-rule"]
    assert "my_rule:Nothing: AttributeError" in caplog.text


def test_it_races_from_the_command_line_and_its_trace_opens_where_it_is_not(
    rule: Path, tmp_path: Path
) -> None:
    out = tmp_path / "race.json"
    command = [sys.executable, "-m", "photo_finish", "race", "red apple", "--out", str(out)]
    command += ["--lanes", "my-rule:strict=0.5"]
    done = subprocess.run(
        command, env=os.environ | {module.FILES: str(rule)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "My rule strict=0.5" in done.stdout
    assert "my-rule" not in DECODERS
    lane = replay(RecordedRace.loads(out.read_bytes())).lanes[0]
    assert lane.title.startswith("my-rule ")
    assert "strict=0.5" in lane.title
    assert (lane.badge.value, lane.n) == ("not judged", 400)
    assert "no such decoder" in lane.idea
