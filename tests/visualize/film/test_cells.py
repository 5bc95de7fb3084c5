from __future__ import annotations

import numpy as np
import pytest
from PIL import ImageColor

from engine.trace import LaneState, Status
from tests.visualize.races import ROWS, recorded
from visualize.film.cells import DRAFT, INK, Cells, atlas, mark
from visualize.film.layers import COUNTS, MARKS, SCALES, Instant, LaneReplay, Layer, colours, shares
from visualize.look import COLOURS
from visualize.pictures.recorded_race import RecordedRace, pixels

PAPER, RULE, SIGNAL = COLOURS["paper"], COLOURS["rule"], COLOURS["signal"]
GRID, SIDE = 6, 192  # of a lane: 6 x 6 cells of 32 pixels


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    return recorded(side=GRID)


@pytest.fixture(scope="module")
def lane(recording) -> LaneReplay:
    return LaneReplay(recording.trace, 1)


@pytest.fixture(scope="module")
def now(lane) -> Instant:
    """An instant with drafts that stand, and room before and behind them."""
    instants = map(lane.at, range(len(lane.table)))
    return next(now for now in instants if now.n >= 2 and now.n + 2 <= len(now.rows) < GRID * GRID)


def drawn(
    recording: RecordedRace,
    lane: LaneReplay,
    layer: Layer,
    now: Instant,
    *,
    under: bool | None = None,
    codes: int = 16,
) -> np.ndarray:
    """The second lane; by default its picture is `under` no layer but its own. With swatches
    of so many codes."""
    pictured = layer is Layer.PICTURE if under is None else under
    pictures = recording.pictures
    swatches = atlas(pictures.swatches, codes) if codes else None
    most = lane.most(layer) if layer in (*COUNTS, Layer.ORDER) else 1
    picture = pictures.lanes[1] if pictured else None
    cells = Cells(lane, recording.trace.header.grid, SIDE, layer, most, picture, swatches)
    assert cells.blank is (picture is None and swatches is None)
    return np.asarray(cells.draw(now)).astype(int)


def rgb(colour: str) -> np.ndarray:
    return np.array(ImageColor.getrgb(colour))


def corners() -> list[tuple[int, int]]:
    """The left upper pixel of each cell."""
    return [(32 * (cell // GRID), 32 * (cell % GRID)) for cell in range(GRID * GRID)]


def test_atlas_has_every_code_at_its_place(recording) -> None:
    sheet = pixels(recording.pictures.swatches)
    tiles = atlas(recording.pictures.swatches, 16)
    assert tiles.shape == (16, 8, 8, 3)
    for code in range(16):
        np.testing.assert_array_equal(tiles[code], sheet[:8, 8 * code : 8 * code + 8])


def test_picture_is_solid_where_committed_pale_where_drafted(recording, lane, now) -> None:
    image = drawn(recording, lane, Layer.PICTURE, now)
    final = pixels(recording.pictures.lanes[1]).astype(int)
    tiles = atlas(recording.pictures.swatches, 16)
    for cell, (y, x) in enumerate(corners()):
        expected = rgb(PAPER)
        if cell < now.n:
            expected = final[y // 4 + 4, x // 4 + 4]
        elif cell < len(now.rows):
            swatch = tiles[lane.table.positions["token"][now.rows[cell]]][4, 4]
            expected = DRAFT["opacity"] * swatch + (1 - DRAFT["opacity"]) * rgb(PAPER)
        assert np.abs(image[y + 16, x + 16] - expected).max() <= 3, cell


@pytest.mark.parametrize("codes", [0, 1])
def test_without_picture_or_swatch_what_is_committed_is_grey(recording, lane, now, codes) -> None:
    image = drawn(recording, lane, Layer.PICTURE, now, under=False, codes=codes)
    np.testing.assert_array_equal(image[16, 16], rgb(RULE))
    np.testing.assert_array_equal(image[-1, -1], rgb(PAPER))


@pytest.mark.parametrize("layer", SCALES)
def test_a_colour_says_the_number(recording, lane, now, layer) -> None:
    image, values = drawn(recording, lane, layer, now), lane.values(layer, now)
    most = lane.most(layer) if layer in (*COUNTS, Layer.ORDER) else 1
    expected = colours(layer, shares(layer, values, most))
    inset = int(32 * DRAFT["inset"] / 2)  # outside the small square of a draft, inside the cell
    for cell, ((y, x), value) in enumerate(zip(corners(), values, strict=False)):
        if np.isnan(value):
            assert np.abs(image[y + 10, x + 10] - rgb(PAPER)).max() == 0  # off the stroke
            assert (image[y + 8 : y + 24, x + 8 : x + 24] != rgb(PAPER)).any()
        else:
            np.testing.assert_array_equal(image[y + 16, x + 16], expected[cell])
            corner = image[y + inset + 3, x + inset + 1]  # beside the notch of a run
            colour = expected[cell] if cell < now.n else rgb(PAPER)
            assert (corner == colour).all() or cell == now.n


def test_a_notch_begins_each_run(recording, lane, now) -> None:
    image, values = drawn(recording, lane, Layer.RUNS, now), lane.values(Layer.RUNS, now)
    starts = set(lane.run_starts(now).tolist())
    assert 0 < len(starts) < now.n
    for cell, (y, x) in enumerate(corners()[: now.n]):
        assert (image[y + 16, x + 1] != image[y + 16, x + 6]).any() == (cell in starts), cell
    assert not np.isnan(values[: now.n]).any()


def test_statuses_are_distinct_by_shape_and_by_colour(recording, lane, now) -> None:
    image = drawn(recording, lane, Layer.STATUS, now)
    statuses = lane.table.positions["status"][now.rows]
    for cell, ((y, x), status) in enumerate(zip(corners(), statuses, strict=False)):
        inset = 0 if cell < now.n else round(32 * DRAFT["inset"] / 2)
        side = 32 - 2 * inset
        sprite = np.asarray(mark(Status(int(status)), side, side)).astype(int)
        inside = image[y + inset : y + inset + side, x + inset : x + inset + side]
        np.testing.assert_array_equal(inside[6:-6, 6:-6], sprite[6:-6, 6:-6])
    sprites = {status: np.asarray(mark(status, 32, 32)).astype(int) for status in Status}
    assert len({(sprite.sum(-1) < 200).tobytes() for sprite in sprites.values()}) == len(Status)
    for status, sprite in sprites.items():
        np.testing.assert_array_equal(sprite[0, 0], rgb(MARKS[status][1]))


def test_the_frontier_and_drafts_stand_until_the_finish(recording, lane, now) -> None:
    def of(colour: str, layer: Layer, instant: Instant) -> np.ndarray:
        return (drawn(recording, lane, layer, instant) == rgb(colour)).all(-1)

    red = of(SIGNAL, Layer.STATUS, now)
    row, column = divmod(now.n, GRID)
    assert red[max(0, 32 * row - 1) : 32 * row + 2, 32 * column + 8 : SIDE - 8].all(1).any()
    assert red.sum() > 100
    assert of(INK, Layer.PICTURE, now).any()
    end = lane.at(len(lane.table))
    assert end.state is LaneState.FINISHED
    assert not of(SIGNAL, Layer.STATUS, end).any()
    assert not of(INK, Layer.PICTURE, end).any()


def test_where_rows_advance_each_at_its_own_pace_each_has_a_front_and_a_frame(monkeypatch) -> None:
    recording = recorded(ROWS, side=GRID)
    lane = LaneReplay(recording.trace, 0)
    framed: list[range] = []
    monkeypatch.setattr(Cells, "_frames", lambda self, image, cells: framed.append(cells))
    several = 0
    for k in range(1, len(lane.table)):
        now = lane.at(k)
        framed.clear()
        image = drawn(recording, lane, Layer.STATUS, now)
        assert [cell for cells in framed for cell in cells] == now.cells[now.n :].tolist()
        red = (image == rgb(SIGNAL)).all(-1)
        reach = np.bincount(now.cells[: now.n] // GRID, minlength=GRID)
        for row, count in enumerate(reach.tolist()):
            middle = red[32 * row + 16]  # of what is left and right of a line that goes down
            at = np.flatnonzero(middle)
            if not 0 < count < GRID:
                assert (at <= 3).all(), "at the left edge, if anywhere"
            else:
                assert np.abs(at - 32 * count).max() <= 3
        fronts = ((reach > 0) & (reach < GRID)).sum()
        several += len(framed) > 1 < fronts
    assert several > 3


@pytest.mark.parametrize("grid", [(1, 256), (256, 1), (48, 48), (4, 9)])
@pytest.mark.parametrize("side", [5, 150])
def test_any_grid_fits(lane, grid, side) -> None:
    for layer in Layer:
        image = Cells(lane, grid, side, layer, 5, None, None).draw(lane.at(len(lane.table) - 1))
        assert 1 <= min(image.size) <= max(image.size) <= side


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 4), (40, 41)])
def test_marks_can_be_any_size(size) -> None:
    assert {mark(status, *size).size for status in Status} == {size}


def test_the_picture_shows_faintly_under_a_layers_committed_cells(recording, lane, now) -> None:
    both = drawn(recording, lane, Layer.TV, now, under=True)
    over, picture = (drawn(recording, lane, layer, now) for layer in (Layer.TV, Layer.PICTURE))
    difference = np.abs(both - (0.75 * over + 0.25 * picture)).max(-1)
    committed = np.isin(np.arange(GRID * GRID), now.cells[: now.n]).reshape(GRID, GRID)
    mask = committed.repeat(32, 0).repeat(32, 1)
    inside = mask.copy()
    inside[-64:] = False
    edge = np.abs(over - picture).max(-1) == 0  # frames and the frontier, drawn over both
    assert (difference[inside & ~edge] <= 2).mean() > 0.9
    assert (both[~mask] == over[~mask]).all()
