from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from hypothesis import given
from hypothesis import strategies as st

import app.handlers
from app.handlers import Races
from app.settings import AppSettings
from app.world import EXAMPLES, guide, hint, words
from tests.app.test_form import ANYTHING, DEFAULTS
from tests.toy import Toy, ToyContext

WORLD = Path(__file__).parent.parent.parent / "weights" / "world.json"
VISITOR = SimpleNamespace(session_hash="visitor")


class Watched(Toy):
    """A toy that counts its forward passes and its open caches."""

    def __init__(self) -> None:
        super().__init__((6, 6), 16)
        self.passes = self.open = 0

    def start(self, prompt: str, guidance: float) -> ToyContext:
        context, close = super().start(prompt, guidance), None
        close = context.close
        self.open += 1

        def closed() -> None:
            self.open -= 1
            close()

        context.close = closed
        return context

    def forward(self, *window):
        self.passes += 1
        return super().forward(*window)


@pytest.fixture
def races(monkeypatch) -> Races:
    monkeypatch.setattr(app.handlers, "SETTINGS", AppSettings(updates=30))
    return Races(Watched())


def begun(races: Races, lanes: tuple[str, ...] = ("ar", "sjd"), prompt: object = "red apple", seed: object = 7):
    return races.race(VISITOR, prompt, seed, list(lanes), *DEFAULTS)


def test_first_snapshot_comes_before_the_first_step(races) -> None:
    race = begun(races)
    first = next(race)
    assert (first["seq"], first["state"], first["prompt"]) == (0, "waiting", "red apple")
    assert races.model.passes == 0
    race.close()


def test_race_runs_to_its_end_and_gives_everything_back(races, caplog) -> None:
    caplog.set_level(logging.INFO, "app.handlers")
    last = list(begun(races))[-1]
    assert last["state"] == "finished"
    assert [lane["n"] for lane in last["lanes"]] == [36, 36]
    assert races.model.open == 0
    assert "race closed" in caplog.text


def test_second_snapshot_shows_a_picture(races) -> None:
    race = begun(races)
    next(race)
    assert any(lane["strips"][0] for lane in next(race)["lanes"])
    race.close()


def test_stop_ends_the_race_within_two_steps(races) -> None:
    race = begun(races)
    next(race), next(race)
    before = races.model.passes
    races.stop(VISITOR)
    last = list(race)[-1]
    assert races.model.passes - before <= 2
    assert last["state"] == "stopped"
    assert races.model.open == 0


def test_a_page_that_goes_away_ends_the_race_at_once(races) -> None:
    race = begun(races)
    next(race), next(race)
    before = races.model.passes
    race.close()
    assert (races.model.passes, races.model.open) == (before, 0)


def test_stop_is_for_the_visitors_own_race(races) -> None:
    race = begun(races)
    next(race), next(race)
    races.stop(SimpleNamespace(session_hash="another"))
    assert list(race)[-1]["state"] == "finished"
    races.stop(VISITOR)


def test_race_over_its_time_is_stopped_and_says_so(races, monkeypatch) -> None:
    monkeypatch.setattr(app.handlers, "SETTINGS", AppSettings(race_seconds=1e-9))
    last = list(begun(races))[-1]
    assert last["state"] == "stopped"
    assert "may take 1e-09 seconds" in last["note"]


def test_ready_board_shows_the_lanes_that_race_unless_asked_not_to(races) -> None:
    idle = races.idle()
    assert idle["state"] == "waiting"
    assert [lane["decoder"] for lane in idle["lanes"]] == ["ar", "sjd", "gsd", "lantern", "sjd-pac"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prompt": ""}, "prompt is empty"),
        ({"prompt": " \n"}, "prompt is empty"),
        ({"prompt": None}, "prompt is empty"),
        ({"prompt": "x" * 10_000}, "10000 characters"),
        ({"seed": None}, "whole number"),
        ({"seed": 2**53}, "whole number"),
        ({"seed": -1}, "whole number"),
        ({"seed": 1.5}, "whole number"),
        ({"seed": "7"}, "whole number"),
        ({"lanes": ()}, "at least one lane"),
    ],
)
def test_bad_input_gets_a_clear_message(races, changes, words) -> None:
    with pytest.raises(gr.Error, match=words):
        next(begun(races, **changes))


def test_half_a_surrogate_pair_is_no_trouble(races) -> None:
    last = list(begun(races, prompt="apple \ud83c"))[-1]
    assert last["prompt"].encode()


@given(prompt=ANYTHING, seed=ANYTHING)
def test_whatever_is_asked_races_or_is_refused_in_words(prompt, seed) -> None:
    race = Races(Toy()).race(VISITOR, prompt, seed, ["ar"], *DEFAULTS)
    try:
        first, refusal = next(race), ""
    except gr.Error as error:
        first, refusal = None, error.message
    race.close()
    assert len(refusal) > 10 if first is None else first["seq"] == 0


@given(st.text())
def test_hint_is_for_every_text(text) -> None:
    assert isinstance(hint(text, words({"glyphs": ["red apple"]})), str)
    assert hint(text, words({})) == ""


def test_hint_names_what_the_model_has_never_seen() -> None:
    known = words({"glyphs": ["red apple", "octopus"], "grounds": ["sky clouds"], "version": 1})
    assert hint("a red Apple on the sky", known) == ""
    assert "“xylophone”" in hint("an octopus with xylophone", known)
    assert "knows no word" in hint("xylophone", known)
    assert "knows no word" in hint("¿?", known)


def test_guide_names_what_can_be_asked_for() -> None:
    text = guide({"glyphs": ["red apple", "octopus"], "grounds": ["sky clouds"], "sampling": {"top_k": 1}})
    assert "**Glyphs:** red apple, octopus" in text
    assert "sampling" not in text.lower()
    assert guide({}) == ""


def test_examples_are_of_the_models_world() -> None:
    known = words(json.loads(WORLD.read_text()))
    assert len(known) > 100
    assert [hint(example, known) for example in EXAMPLES] == [""] * len(EXAMPLES)
