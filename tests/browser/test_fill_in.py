"""Filling in a part of a picture: painting the mask, racing, and what the board shows of it. Which
cells each tool paints is tested in node, which lanes race and what a link holds in
tests/app/page/test_fill_in.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.page.test_fill_in import CODES, MASK
from tests.browser.acts import (
    finished,
    hashes,
    key,
    prompted,
    race,
    set_lanes,
    show_layer,
    show_options,
    wide,
)
from tests.browser.servers import served
from tests.infill_toys import BelowToy, NeighbourToy
from visualize.film.layers import Layer

LANES = ["Vanilla AR", "ASSD", "ASSD drafts=n-gram", "SJD", "SCD", "Parallel"]
ROWS_LANES = ["Vanilla AR", "Fixed point", "SJD", "SCD"]  # where rows are drawn
PROMPT = "cactus on yellow sand"


@pytest.fixture(scope="module")
def url(filling_folder: Path) -> Iterator[str]:
    with served(NeighbourToy(), filling_folder) as address:
        yield address


def fill_in(page: Page, lane: int = 0) -> Locator:
    """Opens the finished picture of a lane; returns its canvas."""
    key(page, "End")
    page.locator(".lane .fill").nth(lane).click()
    canvas = page.locator(".fill-in canvas")
    expect(canvas).to_be_visible()
    expect(canvas).to_be_focused()
    return canvas


def drag(page: Page, canvas: Locator, *cells: tuple[int, int]) -> None:
    """Drags over the middles of cells (row, column) of the 6 x 6 grid."""
    left, top, width, height = canvas.bounding_box().values()
    points = [
        (left + width * (column + 0.5) / 6, top + height * (row + 0.5) / 6) for row, column in cells
    ]
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points:
        page.mouse.move(*point)
    page.mouse.up()


def counted(page: Page, masked: int) -> None:
    expect(page.locator(".fill-count")).to_have_text(f"{masked} of 36 tokens to fill in.")


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_a_part_of_a_recorded_picture_is_painted_and_raced(open_page, url) -> None:
    page = open_page(url)
    board, live = page.locator(".board"), page.locator(".fill-live")
    names = page.locator(".lane-what select")
    add = page.get_by_role("button", name="Add ASSD", exact=True)
    set_lanes(page, "ar", "gsd")
    expect(add).to_have_count(0)
    expect(page.locator(".fill-in")).to_be_hidden()

    # By the pointer. Lanes that only fill in are offered meanwhile.
    canvas = fill_in(page, 1)
    expect(page.locator("#prompt input, #prompt textarea")).to_have_value(PROMPT)
    expect(page.locator(".fill-race")).to_be_disabled()
    show_options(page)
    expect(names).to_have_count(6)
    expect(add).to_have_count(1)
    drag(page, canvas, (1, 1), (3, 3))
    counted(page, 9)
    press(page, "Brush")
    drag(page, canvas, (4, 0), (4, 2))
    counted(page, 17)
    press(page, "Erase")
    drag(page, canvas, (4, 0), (4, 0))
    counted(page, 13)
    page.locator("#prompt input, #prompt textarea").fill("octopus on blue water")
    page.locator(".fill-race").click()
    finished(page)
    expect(page.locator(".lane .title")).to_have_text(LANES)
    expect(page.locator(".board .prompt")).to_have_text("octopus on blue water")
    expect(page.locator(".board .meta")).to_contain_text("6 × 6 tokens, 13 filled in")
    assert hashes(page, "n") == ["13"] * 6
    bounds = page.locator(".bound-row:not([hidden]) .bound")
    expect(bounds).to_have_text(["13 passes"] * 2)
    at_most = page.locator(".results th", has_text="At most")
    expect(at_most).to_be_visible()
    # A lane's speed-up may have these digits too.
    expect(page.locator(".results").get_by_text("13", exact=True).first).to_be_visible()
    expect(page.locator(".fill-again")).to_be_visible()
    expect(canvas).to_be_hidden()

    # By keys, and a screen reader hears it; the board's own keys rest.
    fill_in(page)
    before = board.get_attribute("data-t")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(live).to_have_text(
        "Row 2, column 2: known. In the whole picture: 0 of 36 tokens to fill in."
    )
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    expect(live).to_contain_text("From row 2, column 2 to row 3, column 3: known.")
    page.keyboard.press("Space")
    expect(live).to_contain_text(
        "to be filled in. In the whole picture: 4 of 36 tokens to fill in."
    )
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    counted(page, 3)
    assert board.get_attribute("data-t") == before
    press(page, "Clear")
    for act, masked in (("Scatter", 5), ("Scatter", 10), ("Invert", 26), ("Clear", 0)):
        press(page, act)
        counted(page, masked)

    # A whole picture again, with its lanes.
    page.locator(".fill-whole").click()
    expect(page.locator(".fill-in")).to_be_hidden()
    show_options(page)
    expect(add).to_have_count(0)
    assert names.evaluate_all("all => all.map(select => select.value)") == ["ar", "gsd"]
    race(page, lanes=("ar", "sjd"))
    expect(page.locator(".lane")).to_have_count(2)
    finished(page)
    expect(page.locator(".board .meta")).not_to_contain_text("filled in")


def ink(page: Page, lane: int) -> list[list[int]]:
    """The colours in the middles of a lane's cells."""
    canvas = page.locator(".lane canvas").nth(lane)
    return canvas.evaluate("""canvas => {
      const [pen, side] = [canvas.getContext("2d"), canvas.width / 6];
      return Array.from({ length: 36 }, (_, cell) => {
        const [x, y] = [(cell % 6) * side, Math.floor(cell / 6) * side];
        return [...pen.getImageData(x + side / 2, y + side / 2, 1, 1).data];
      });
    }""")


def test_a_race_of_a_part_is_replayed_linked_and_opened_from_its_file(
    open_page, url, filling_folder
) -> None:
    page = open_page(url, query="?recorded=part")
    board, legend = page.locator(".board"), page.locator(".board .legend")
    expect(page.locator(".board .meta")).to_contain_text("9 filled in")

    # What was known is drawn at every instant.
    key(page, "Home")
    expect(board).to_have_attribute("data-t", "0")
    start = ink(page, 1)
    key(page, "End")
    expect(board).to_have_attribute("data-done", "1")
    end = ink(page, 1)
    assert all(start[cell] == end[cell] for cell in range(36) if not MASK[cell])
    assert all(end[cell][3] == 255 for cell in range(36))
    expect(legend).to_contain_text("Outside the outline: known from the start")
    page.locator(".lane canvas").first.click(position={"x": 4, "y": 4})
    token = page.locator(".token")
    expect(token.locator("h3")).to_have_text(f"Why token {CODES[0]}?")
    expect(token.locator(".token-why")).to_contain_text("This token was known from the start")
    expect(page.locator(".board .live")).to_contain_text("known from the start")
    show_layer(page, Layer.ORDER)
    expect(legend).to_contain_text("pass 9")

    # Its settings bring the mask back, also after it was left; so does a link to them.
    for _ in range(2):
        page.locator(".use-settings").click()
        expect(page.locator(".fill-count")).to_contain_text("9 of 36 tokens to fill in")
        expect(page.locator(".lane-row")).to_have_count(3)
        page.locator(".fill-whole").click()
        expect(page.locator(".fill-in")).to_be_hidden()
    page.locator(".use-settings").click()
    expect(page.locator(".fill-in")).to_be_visible()
    show_options(page)
    press(page, "Copy link to these settings")
    field = page.locator("#link input, #link textarea")
    expect(field).not_to_have_value("")
    linked = open_page(field.input_value() + "&go=1")
    finished(linked)
    expect(linked.locator(".board .meta")).to_contain_text("9 filled in")
    expect(linked.locator(".lane .title")).to_have_text(["Vanilla AR", "ASSD", "Parallel"])

    # And its file, on a board that showed another race.
    race(linked, lanes=("ar",))
    expect(linked.locator(".lane")).to_have_count(1)
    finished(linked)
    linked.locator("#bring input[type=file]").first.set_input_files(filling_folder / "part.json")
    expect(linked.locator(".lane")).to_have_count(3)
    expect(linked.locator(".board .meta")).to_contain_text("9 filled in")
    fill_in(linked, 2)
    counted(linked, 0)


def test_a_picture_is_drawn_on_from_a_token_and_stands_beside_its_parent(open_page, url) -> None:
    page = open_page(url)
    race(page, "first of all", lanes=("ar", "sjd"))
    finished(page)
    whole = hashes(page)

    # From a token of vanilla AR's, with the likeliest other one.
    canvas = page.locator(".lane canvas").first
    side = canvas.bounding_box()["width"]
    canvas.click(position={"x": 2.5 * side / 6, "y": 2.5 * side / 6})
    bars = page.locator(".token .bar-row:has(.fork)")
    other = bars.filter(has_not_text="token").filter(has_not_text="accepted").first
    token = int(other.locator(".bar-id").inner_text())
    other.get_by_role("button", name="Draw on").click()
    meta = page.locator(".board .meta")
    origin = page.locator(".board .origin")
    words = f"From seed 7, Vanilla AR, row 3, column 3: token {token} instead"
    expect(origin).to_contain_text(words)
    finished(page)
    expect(meta).to_contain_text("21 drawn on")
    assert hashes(page, "n") == ["21"] * 2
    expect(page.locator(".fill-count")).to_contain_text("21 of 36 tokens to draw on, from seed 7")
    expect(page.locator(".fill-again")).to_be_hidden()

    # The list has it below its parent, and one board both.
    key(page, "e")
    rows = page.get_by_role("rowgroup", name="In this window").locator("tr:has(td)")
    expect(rows.locator(".races-show")).to_have_text(
        ["first of all", re.compile("↳ first of all, from seed 7, Vanilla AR, row 3")]
    )
    rows.first.get_by_role("button", name="Beside").click()
    prompted(page, "A: first of all, seed 7, a fork. B: first of all, seed 7.")
    expect(page.locator(".lane")).to_have_count(4)
    assert hashes(page)[2:] == whole
    expect(page.locator(".token .fork").filter(visible=True)).to_have_count(0)

    # From a token that no bar has; one that no code has is asked for again.
    key(page, "e")
    page.get_by_role("button", name="first of all", exact=True).click()
    prompted(page, "first of all")
    canvas.click(position={"x": 2.5 * side / 6, "y": 2.5 * side / 6})
    others = page.locator(".fork-others")
    others.locator("summary").click()
    others.locator("input").fill("16")
    others.get_by_role("button", name="Draw on").click()
    assert others.locator("input").evaluate("field => field.validity.rangeOverflow")
    others.locator(".atlas").click(position={"x": 4, "y": 4})
    expect(others.locator("input")).to_have_value("0")
    others.get_by_role("button", name="Other noise from here").click()
    expect(origin).to_have_text("From seed 7, Vanilla AR, row 3, column 3: other noise.")
    finished(page)
    assert hashes(page, "n") == ["22"] * 2
    page.locator(".fill-whole").click()


def test_a_model_that_draws_pictures_on_masks_rows_on_a_phone_too(
    open_page, filling_folder
) -> None:
    """By finger, pointer and keys; with the lanes that can race, in raster order."""
    with served(BelowToy(), filling_folder) as address:
        page = open_page(address, 390, 844, fresh=True)  # which has touch
        canvas = fill_in(page, 1)
        expect(page.locator(".fill-in")).to_contain_text("from one row down")
        for name in ("Box", "Brush", "Erase", "Scatter", "Invert"):
            expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        expect(page.locator(".fill-order")).to_be_hidden()
        assert wide(page) <= 0
        assert canvas.evaluate("canvas => getComputedStyle(canvas).touchAction") == "none"
        box = canvas.bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] / 12, box["y"] + 11 * box["height"] / 12)
        counted(page, 6)
        drag(page, canvas, (2, 3), (4, 1))
        counted(page, 12)
        drag(page, canvas, (3, 5))
        counted(page, 18)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Space")
        counted(page, 12)
        for _ in range(3):
            page.keyboard.press("ArrowUp")
        page.keyboard.press("Space")
        counted(page, 30)
        expect(page.locator(".fill-live")).to_have_text(
            "From row 2, column 1 to row 6, column 6: to be filled in."
            " In the whole picture: 30 of 36 tokens to fill in."
        )
        show_options(page)
        expect(page.get_by_role("button", name="Add ASSD", exact=True)).to_have_count(0)
        page.locator(".fill-race").click()
        finished(page)
        expect(page.locator(".lane .title")).to_have_text(ROWS_LANES)
        expect(page.locator(".board .meta")).to_contain_text("30 filled in row by row")
        page.goto("about:blank")  # what it still asks would see its server stop
