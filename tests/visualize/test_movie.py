from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageSequence

from engine.trace import Trace
from tests.visualize.races import pixels, run
from visualize.board import Board
from visualize.movie import PER_SECOND, draw, film, instants


@pytest.fixture(scope="module")
def trace() -> Trace:
    header, frames = run(side=8)
    return Trace(header, tuple(frames))


def test_lanes_run_at_once(trace) -> None:
    timed = list(instants(trace))
    assert [seconds for seconds, _ in timed] == sorted(seconds for seconds, _ in timed)
    for lane in range(len(trace.header.lanes)):
        assert [f for _, f in timed if f.lane == lane] == [f for f in trace.frames if f.lane == lane]


def test_film_runs_as_long_as_the_slowest_lane(trace) -> None:
    data = film(trace, pixels)
    slowest = max(seconds for seconds, _ in instants(trace))
    with Image.open(io.BytesIO(data)) as image:
        frames = [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(image)]
        assert image.info["loop"] == 0
    assert len(frames) == int(slowest * PER_SECOND) + 2
    assert np.abs(frames[0] - frames[-1]).mean() > 1
    assert len(data) < 3_000_000


def test_finished_board_shows_the_pictures(trace) -> None:
    board = Board(trace.header, pixels)
    for frame in trace.frames:
        board.fold(frame)
    snapshot = board.snapshot()
    image = draw(snapshot, 1.0)
    assert image.width == 5 * 176 + 16
    tokens = [int(snapshot["lanes"][0]["tokens"][at : at + 4], 16) for at in range(0, 256, 4)]
    colours = pixels(np.array(tokens).reshape(1, 8, 8))[0]
    middle = image.getpixel((16 + 30, 100 + 30))  # the middle of the cell in row 1, column 1: 20 pixels a cell
    assert np.abs(np.array(middle) - colours[12, 12]).max() <= 2
