"""Races that fill in a part of a picture: drawn, exported and described as whole ones are, and what
was known is never said to be drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.engine.trace.reread import reread
from tests.static.node import report
from tests.visualize.film.test_cells import PAPER, drawn, rgb
from tests.visualize.races import MASK, filled_trace, snapshots
from visualize.export.standalone import standalone
from visualize.export.steps_csv import steps_csv
from visualize.figures.figures import figures
from visualize.figures.quality import about, rings, stored
from visualize.film.film import FilmFormat, film, photo
from visualize.film.layers import LaneReplay, Layer
from visualize.pictures.recorded_race import RecordedRace, record

LANES = ("ar", "assd", "assd:drafts=n-gram", "sjd", "parallel")
KNOWN = ~np.array(MASK)


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    return record(*filled_trace(LANES))


def cells(recording: RecordedRace, layer: Layer, share: int) -> np.ndarray:
    """The second lane's cells [36, 20, 20, 3] at the start or the end, without their edges, which
    the outline covers."""
    lane = LaneReplay(recording.trace, 1)
    image = drawn(recording, lane, layer, lane.at(share * len(lane.table)), under=True)
    tiles = image.reshape(6, 32, 6, 32, 3).swapaxes(1, 2).reshape(36, 32, 32, 3)
    return tiles[:, 6:26, 6:26]


def test_what_is_known_is_solid_from_the_start_and_the_rest_hatched(recording) -> None:
    start, end = (cells(recording, Layer.PICTURE, share) for share in (0, 1))
    assert (start[KNOWN] == end[KNOWN]).all()
    paper = (start[~KNOWN] == rgb(PAPER)).all(-1).mean((1, 2))
    assert ((paper > 0.5) & (paper < 0.95)).all()
    assert not (end[~KNOWN] == rgb(PAPER)).all(-1).any()


def test_other_layers_colour_what_was_drawn_alone(recording) -> None:
    top1, status, order = (
        cells(recording, layer, 1) for layer in (Layer.TOP1, Layer.STATUS, Layer.ORDER)
    )
    assert (top1[KNOWN] == status[KNOWN]).all()
    assert len(np.unique(order[~KNOWN][:, 10, 10], axis=0)) > 3


def test_the_order_is_the_pass_that_committed(recording) -> None:
    lane = LaneReplay(recording.trace, 1)
    expected = np.repeat(lane.table.steps["nfe"], lane.table.steps["committed"])
    assert lane.values(Layer.ORDER, lane.at(len(lane.table))).tolist() == expected.tolist()
    assert lane.most(Layer.ORDER) == sum(MASK) >= expected.max()


def test_the_page_draws_the_same_live_and_replayed(recording) -> None:
    shots = snapshots(recording.trace.header, recording.trace.frames, 1)
    live, replayed = report("replay", [shot.wire() for shot in shots])
    assert live == replayed


@pytest.mark.parametrize("layer", list(Layer))
def test_every_layer_is_photographed(recording, layer) -> None:
    for t in (0.0, 3.0):
        picture = photo(recording, "passes", t, layer, 1.0, [0, 1, 4], dark=True)
        assert picture.startswith(b"\x89PNG")


def test_it_is_taken_away_and_described_as_any_race_is(recording) -> None:
    trace = recording.trace
    again = RecordedRace.loads(recording.dumps())
    assert again == replace(recording, trace=reread(trace))
    assert film(recording, FilmFormat.WEBP, speed=16.0, lanes=[1])
    assert '"infilling"' in standalone(recording)
    rows = sum(len(trace.table(i)) for i in range(len(LANES)))
    assert len(steps_csv(trace).splitlines()) == 1 + rows
    assert f"its {sum(MASK)} tokens" in figures(trace)[0].sentence
    # It has no place among whole pictures.
    assert rings(trace) == []
    words = about(stored(), trace)
    assert "filled in a part" in words
    assert "Rings are" not in words


def test_a_traces_picture_has_what_was_known(recording) -> None:
    known = np.array(recording.trace.header.infilling.known)[KNOWN]
    for i in range(len(LANES)):
        tokens = recording.trace.tokens(i)
        assert (tokens[KNOWN] == known).all()
        assert (tokens >= 0).all()
