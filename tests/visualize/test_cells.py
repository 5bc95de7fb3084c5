from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import ImageColor

from engine.trace import LaneState, Status
from tests.visualize.races import toy_trace
from visualize.cells import DRAFT, INK, PAPER, RULE, SIGNAL, Cells, atlas, mark
from visualize.layers import COUNTS, MARKS, SCALES, Instant, LaneReplay, Layer, colours, shares
from visualize.recorded_race import RecordedRace, pixels, record

GRID, SIDE = 6, 192  # of a lane: 6 x 6 cells of 32 pixels
MIDDLES = 16 + 32 * np.arange(GRID)


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    return record(*toy_trace(("ar", "sjd"), side=GRID))


@pytest.fixture(scope="module")
def lane(recording) -> LaneReplay:
    return LaneReplay(recording.trace, 1)


def drawn(
    recording: RecordedRace, lane: LaneReplay, layer: Layer, now: Instant, *, bare: bool = False
) -> np.ndarray:
    pictures = recording.pictures
    swatches = None if bare else atlas(pictures.swatches, recording.trace.header.vocab_size)
    most = lane.most(layer) if layer in COUNTS else 1
    # Without the picture that shows faintly under the other layers, which has a test of its own.
    picture = pictures.lanes[1] if layer is Layer.PICTURE and not bare else None
    cells = Cells(lane, recording.trace.header.grid, SIDE, layer, most, picture, swatches)
    assert cells.blank is bare
    return np.asarray(cells.draw(now)).astype(int)


def midway(lane: LaneReplay) -> Instant:
    """An instant with drafts that stand, and room before and behind them."""
    return next(
        now
        for now in map(lane.at, range(len(lane.table)))
        if now.n >= 2 and now.n + 2 <= len(now.rows) < GRID * GRID
    )


def rgb(colour: str) -> np.ndarray:
    return np.array(ImageColor.getrgb(colour))


def test_atlas_has_every_code_at_its_place(recording) -> None:
    sheet = pixels(recording.pictures.swatches)
    tiles = atlas(recording.pictures.swatches, 16)
    assert tiles.shape == (16, 8, 8, 3)
    for code in range(16):
        np.testing.assert_array_equal(tiles[code], sheet[:8, 8 * code : 8 * code + 8])


def test_picture_is_solid_where_committed_pale_where_drafted(recording, lane) -> None:
    now = midway(lane)
    image, final = (
        drawn(recording, lane, Layer.PICTURE, now),
        pixels(recording.pictures.lanes[1]).astype(int),
    )
    tiles = atlas(recording.pictures.swatches, 16)
    for cell in range(GRID * GRID):
        middle = image[MIDDLES[cell // GRID], MIDDLES[cell % GRID]]
        if cell < now.n:
            expected = final[8 * (cell // GRID) + 4, 8 * (cell % GRID) + 4]
        elif cell < len(now.rows):
            swatch = tiles[lane.table.positions["token"][now.rows[cell]]][4, 4]
            expected = DRAFT["opacity"] * swatch + (1 - DRAFT["opacity"]) * rgb(PAPER)
        else:
            expected = rgb(PAPER)
        assert np.abs(middle - expected).max() <= 3, cell


def test_without_a_picture_what_is_committed_is_grey(recording, lane) -> None:
    now = midway(lane)
    image = drawn(recording, lane, Layer.PICTURE, now, bare=True)
    np.testing.assert_array_equal(image[16, 16], rgb(RULE))
    np.testing.assert_array_equal(image[-1, -1], rgb(PAPER))


@pytest.mark.parametrize("layer", SCALES)
def test_a_colour_says_the_number(recording, lane, layer) -> None:
    now = midway(lane)
    image, values = drawn(recording, lane, layer, now), lane.values(layer, now)
    expected = colours(layer, shares(layer, values, lane.most(layer) if layer in COUNTS else 1))
    inset = int(32 * DRAFT["inset"] / 2)  # outside the small square of a draft, inside the cell
    for cell, value in enumerate(values):
        y, x = MIDDLES[cell // GRID], MIDDLES[cell % GRID]
        if np.isnan(value):
            assert np.abs(image[y - 6, x - 6] - rgb(PAPER)).max() == 0  # off the stroke
            assert (image[y - 8 : y + 8, x - 8 : x + 8] != rgb(PAPER)).any()
        else:
            np.testing.assert_array_equal(image[y, x], expected[cell])
            corner = image[y - 16 + inset + 3, x - 16 + inset + 1]  # beside the notch of a run
            assert (
                corner == (expected[cell] if cell < now.n else rgb(PAPER))
            ).all() or cell == now.n


def test_a_notch_begins_each_run(recording, lane) -> None:
    now = midway(lane)
    image, values = drawn(recording, lane, Layer.RUNS, now), lane.values(Layer.RUNS, now)
    starts = set(lane.run_starts(now).tolist())
    assert 0 < len(starts) < now.n
    for cell in range(now.n):
        y, x = MIDDLES[cell // GRID], 32 * (cell % GRID)
        assert (image[y, x + 1] != image[y, x + 6]).any() == (cell in starts), cell
    assert not np.isnan(values[: now.n]).any()


def test_statuses_are_distinct_by_shape_and_by_colour(recording, lane) -> None:
    now = midway(lane)
    image = drawn(recording, lane, Layer.STATUS, now)
    for cell, status in enumerate(lane.table.positions["status"][now.rows]):
        y, x = 32 * (cell // GRID), 32 * (cell % GRID)
        inset = 0 if cell < now.n else round(32 * DRAFT["inset"] / 2)
        side = 32 - 2 * inset
        sprite = np.asarray(mark(Status(int(status)), side, side)).astype(int)
        y, x = y + inset, x + inset
        np.testing.assert_array_equal(
            image[y + 6 : y + side - 6, x + 6 : x + side - 6], sprite[6:-6, 6:-6]
        )
    sprites = {status: np.asarray(mark(status, 32, 32)).astype(int) for status in Status}
    dark = {status: (sprite.sum(-1) < 200).tobytes() for status, sprite in sprites.items()}
    assert len(set(dark.values())) == len(Status)
    for status, sprite in sprites.items():
        np.testing.assert_array_equal(sprite[0, 0], rgb(MARKS[status][1]))


def test_the_frontier_stands_until_the_finish(recording, lane) -> None:
    now = midway(lane)
    red = (drawn(recording, lane, Layer.STATUS, now) == rgb(SIGNAL)).all(-1)
    row, column = divmod(now.n, GRID)
    assert red[max(0, 32 * row - 1) : 32 * row + 2, 32 * column + 8 : SIDE - 8].all(1).any()
    assert red.sum() > 100
    end = lane.at(len(lane.table))
    assert end.state is LaneState.FINISHED
    assert not (drawn(recording, lane, Layer.STATUS, end) == rgb(SIGNAL)).all(-1).any()
    drafts = (drawn(recording, lane, Layer.PICTURE, now) == rgb(INK)).all(-1)
    assert drafts.any()
    assert not (drawn(recording, lane, Layer.PICTURE, end) == rgb(INK)).all(-1).any()


@pytest.mark.parametrize("grid", [(1, 256), (256, 1), (48, 48), (4, 9)])
@pytest.mark.parametrize("side", [5, 150])
def test_any_grid_fits(recording, lane, grid, side) -> None:
    for layer in Layer:
        image = Cells(lane, grid, side, layer, 5, None, None).draw(lane.at(len(lane.table) - 1))
        assert max(image.size) <= side
        assert min(image.size) >= 1


def test_marks_can_be_any_size() -> None:
    for status in Status:
        for size in ((1, 1), (2, 3), (5, 4), (40, 41)):
            assert mark(status, *size).size == size


def test_a_code_without_a_swatch_is_grey(recording, lane) -> None:
    """Where the sheet has fewer codes than the lane's tokens need."""
    strange = replace(recording.pictures, lanes=(None, None))
    cells = Cells(
        lane, (GRID, GRID), SIDE, Layer.PICTURE, 1, strange.lanes[1], atlas(strange.swatches, 1)
    )
    assert cells.draw(lane.at(3)).getpixel((16, 16)) == tuple(rgb(RULE))


def test_the_picture_shows_faintly_under_what_a_layer_says_of_committed_cells(
    recording, lane
) -> None:
    now, grid, pictures = midway(lane), recording.trace.header.grid, recording.pictures
    swatches = atlas(pictures.swatches, recording.trace.header.vocab_size)
    under = Cells(lane, grid, SIDE, Layer.TV, 1, pictures.lanes[1], swatches).draw(now)
    over = drawn(recording, lane, Layer.TV, now)
    picture = drawn(recording, lane, Layer.PICTURE, now)
    difference = np.abs(np.asarray(under) - (0.75 * over + 0.25 * picture)).max(-1)
    committed = np.zeros(GRID * GRID, bool)
    committed[now.cells[: now.n]] = True
    side = SIDE // GRID
    mask = committed.reshape(GRID, GRID).repeat(side, 0).repeat(side, 1)
    inside = mask.copy()
    inside[-side * 2 :] = False
    edge = np.abs(over - picture).max(-1) == 0  # frames and the frontier, drawn over both
    assert (difference[inside & ~edge] <= 2).mean() > 0.9
    assert (np.asarray(under).astype(int)[~mask] == over[~mask]).all()
