from __future__ import annotations

import logging
from types import SimpleNamespace

import gradio as gr
import pytest
from hypothesis import given

import app.page.handlers
from app.page.handlers import Races
from app.settings import AppSettings
from tests.app.conftest import ANYTHING, NONE_RECORDED, VISITOR, begun, ready_pool
from tests.toy import Toy


def test_first_snapshot_comes_before_the_first_step(races, model) -> None:
    race = begun(races)
    first = next(race)
    assert (first["seq"], first["state"], first["prompt"]) == (0, "waiting", "red apple")
    assert model.passes == 0
    race.close()


def test_race_runs_to_its_end_and_gives_everything_back(races, model, caplog) -> None:
    caplog.set_level(logging.INFO, "app.serving.race_stream")
    last = list(begun(races))[-1]
    assert last["state"] == "finished"
    assert [lane["n"] for lane in last["lanes"]] == [36, 36]
    assert model.open == 0
    assert "race closed" in caplog.text


def test_second_snapshot_shows_a_picture(races) -> None:
    race = begun(races)
    next(race)
    assert any(lane["picture_rows"][0] for lane in next(race)["lanes"])
    race.close()


def test_stop_ends_the_race_within_two_steps(races, model) -> None:
    race = begun(races)
    next(race), next(race)
    before = model.passes
    races.stop(VISITOR)
    last = list(race)[-1]
    assert model.passes - before <= 2
    assert last["state"] == "stopped"
    assert model.open == 0


def test_a_page_that_goes_away_ends_the_race_at_once(races, model) -> None:
    race = begun(races)
    next(race), next(race)
    before = model.passes
    race.close()
    assert (model.passes, model.open) == (before, 0)


def test_stop_is_for_the_visitors_own_race(races) -> None:
    race = begun(races)
    next(race), next(race)
    races.stop(SimpleNamespace(session_hash="another"))
    assert list(race)[-1]["state"] == "finished"
    races.stop(VISITOR)


def test_race_over_its_time_is_stopped_and_says_so(races, monkeypatch) -> None:
    monkeypatch.setattr(app.page.handlers, "SETTINGS", AppSettings(race_seconds=1e-9))
    last = list(begun(races))[-1]
    assert last["state"] == "stopped"
    assert "may take 1e-09 seconds" in last["note"]


def test_ready_board_shows_the_default_lanes(races) -> None:
    idle = races.first_board()
    assert idle["state"] == "waiting"
    assert [lane["decoder"] for lane in idle["lanes"]] == [
        "ar",
        "fpi",
        "sjd",
        "scd",
        "gsd",
        "lantern",
        "sjd-pac",
    ]


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


READY = Races(ready_pool(Toy()), NONE_RECORDED)


@given(prompt=ANYTHING, seed=ANYTHING)
def test_any_prompt_and_seed_race_or_are_rejected_with_a_message(prompt, seed) -> None:
    race = begun(READY, prompt=prompt, seed=seed, lanes=("ar",))
    try:
        first, message = next(race), ""
    except gr.Error as error:
        first, message = None, error.message
    race.close()
    assert len(message) > 10 if first is None else first["seq"] == 0
