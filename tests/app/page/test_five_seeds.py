from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from app.page.five_seeds import SEEDS, race_seeds
from app.page.handlers import Races
from engine.race import MAX_SEED
from tests.app.conftest import VISITOR, begun

CLIENT = SimpleNamespace(session_hash=VISITOR.session_hash, headers={}, client=None)
SKIPPED = gr.skip()


def changes(found: list[tuple[Any, ...]], column: int) -> list[Any]:
    """What was shown in one of the places, without those left as they were."""
    return [row[column] for row in found if row[column] != SKIPPED]


def test_the_lanes_on_the_board_race_from_five_seeds(races: Races, model) -> None:
    list(begun(races, seed=7, lanes=("ar", "sjd:window=4")))
    found = list(race_seeds(races, CLIENT))
    boards, tables = changes(found, 0), changes(found, 2)
    ends = [board for board in boards if board["state"] == "finished"]
    assert list(dict.fromkeys(board["seed"] for board in ends)) == [7, 8, 9, 10, 11]
    assert [lane["title"] for lane in ends[-1]["lanes"]] == ["Vanilla AR", "SJD window=4"]
    assert tables[0] == "<p role='status'>Race 1 of 5, from seed 7…</p>"
    assert tables[1].startswith("<p role='status'>Race 2 of 5, from seed 8…</p><div")
    assert len(tables) == SEEDS + 1
    assert "Race" not in tables[-1]
    assert "Mean of 5 seeds" in tables[-1]
    assert all(name in tables[-1] for name in ("Vanilla AR", "SJD window=4", "36.0 ± 0.0"))
    assert races.finished(CLIENT).recording.trace.header.seed == 11
    assert model.open == 0


def test_a_race_that_is_stopped_ends_the_series(races: Races, model) -> None:
    list(begun(races, seed=7))
    series = race_seeds(races, CLIENT)
    found = [next(series)]
    while len(changes(found, 2)) < 2:
        found.append(next(series))
    found += [next(series), next(series)]
    races.stop(CLIENT)
    found += series
    assert changes(found, 0)[-1]["state"] == "stopped"
    assert changes(found, 2)[-1].startswith("<div")
    assert "Mean of 1 seed " in changes(found, 2)[-1]


def test_a_page_that_goes_away_ends_the_series(races: Races, model) -> None:
    list(begun(races, seed=7))
    series, before = race_seeds(races, CLIENT), model.passes
    for _ in range(4):
        next(series)
    series.close()
    assert model.open == 0
    assert model.passes - before < 36 * 2


def test_the_last_seeds_are_the_largest(races: Races) -> None:
    list(begun(races, seed=MAX_SEED))
    assert f"from seed {MAX_SEED - 4}…" in next(race_seeds(races, CLIENT))[2]


def test_before_any_race_there_is_nothing_to_repeat(races: Races) -> None:
    with pytest.raises(gr.Error, match="not over yet"):
        next(race_seeds(races, CLIENT))
