from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from engine.commands import race as cli_race
from engine.judge.toys import Toy
from visualize import __main__ as cli
from visualize.pictures.recorded_race import RecordedRace, pixels


def test_a_race_is_written_with_its_pictures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = Toy((3, 4), 8), tmp_path / "race.json"
    monkeypatch.setattr(cli_race, "load", lambda *args, **options: model)
    arguments = ["race", "red apple", "--lanes", "ar,sjd", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["visualize", *arguments])
    cli.main()
    assert f"trace: {out}" in capsys.readouterr().out
    race = RecordedRace.loads(out.read_bytes())
    for lane, file in enumerate(race.pictures.lanes):
        drawn = model.pixels(race.trace.tokens(lane).reshape(3, 4))
        np.testing.assert_array_equal(pixels(file), drawn)
