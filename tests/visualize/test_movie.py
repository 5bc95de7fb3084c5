from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageSequence

from engine.records import Seconds
from engine.trace import Trace
from tests.visualize.races import pixels, run
from visualize.board import Board
from visualize.movie import HOLD, MOST, PER_SECOND, draw, film, instants


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
    pictures, times = decoded(film(trace, pixels))
    interval = max(1 / PER_SECOND, instants(trace)[-1][0] / MOST)
    assert len(pictures) == int(instants(trace)[-1][0] / interval) + 2
    assert times == [round(1000 * interval)] * (len(pictures) - 1) + [round(1000 * HOLD)]
    assert np.abs(pictures[0] - pictures[-1]).mean() > 1


def test_long_race_stays_a_small_file(trace) -> None:
    slowed = [
        frame if frame.step is None else replace(frame, step=replace(frame.step, seconds=Seconds(forward=3.0)))
        for frame in trace.frames
    ]
    data = film(replace(trace, frames=tuple(slowed)), pixels)
    assert MOST <= len(decoded(data)[0]) <= MOST + 2
    assert len(data) < 3_000_000


def decoded(data: bytes) -> tuple[list[np.ndarray], list[int]]:
    """The pictures of an animated file, and how many milliseconds each stays."""
    with Image.open(io.BytesIO(data)) as image:
        pairs = []
        for frame in ImageSequence.Iterator(image):
            pairs.append((np.asarray(frame.convert("RGB")).astype(int), frame.info["duration"]))
    return [picture for picture, _ in pairs], [time for _, time in pairs]


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
