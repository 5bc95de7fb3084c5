"""Lanes whose positions do not follow one another: the table `places`, kept, reduced, and checked
in files that anyone may have written."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.decoders.rows import ParallelRows
from engine.race import Lane
from engine.trace import StepTable, Trace, TraceError
from engine.trace.packing import _bytes, _rows
from engine.trace.reduce import without_drafts
from engine.trace.rows import DTYPES
from engine.trace.streams import pack, unpack
from tests.races import race_of
from tests.stopped import run_until
from tools.judge.toys import Toy


@functools.cache
def raced(stop: int | None = None) -> Trace:
    settings = ParallelRows.Settings(c=2, window=3)
    model = Toy((3, 4), 6, forced=True)
    return run_until(race_of(model, [Lane("ar"), Lane("rows", settings)]), stop)


@pytest.mark.parametrize("stop", [None, 9])
def test_a_file_keeps_them_and_of_other_lanes_has_none(stop: int | None) -> None:
    trace = raced(stop)
    file = json.loads(trace.dumps())
    assert [("places" in lane) for lane in file["lanes"]] == [False, True]
    again = Trace.loads(json.dumps(file))
    tables = trace.table(1), again.table(1)
    assert tables[0] == tables[1]
    assert again.steps(1) == trace.steps(1)
    assert (trace.tokens(1) == again.tokens(1)).all()
    assert not len(trace.table(0).places)


def test_each_position_is_committed_once_and_never_touched_again() -> None:
    table = raced().table(1)
    assert sorted(table.position[table.committed]) == list(range(15))
    assert (np.diff(table.position) < 0).any(), "several rows at once"
    later = {}
    for position, step, committed in zip(
        table.position.tolist(), table.step.tolist(), table.committed.tolist(), strict=True
    ):
        assert later.get(position) is None
        later[position] = step if committed else None
    order = table.position[table.committed].argsort()
    assert table.tokens == table.positions["token"][table.committed][order].tolist()


def test_a_table_that_is_split_or_has_no_drafts_has_its_places() -> None:
    table = raced().table(1)
    assert StepTable.join(table.split()) == table
    few = without_drafts(table)
    assert few.position.tolist() == table.position[table.committed].tolist()
    assert few.committed.all()


def spoilt(change: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """The good file with other places."""
    file = json.loads(raced().dumps())
    columns = np.frombuffer(unpack(file["lanes"][1]["places"]), "u1").reshape(3, -1)
    places = _rows(columns, DTYPES["places"])
    changed = change(places)
    file["lanes"][1]["places"] = pack(_bytes(places if changed is None else changed))
    return file


def put(row: int, position: int) -> Callable[[np.ndarray], None]:
    return lambda places: places["position"].__setitem__(row, position)


def committed_before() -> tuple[int, int]:
    """A row of the last step, and a position that the first has committed."""
    table = raced().table(1)
    return int(table.first[-2]), int(table.position[0])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda: spoilt(lambda places: places[:-1]), "places do not add up"),
        (lambda: spoilt(put(0, 15)), "outside the grid"),
        (lambda: spoilt(put(1, int(raced().table(1).position[0]))), "touches a position twice"),
        (lambda: spoilt(put(*committed_before())), "touches a position that is committed"),
    ],
)
def test_places_that_no_race_leaves_are_rejected_in_words(damage: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        Trace.loads(json.dumps(damage()))
