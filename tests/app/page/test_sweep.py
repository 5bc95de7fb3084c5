from __future__ import annotations

from types import SimpleNamespace

import gradio as gr
import pytest

from app.page.sweep import race_sweep, sweepable
from app.races.races import Races
from tests.app.conftest import VISITOR, raced

CLIENT = SimpleNamespace(session_hash=VISITOR.session_hash, headers={}, client=None)


def test_a_sweep_races_the_lane_at_each_value_from_each_seed(races: Races, model) -> None:
    first = raced(races, seed=7, lanes=("ar", "gsd:G=3"))
    found = list(race_sweep(races, first.id, ("gsd:G=3", "window", "8, 4 ,2", 2), CLIENT))
    boards = [board["race"] for board, _, _ in found if board != gr.skip()]
    kept = [races.kept(board, CLIENT.session_hash).recording.trace.header for board in boards]
    assert [(header.prompt, header.seed) for header in kept] == [("red apple", 7), ("red apple", 8)]
    for header in kept:
        assert [lane.settings["window"] for lane in header.lanes] == [2, 4, 8]
        assert {(lane.decoder, lane.settings["G"]) for lane in header.lanes} == {("gsd", 3)}
    *_, (_, table, figures) = found
    assert "GSD window=2 G=3" in table
    assert [figure.title for figure in figures] == ["Passes over window", "Seconds over window"]
    assert model.open == 0


def test_lanes_with_a_number_among_their_knobs_can_be_swept(races: Races) -> None:
    trace = raced(races, lanes=("ar", "gsd:G=3", "sjd")).recording.trace
    assert sweepable(trace) == [("GSD G=3", "gsd:G=3"), ("SJD", "sjd")]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (("gsd", "G", "4, 8", 1), "The number of seeds is"),
        (("gsd", "G", "4, eight", 5), "The values must be numbers separated by commas"),
        (("gsd", "G", "4", 5), "A sweep has 2 to 8 values"),
        (("gsd", "G", "4, 1000", 5), "GSD: G is a whole number from 1 to 100"),
        (("gsd", None, "4, 8", 5), "Choose a lane and a knob"),
        ((["gsd"], "G", "4, 8", 5), "Choose a lane and a knob"),
        (("jet", "G", "4, 8", 5), "no decoder called 'jet'"),
    ],
)
def test_what_cannot_be_swept_is_said(races: Races, chosen, words) -> None:
    with pytest.raises(gr.Error, match=words):
        next(race_sweep(races, raced(races).id, chosen, CLIENT))
