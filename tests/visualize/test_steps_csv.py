from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from engine.decoders import DECODERS
from engine.trace import Frame, LaneState, Seconds, Status, Trace
from tests.steps import Spot, build
from tests.visualize.races import FIVE, run
from visualize.steps_csv import COLUMNS, steps_csv


def rows(trace: Trace) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(steps_csv(trace), newline="")))


def test_a_row_says_what_the_step_did() -> None:
    header, _ = run(("ar", "sjd"), side=2)
    positions = (
        Spot(0, 3, 3, Status.ACCEPTED, 0.5, shift=0.5),
        Spot(1, 4, 5, Status.RESAMPLED, 0.5, shift=0.0),
        Spot(2, 1, 1, Status.REFINED, 0.5),
        Spot(3, 1, 2, Status.DROPPED, 0.5),
    )
    step = build(4, 0, 2, positions, Seconds(0.25, 0.125, 0.0625, 0.5), drafter_passes=3)
    last = build(
        5,
        2,
        4,
        (Spot(2, None, 1, Status.FRESH, 0.5), Spot(3, None, 7, Status.FORCED, 1.0)),
        Seconds(1.0),
    )
    frames = (
        Frame(1, LaneState.RACING, step),
        Frame(0, LaneState.RACING),
        Frame(1, LaneState.FINISHED, last),
    )
    first, second = rows(Trace(header, frames))
    assert first == {
        "lane": "2",
        "decoder": "sjd",
        "name": "SJD",
        "step": "1",
        "nfe": "4",
        "rows": "4",
        "frontier_before": "0",
        "frontier_after": "2",
        "accepted": "1",
        "resampled": "1",
        "fresh": "0",
        "forced": "0",
        "refined": "1",
        "rejected": "0",
        "dropped": "1",
        "drafter_passes": "3",
        "forward_seconds": "0.250000",
        "verify_seconds": "0.125000",
        "cache_seconds": "0.062500",
        "draft_seconds": "0.500000",
        "lane_seconds": "0.937500",
        "shift": "0.250000",
    }
    assert second["shift"] == ""  # it tested no draft
    assert (second["fresh"], second["forced"], second["accepted"], second["lane_seconds"]) == (
        "1",
        "1",
        "0",
        "1.937500",
    )


@pytest.mark.parametrize("prompt", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", '"; =1', "a\nb,c"])
def test_no_cell_is_a_formula(prompt) -> None:
    header, frames = run(FIVE, side=4, forced=True)
    text = steps_csv(Trace(replace(header, prompt=prompt), tuple(frames)))
    assert text == steps_csv(Trace(header, tuple(frames)))
    table = list(csv.reader(io.StringIO(text, newline="")))
    assert tuple(table[0]) == COLUMNS
    assert len(table) == 1 + sum(frame.step is not None for frame in frames)
    for row in table[1:]:
        assert row[1] in FIVE
        assert row[2] == DECODERS[row[1]].title
        numbers = [value for i, value in enumerate(row) if i not in (1, 2, len(row) - 1)]
        assert all(float(value) >= 0 for value in (*numbers, row[-1] or 0))


def test_steps_of_a_lane_join() -> None:
    header, frames = run(("gsd",), side=4)
    table = rows(Trace(header, tuple(frames)))
    assert [row["frontier_before"] for row in table[1:]] == [
        row["frontier_after"] for row in table[:-1]
    ]
    assert [int(row["step"]) for row in table] == list(range(1, len(table) + 1))
    assert int(table[-1]["frontier_after"]) == 16
