from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from app.page.seeds import race_seeds, time_words
from app.page.series import bench_command
from app.races.allowances import Allowances
from app.races.races import Races
from engine.race import MAX_SEED
from tests.app.conftest import VISITOR, raced, wait_until

SESSION = VISITOR.session_hash
CLIENT = SimpleNamespace(session_hash=SESSION, headers={}, client=None)
SKIPPED = gr.skip()


def changes(found: list[tuple[Any, ...]], column: int) -> list[Any]:
    """What was shown in one of the places, without those left as they were."""
    return [row[column] for row in found if row[column] != SKIPPED]


def test_the_lanes_of_a_race_race_from_several_seeds(races: Races, model) -> None:
    first = raced(races, seed=7, lanes=("ar", "sjd:window=4"))
    raced(races, prompt="octopus", lanes=("gsd",))  # another race, which is not meant
    found = list(race_seeds(races, first.id, 4.0, CLIENT))  # as a browser sends a number
    boards, tables = changes(found, 0), changes(found, 1)
    kept = [races.kept(board["race"], SESSION).recording.trace.header for board in boards]
    assert [header.seed for header in kept] == [7, 8, 9, 10]
    assert [lane.decoder for lane in kept[-1].lanes] == ["ar", "sjd"]
    # What is drawn of a race that is over would be charged to the next.
    assert [board["more"] for board in boards] == [True] * 3 + [False]
    assert tables[0] == "<p role='status'>Race 1 of 4, from seed 7…</p>"
    assert tables[1].startswith("<p role='status'>Race 2 of 4, from seed 8…</p><div")
    assert len(tables) == 5
    assert "Race" not in tables[-1]
    assert "“red apple”, from seeds 7 to 10: mean" in tables[-1]
    assert "36.0 ± 0.0" in tables[-1]
    names = re.findall(r'<th scope="row">([^<]*)</th><td>(\d)</td>', tables[-1])
    assert names == [("SJD window=4", "1"), ("Vanilla AR", "2")]  # by passes
    assert model.open == 0


def test_a_race_that_is_stopped_ends_the_series(races: Races, model) -> None:
    series = race_seeds(races, raced(races, seed=7).id, 5, CLIENT)
    found = [next(series)]
    while len(changes(found, 1)) < 2:
        found.append(next(series))
    while len(boards := changes(found, 0)) < 2:
        found.append(next(series))
    races.stop(boards[-1]["race"], boards[-1]["key"], "")
    found += series
    shown = changes(found, 0)[-1]
    assert (shown["race"], shown["more"]) == (boards[-1]["race"], False)
    assert races.replay(races.kept(shown["race"], SESSION)).state == "stopped"
    assert changes(found, 1)[-1].startswith("<div")
    assert "from seed 7: mean" in changes(found, 1)[-1]


@pytest.mark.parametrize("begun", [False, True])
def test_a_stop_that_comes_late_ends_the_series_too(races: Races, model, begun: bool) -> None:
    """The race that it names is over by then; the next one may have begun."""
    series = race_seeds(races, raced(races, seed=7).id, 5, CLIENT)
    found = [next(series)]
    while not (boards := changes(found, 0)):
        found.append(next(series))
    wait_until(lambda: races.find(boards[0]["race"], SESSION).recording is not None)
    while begun and len(changes(found, 0)) < 2:
        found.append(next(series))
    before = model.passes
    races.stop(boards[0]["race"], boards[0]["key"], SESSION)
    found += series
    assert len({board["race"] for board in changes(found, 0)}) == 1 + begun
    assert changes(found, 0)[-1]["more"] is False
    assert model.passes - before <= 36 * 2
    assert "from seed 7" in changes(found, 1)[-1]


def test_a_page_that_goes_away_ends_the_series(races: Races, model) -> None:
    series = race_seeds(races, raced(races, seed=7).id, 5, CLIENT)
    before = model.passes
    while next(series)[0] == SKIPPED:
        pass
    series.close()
    wait_until(lambda: model.open == 0)
    assert model.passes - before <= 36 * 2, "the race that was on, at most"


def test_the_last_seeds_are_the_largest(races: Races) -> None:
    series = race_seeds(races, raced(races, seed=MAX_SEED).id, 5, CLIENT)
    assert f"from seed {MAX_SEED - 4}…" in next(series)[1]


def test_before_any_race_there_is_nothing_to_repeat(races: Races) -> None:
    with pytest.raises(gr.Error, match="never began"):
        next(race_seeds(races, "", 5, CLIENT))


@pytest.mark.parametrize("seeds", [1, 31, 0, -5, 2.5, True, None, "5", [5], float("nan")])
def test_another_number_of_seeds_is_rejected(races: Races, seeds) -> None:
    with pytest.raises(gr.Error, match="a whole number from 2 to 30"):
        next(race_seeds(races, raced(races).id, seeds, CLIENT))


def test_a_series_ends_when_the_visitors_allowance_is_used_up(races: Races, monkeypatch) -> None:
    monkeypatch.setattr(races, "allowances", Allowances(1e-6))
    first, client = raced(races, seed=7).id, SimpleNamespace(**vars(CLIENT))
    client.client = SimpleNamespace(host="192.0.2.1")
    found = list(race_seeds(races, first, 5, client))
    assert len(changes(found, 0)) == 1, "the race that used it up, which was let end"
    assert "from seed 7: mean" in changes(found, 1)[-1]
    assert "0 of 0 seconds left" in changes(found, 1)[-1]
    with pytest.raises(gr.Error, match=r"used up\. Try again in 15 minutes"):
        list(race_seeds(races, first, 5, client))
    assert len(changes(list(race_seeds(races, first, 2, CLIENT)), 0)) == 2, "on the machine itself"


def test_how_long_a_series_takes_is_said_of_the_race_on_the_board(races: Races) -> None:
    trace = raced(races, lanes=("ar", "sjd")).recording.trace
    once = sum(float(trace.table(i).clock[-1]) for i in range(2))
    words = time_words(trace, 7, "All of it.")
    assert f"took {once:.1f} seconds together" in words
    assert "7 such races take 10 seconds" in words
    assert words.endswith(" All of it.</p>")
    assert time_words(trace, 31, "") == time_words(trace, None, "") == ""


def test_a_command_says_what_is_not_the_models_own_or_there_is_none(races: Races) -> None:
    trace = raced(races, lanes=("gsd:G=5",)).recording.trace
    own = trace.header.sampling
    line = "python -m photo_finish bench --prompt 'red apple' --lanes gsd:G=5 --seed 7 --seeds 1"
    assert bench_command([trace], own) == f"{line} --model toy"
    fewer = bench_command([trace], replace(own, guided_tokens=9))
    assert fewer == f"{line} --model toy --guided-tokens 0"
    assert bench_command([trace], replace(own, temperature=0.5)) == ""
