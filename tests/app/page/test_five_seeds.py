from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from app.page.five_seeds import SEEDS, race_seeds
from app.races.races import Races
from engine.race import MAX_SEED
from tests.app.conftest import VISITOR, raced, wait_until

SESSION = VISITOR.session_hash
CLIENT = SimpleNamespace(session_hash=SESSION, headers={}, client=None)
SKIPPED = gr.skip()


def changes(found: list[tuple[Any, ...]], column: int) -> list[Any]:
    """What was shown in one of the places, without those left as they were."""
    return [row[column] for row in found if row[column] != SKIPPED]


def test_the_lanes_of_a_race_race_from_five_seeds(races: Races, model) -> None:
    first = raced(races, seed=7, lanes=("ar", "sjd:window=4"))
    raced(races, prompt="octopus", lanes=("gsd",))  # another race, which is not meant
    found = list(race_seeds(races, first.id, CLIENT))
    boards, tables = changes(found, 0), changes(found, 1)
    kept = [races.kept(board["watch"], SESSION).recording.trace.header for board in boards]
    assert [header.seed for header in kept] == [7, 8, 9, 10, 11]
    assert [lane.decoder for lane in kept[-1].lanes] == ["ar", "sjd"]
    # What is drawn of a race that is over would be charged to the next.
    assert [board["more"] for board in boards] == [True] * 4 + [False]
    assert tables[0] == "<p role='status'>Race 1 of 5, from seed 7…</p>"
    assert tables[1].startswith("<p role='status'>Race 2 of 5, from seed 8…</p><div")
    assert len(tables) == SEEDS + 1
    assert "Race" not in tables[-1]
    assert "“red apple”, from seeds 7 to 11: mean" in tables[-1]
    assert all(name in tables[-1] for name in ("Vanilla AR", "SJD window=4", "36.0 ± 0.0"))
    assert model.open == 0


def test_a_race_that_is_stopped_ends_the_series(races: Races, model) -> None:
    series = race_seeds(races, raced(races, seed=7).id, CLIENT)
    found = [next(series)]
    while len(changes(found, 1)) < 2:
        found.append(next(series))
    while len(boards := changes(found, 0)) < 2:
        found.append(next(series))
    races.stop(boards[-1]["watch"], boards[-1]["key"], "")
    found += series
    assert changes(found, 0)[-1]["state"] == "stopped"
    assert changes(found, 1)[-1].startswith("<div")
    assert "from seed 7: mean" in changes(found, 1)[-1]


def test_a_page_that_goes_away_ends_the_series(races: Races, model) -> None:
    series = race_seeds(races, raced(races, seed=7).id, CLIENT)
    before = model.passes
    while next(series)[0] == SKIPPED:
        pass
    series.close()
    wait_until(lambda: model.open == 0)
    assert model.passes - before <= 36 * 2, "the race that was on, at most"


def test_the_last_seeds_are_the_largest(races: Races) -> None:
    series = race_seeds(races, raced(races, seed=MAX_SEED).id, CLIENT)
    assert f"from seed {MAX_SEED - 4}…" in next(series)[1]


def test_before_any_race_there_is_nothing_to_repeat(races: Races) -> None:
    with pytest.raises(gr.Error, match="never began"):
        next(race_seeds(races, "", CLIENT))
