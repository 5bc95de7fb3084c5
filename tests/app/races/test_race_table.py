"""Races by id: whose they are, how many are kept, and for how long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.races import race_table
from app.races.race_table import KEPT_SECONDS, STEP_BYTES, RaceTable, StoredRace
from tests.races import raced
from tests.set_clock import Clock
from tools.judge.toys import Toy
from visualize.pictures.recorded_race import RecordedRace, record


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    return record(raced(model := Toy((4, 4), 16), ["ar", "sjd"], "red apple", 7), model)


def stored(name: str, recording: RecordedRace, size: int = 1) -> StoredRace:
    race = StoredRace(name, recording, raced_here=True)
    vars(race)["bytes"] = size  # of its cached property
    return race


def ids(table: RaceTable, *names: str, visitor: str = "nobody") -> list[str]:
    """Which of these races are kept. Asking for one makes it the last that goes."""
    return [name for name in names if table.get(name, visitor)]


def test_a_replay_says_whether_another_machine_recorded_it(recording) -> None:
    trace = recording.trace
    header = replace(trace.header, machine="Another, 1 core, 1 thread, torch 2.13.0")
    moved = replace(recording, trace=replace(trace, header=header))
    replays = [StoredRace("a", each).replay() for each in (recording, moved)]
    assert [(snapshot.recorded, snapshot.elsewhere) for snapshot in replays] == [
        (True, False),
        (True, True),
    ]
    assert not StoredRace("a", moved, raced_here=True).replay().elsewhere, "on a racer, perhaps"


def test_rejected_distributions_count_as_well(recording) -> None:
    trace, pictures = recording.trace, recording.pictures
    tables = [trace.table(lane) for lane in range(2)]
    assert len(tables[1].rejections) > 2
    rows = sum(array.nbytes for table in tables for array in table.arrays().values())
    files = len(pictures.swatches) + sum(map(len, pictures.lanes))
    steps = STEP_BYTES * sum(map(len, tables))
    assert StoredRace("a", recording).bytes == rows + files + steps + len(trace.codebook)


def test_a_visitors_oldest_races_make_room_for_the_newest(recording, monkeypatch) -> None:
    monkeypatch.setattr(race_table, "MAX_BYTES", 10)
    table = RaceTable(2)
    table.put("another", "elsewhere", stored("z", recording, 10))
    for name, size in (("a", 4), ("b", 4), ("c", 4)):
        table.put("visitor", "here", stored(name, recording, size))
    assert ids(table, "a", "b", "c", "z") == ["b", "c", "z"]
    table.put("visitor", "here", stored("large", recording, 11))
    assert ids(table, "a", "b", "c", "large", "z") == ["z"]


def test_the_visitor_who_was_away_longest_makes_room_for_others(recording) -> None:
    table = RaceTable(2)
    for visitor in "ab":
        table.put(visitor, "here", stored(visitor, recording))
    assert table.get("a", "a")
    table.put("c", "here", stored("c", recording))
    assert ids(table, "a", "b", "c") == ["a", "c"]


def test_an_address_has_a_bound_however_many_visitors_it_has(recording, monkeypatch) -> None:
    monkeypatch.setattr(race_table, "MAX_ADDRESS_BYTES", 10)
    table = RaceTable(100)
    table.put("x", "elsewhere", stored("x", recording, 8))
    for visitor in "abc":
        table.put(visitor, "here", stored(visitor, recording, 4))
    assert ids(table, "a", "b", "c", "x") == ["b", "c", "x"]


def test_visitors_make_room_for_those_of_their_own_address(recording) -> None:
    """Whoever opens pages without end takes nobody else's race away."""
    table = RaceTable(3)
    for visitor in ("x", "y"):
        table.put(visitor, visitor, stored(visitor, recording))
    for visitor in map(str, range(5)):
        table.put(visitor, "here", stored(visitor, recording))
    assert ids(table, "x", "y", *map(str, range(5))) == ["x", "y", "4"]
    table.put("z", "z", stored("z", recording))
    assert ids(table, "x", "y", "z", "4") == ["y", "z", "4"], (
        "alone at their addresses all are alike"
    )


def test_a_closed_pages_races_are_kept_for_minutes_and_are_then_whose_page_comes_back(
    recording, clock
) -> None:
    table = RaceTable(5, clock)
    for name in "ab":
        table.put("before", "here", stored(name, recording))
    table.leave("before")
    clock.now += KEPT_SECONDS
    assert table.get("a", "after")
    clock.now += 1
    assert ids(table, "a", "b") == ["a"]
    assert table.get("a", "a friend with the link")
    table.leave("a friend with the link")
    clock.now += 2 * KEPT_SECONDS
    assert ids(table, "a") == ["a"]


@pytest.mark.parametrize("race_id", [None, 5, "", "a", ["a"], {}])
def test_what_is_no_race_is_not_found(race_id: Any) -> None:
    assert RaceTable(1).get(race_id, "") is None
