"""The recorded races that come with the page, without a model."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
import pytest

from app.races.races import Races
from app.races.recorded_races import RecordedRaces
from tests.app.conftest import raced, toy_pool
from tools.judge.toys import Toy


@pytest.fixture
def folder(races, tmp_path) -> Path:
    text = raced(races).recording.dumps()
    for name in ("race", "tour"):
        (tmp_path / f"{name}.json").write_text(text)
    return tmp_path


def test_recorded_races_are_put_on_the_board_without_a_model(folder) -> None:
    def never() -> Toy:
        raise AssertionError("no model is needed")

    races = Races(toy_pool(Toy(), never), RecordedRaces(folder))
    assert races.recorded.first == "race"
    assert races.kept("race", "").recording.trace.header.prompt == "red apple"
    assert races.show("tour", "visitor") == {"race": "tour", "key": "", "more": False}
    shown = races.replay(races.kept("tour", "visitor"))
    assert (shown.recorded, shown.link) == (True, "?recorded=tour")
    for name in (None, 5, "../race", "another", ["race"], {}):
        with pytest.raises(gr.Error, match="no longer kept"):
            races.show(name, "visitor")
