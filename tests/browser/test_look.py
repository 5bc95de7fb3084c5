"""One look: what the page draws of a recorded race at one instant, and what films draw of it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable

import numpy as np
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.acts import by_passes, show_layer
from tests.visualize.races import FIVE, filled_trace, recorded
from visualize.film.cells import Cells, atlas
from visualize.film.layers import COUNTED, LaneReplay, Layer
from visualize.look import COLOURS
from visualize.pictures.recorded_race import RecordedRace, record

PASS = 20  # a lane has finished, and others have drafts behind their frontier
SIDE = 48  # pixels of a cell
PARTS = 4  # of a cell, along and across


def opened(open_file: Callable[..., Page], recording: RecordedRace) -> Page:
    """The file of a race, by passes, with cells of SIDE pixels."""
    page = open_file(recording, 1456, 1000, still=True)
    rows, columns = recording.trace.header.grid
    page.add_style_tag(content=f".lane canvas {{ width: {SIDE * columns}px !important; }}")
    page.wait_for_function(
        "([width, height]) => [...document.querySelectorAll('.lane canvas')].every((canvas) =>"
        " canvas.width === width && canvas.height === height)",
        arg=[SIDE * columns, SIDE * rows],
    )
    by_passes(page)
    return page


def scrub(page: Page, at: int) -> None:
    page.locator(".scrub").fill(str(at))
    expect(page.locator(".board")).to_have_attribute("data-t", str(at))


def drawn(page: Page, layer: Layer) -> list[np.ndarray]:
    """Every lane's canvas on the ground that it lies on, int [H, W, 3]."""
    show_layer(page, layer)
    urls = page.eval_on_selector_all(".lane canvas", "all => all.map(one => one.toDataURL())")
    images = [Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))) for url in urls]
    grounds = [Image.new("RGBA", image.size, COLOURS["paper"]) for image in images]
    for ground, image in zip(grounds, images, strict=True):
        ground.alpha_composite(image.convert("RGBA"))
    return [np.asarray(ground.convert("RGB")).astype(int) for ground in grounds]


def in_parts(image: np.ndarray, parts: tuple[int, int]) -> np.ndarray:
    """The mean colours of an image cut into so many rows and columns."""
    (height, width), (rows, columns) = image.shape[:2], parts
    return image.reshape(rows, height // rows, columns, width // columns, 3).mean((1, 3))


def compare(page: Page, recording: RecordedRace, layer: Layer, at: int) -> int:
    """Holds each lane on the page to what a film draws of it; returns the number of drafts."""
    header, pictures = recording.trace.header, recording.pictures
    lanes = [LaneReplay(recording.trace, i) for i in range(len(header.lanes))]
    most = max(lane.most(layer) for lane in lanes) if layer in COUNTED else 1
    swatches = atlas(pictures.swatches, header.vocab_size)
    rows, columns = header.grid
    drafts = 0
    for i, (lane, canvas) in enumerate(zip(lanes, drawn(page, layer), strict=True)):
        now = lane.at(lane.step_at("passes", at))
        drafts += len(now.rows) - now.n
        assert canvas.shape == (rows * SIDE, columns * SIDE, 3)
        cells = Cells(lane, header.grid, canvas.shape[1], layer, most, pictures.lanes[i], swatches)
        film = np.asarray(cells.draw(now)).astype(int)
        # The middle of every cell, where its colour is, or its mark, or the stroke of no value.
        middles = np.add.outer(SIDE * np.arange(rows), [SIDE // 2 - 1, SIDE // 2]).ravel()
        centres = [in_parts(x[np.ix_(middles, middles)], header.grid) for x in (canvas, film)]
        difference = np.abs(centres[0] - centres[1]).max(-1)
        # Measured: up to 2.5 of 255.
        assert difference.max() <= 4, (i, np.argwhere(difference > 4).tolist())
        # All of every cell: marks, strokes, notches, frames and the frontier lie where they should.
        fine = [in_parts(x, (PARTS * rows, PARTS * columns)) for x in (canvas, film)]
        difference = np.abs(fine[0] - fine[1]).max(-1)
        assert (difference > 24).mean() < 0.01, i
        assert difference.max() < 64, (i, np.argwhere(difference >= 64).tolist())
    return drafts


def test_page_and_film_draw_the_same(open_file) -> None:
    """Every layer; and where vanilla AR's frontier is at a row's start, which has no stroke down
    the edge."""
    recording = recorded(FIVE, side=8)
    page = opened(open_file, recording)
    scrub(page, PASS)
    assert 0 < page.locator(".lane[data-state='finished']").count() < len(FIVE)
    for layer in Layer:
        assert compare(page, recording, layer, PASS) > 10
    scrub(page, 2 * recording.trace.header.grid[1])
    compare(page, recording, Layer.STATUS, 2 * recording.trace.header.grid[1])


def test_page_and_film_fill_in_the_same(open_file) -> None:
    recording = record(*filled_trace(("ar", "assd")))
    page = opened(open_file, recording)
    for at in (0, 3, 12):
        scrub(page, at)
        for layer in (Layer.PICTURE, Layer.TOP1, Layer.ORDER, Layer.STATUS):
            compare(page, recording, layer, at)
