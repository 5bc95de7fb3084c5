from __future__ import annotations

import logging
from types import SimpleNamespace

import app.page.handlers
from app.settings import AppSettings
from engine.decoders import DEFAULT
from tests.app.conftest import VISITOR, begun


def test_first_snapshot_comes_before_the_first_step_and_the_second_has_pictures(
    races, model
) -> None:
    race = begun(races)
    first = next(race)
    assert (first["seq"], first["state"], first["prompt"]) == (0, "waiting", "red apple")
    assert model.passes == 0
    assert any(lane["picture_rows"][0] for lane in next(race)["lanes"])
    race.close()


def test_race_runs_to_its_end_and_gives_everything_back(races, model, caplog) -> None:
    caplog.set_level(logging.INFO, "app.serving.race_stream")
    last = list(begun(races))[-1]
    assert last["state"] == "finished"
    assert [lane["n"] for lane in last["lanes"]] == [36, 36]
    assert model.open == 0
    assert "race closed" in caplog.text


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
    assert [lane["decoder"] for lane in idle["lanes"]] == list(DEFAULT)
