from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from engine.decoders import DECODERS
from engine.trace import Seconds, Status, Trace
from engine.trace.shares import share_values
from tests.steps import Spot, build
from tests.visualize.races import FIVE, ROWS, headed, toy_trace, trace_of
from visualize.export.steps_csv import COLUMNS, steps_csv


def rows(trace: Trace) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(steps_csv(trace), newline="")))


def test_a_row_says_what_the_step_did() -> None:
    first = (
        Spot(0, 3, 3, Status.ACCEPTED, 0.5, shift=0.5),
        Spot(1, 4, 5, Status.RESAMPLED, 0.5, shift=0.0),
        Spot(2, 1, 1, Status.REFINED, 0.5),
        Spot(3, 1, 2, Status.DROPPED, 0.5),
    )
    last = (Spot(2, None, 1, Status.FRESH, 0.5), Spot(3, None, 7, Status.FORCED, 1.0))
    steps = [
        build(7, 0, 2, first, Seconds(0.25, 0.125, 0.0625, 0.5), drafter_passes=3),
        build(8, 2, 4, last, Seconds(1.0)),
    ]
    one, two = rows(trace_of({"ar": [], "sjd": steps}, length=4))
    written = {name: value for name, value in one.items() if value != "0"}
    assert tuple(one) == COLUMNS
    assert written == {
        **{"lane": "2", "decoder": "sjd", "name": "SJD", "step": "1", "nfe": "7", "rows": "4"},
        **{"frontier_after": "2", "accepted": "1", "resampled": "1", "refined": "1"},
        **{"dropped": "1", "drafter_passes": "3"},
        **{"forward_seconds": "0.250000", "verify_seconds": "0.125000"},
        **{"cache_seconds": "0.062500", "draft_seconds": "0.500000"},
        **{"lane_seconds": "0.937500", "shift": "0.250000"},
    }
    expected = {"fresh": "1", "forced": "1", "accepted": "0", "lane_seconds": "1.937500"}
    assert expected | {"shift": ""} == {name: two[name] for name in (*expected, "shift")}


def test_steps_that_commit_in_several_rows_have_the_prices_of_what_they_committed() -> None:
    trace, _ = toy_trace(ROWS, forced=True)
    for i in range(len(ROWS)):
        lane, table = [row for row in rows(trace) if row["lane"] == str(i + 1)], trace.table(i)
        assert [row["frontier_after"] for row in lane] == list(map(str, table.frontier[1:]))
        assert lane[-1]["frontier_after"] == "20"
        prices = share_values(table.prices["shift"])
        for row, step in zip(lane, table.split(), strict=True):
            mine = prices[step.position[step.committed]]
            free = mine[~np.isnan(mine)]
            assert row["shift"] == (f"{free.mean():.6f}" if len(free) else "")


@pytest.mark.parametrize("prompt", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", '"; =1', "a\nb,c"])
def test_no_cell_is_a_formula(prompt) -> None:
    trace, _ = toy_trace(FIVE, forced=True)
    assert steps_csv(headed(trace, prompt=prompt, machine=prompt)) == steps_csv(trace)


def test_a_table_holds_every_step_in_order() -> None:
    trace, _ = toy_trace(FIVE, forced=True)
    table = rows(trace)
    for i, name in enumerate(FIVE):
        lane = [row for row in table if row["lane"] == str(i + 1)]
        assert len(lane) == len(trace.table(i))
        assert {(row["decoder"], row["name"]) for row in lane} == {(name, DECODERS[name].title)}
        ends = [row["frontier_after"] for row in lane]
        assert [row["frontier_before"] for row in lane] == ["0", *ends[:-1]]
        assert ends[-1] == "20"
        assert [row["step"] for row in lane] == [str(k + 1) for k in range(len(lane))]
        for row in lane:
            numbers = [value for column, value in row.items() if column not in ("decoder", "name")]
            assert all(float(value or 0) >= 0 for value in numbers)
    assert {row["shift"] for row in table if row["lane"] == "1"} == {""}
