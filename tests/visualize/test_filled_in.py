"""Races that fill in a part of a picture: drawn, exported and described as whole ones are, and what
was known is never said to be drawn."""

from __future__ import annotations

import numpy as np
import pytest

from engine.trace import Trace
from tests.static.node import report
from tests.visualize.races import MASK, filled_trace, pixels
from tests.visualize.test_cells import GRID, PAPER, SIDE, midway, rgb
from visualize.board import Board
from visualize.cells import Cells, atlas
from visualize.figures import figures
from visualize.film import Kind, film, photo
from visualize.layers import LaneReplay, Layer
from visualize.quality import about, rings, stored
from visualize.recorded_race import RecordedRace, record
from visualize.standalone import standalone
from visualize.steps_csv import steps_csv

LANES = ("ar", "assd", "assd:drafts=n-gram", "sjd", "parallel")
KNOWN = ~np.array(MASK)


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    return record(*filled_trace(LANES))


def drawn(recording: RecordedRace, lane: LaneReplay, layer: Layer, k: int) -> np.ndarray:
    """Cells [36, 32, 32, 3] of the second lane after its k-th step."""
    pictures, header = recording.pictures, recording.trace.header
    swatches = atlas(pictures.swatches, header.vocab_size)
    cells = Cells(lane, header.grid, SIDE, layer, lane.most(layer), pictures.lanes[1], swatches)
    image = np.asarray(cells.draw(lane.at(k))).astype(int)
    tiles = image.reshape(GRID, 32, GRID, 32, 3).swapaxes(1, 2)
    return tiles.reshape(36, 32, 32, 3)


@pytest.fixture(scope="module")
def lane(recording) -> LaneReplay:
    return LaneReplay(recording.trace, 1)


def test_what_is_known_is_solid_from_the_start_and_the_rest_hatched(recording, lane) -> None:
    start, end = (drawn(recording, lane, Layer.PICTURE, k) for k in (0, len(lane.table)))
    inside = slice(6, 26)  # of a cell, without the outline's width
    assert (start[KNOWN][:, inside, inside] == end[KNOWN][:, inside, inside]).all()
    for tile in start[~KNOWN][:, inside, inside]:
        paper = (tile == rgb(PAPER)).all(-1)
        assert 0.5 < paper.mean() < 0.95
    assert not (end[~KNOWN] == rgb(PAPER)).all(-1).any()


def test_other_layers_colour_what_was_drawn_alone(recording, lane) -> None:
    end = len(lane.table)
    bare = np.asarray(
        [drawn(recording, lane, layer, end)[KNOWN] for layer in (Layer.TOP1, Layer.STATUS)]
    )
    inside = bare[:, :, 6:26, 6:26]
    assert (inside[0] == inside[1]).all()  # faint, whatever the layer
    shown = drawn(recording, lane, Layer.ORDER, end)[~KNOWN]
    assert len(np.unique(shown[:, 16, 16], axis=0)) > 3


def test_the_order_is_the_pass_that_committed(recording, lane) -> None:
    now = lane.at(len(lane.table))
    expected = np.repeat(lane.table.steps["nfe"], lane.table.steps["committed"])
    assert lane.values(Layer.ORDER, now).tolist() == expected.tolist()
    assert lane.most(Layer.ORDER) == sum(MASK) >= expected.max()
    middle = midway(lane)
    assert np.isnan(lane.values(Layer.ORDER, middle)[middle.n :]).all()


def test_runs_begin_at_the_cells_that_they_begin_at(recording, lane) -> None:
    starts = lane.table.frontier[:-1]
    cells = np.array(recording.trace.header.cells)
    assert lane.run_starts(lane.at(len(lane.table))).tolist() == cells[starts].tolist()


def test_the_page_says_the_same_of_every_layer(recording) -> None:
    trace = recording.trace
    board = Board(trace.header, pixels)
    shots = [board.snapshot()]
    for frame in trace.frames:
        board.fold(frame)
        shots.append(board.snapshot())
    live, replayed = report("replay", shots)
    assert live == replayed
    shown = report("layers", shots[-1])
    for i in range(len(LANES)):
        lane = LaneReplay(trace, i)
        for k in range(len(lane.table) + 1):
            now = lane.at(k)
            values = shown["lanes"][i][k]["values"]["order"]
            expected = lane.values(Layer.ORDER, now)
            assert [np.nan if x is None else x for x in values] == pytest.approx(
                expected, nan_ok=True
            )
    assert shown["ranges"]["order"] == [1, sum(MASK)]


@pytest.mark.parametrize("layer", list(Layer))
def test_every_layer_is_photographed(recording, layer) -> None:
    for t in (0.0, 3.0):
        assert photo(recording, "passes", t, layer, 1.0, [0, 1, 4], dark=True).startswith(
            b"\x89PNG"
        )


def test_it_is_taken_away_as_any_race_is(recording) -> None:
    assert RecordedRace.loads(recording.dumps()) == recording
    assert film(recording, Kind.WEBP, speed=16.0, lanes=[1])
    assert '"infilling"' in standalone(recording)
    assert len(steps_csv(recording.trace).splitlines()) == 1 + sum(
        len(recording.trace.table(i)) for i in range(len(LANES))
    )


def test_figures_are_of_the_tokens_that_were_filled_in(recording) -> None:
    drawn = {figure.name: figure for figure in figures(recording.trace)}
    assert f"its {sum(MASK)} tokens" in drawn["passes"].sentence


def test_it_has_no_place_among_whole_pictures(recording) -> None:
    assert rings(recording.trace) == []
    words = about(stored(), recording.trace)
    assert "filled in a part" in words
    assert "Rings are" not in words


def test_a_traces_picture_has_what_was_known(recording) -> None:
    trace: Trace = recording.trace
    for i in range(len(LANES)):
        tokens = trace.tokens(i)
        assert (tokens[KNOWN] == np.array(trace.header.infilling.known)[KNOWN]).all()
        assert (tokens >= 0).all()
