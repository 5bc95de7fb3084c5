"""Filling in a part of a picture: painting the mask, racing, and what the board shows of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.page.test_fill_in import CODES, MASK
from tests.browser.acts import finished, hashes, key, prompted, race, set_lanes, show_options, wide
from tests.browser.servers import served
from tests.infill_toys import BelowToy, NeighbourToy

LANES = ["Vanilla AR", "ASSD", "ASSD drafts=n-gram", "SJD", "SCD", "Parallel"]
ROWS_LANES = ["Vanilla AR", "Fixed point", "SJD", "SCD"]  # where rows are drawn
PROMPT = "cactus on yellow sand"


@pytest.fixture(scope="module")
def url(filling_folder: Path) -> Iterator[str]:
    with served(NeighbourToy(), filling_folder) as address:
        yield address


@pytest.fixture
def part(url, open_page) -> Page:
    """A page that shows a race of a part."""
    page = open_page(url, query="?recorded=part")
    expect(page.locator(".board .meta")).to_contain_text("9 filled in")
    return page


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


def test_a_part_of_a_recorded_picture_is_painted_and_raced(open_page, url) -> None:
    page = open_page(url)
    expect(page.locator(".fill-in")).to_be_hidden()
    canvas = fill_in(page, 1)
    expect(page.locator("#prompt input, #prompt textarea")).to_have_value(PROMPT)
    expect(page.locator(".fill-race")).to_be_disabled()
    drag(page, canvas, (1, 1), (3, 3))
    counted(page, 9)
    page.get_by_role("button", name="Brush", exact=True).click()
    drag(page, canvas, (4, 0), (4, 2))
    counted(page, 17)
    page.get_by_role("button", name="Erase", exact=True).click()
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
    expect(page.locator(".results")).to_contain_text("(at most 13)")
    expect(page.locator(".fill-again")).to_be_visible()
    expect(canvas).to_be_hidden()


def test_keys_and_buttons_paint_and_a_screen_reader_hears_it(open_page, url) -> None:
    page = open_page(url)
    fill_in(page)
    live, board = page.locator(".fill-live"), page.locator(".board")
    before = board.get_attribute("data-t")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(live).to_have_text("Row 2, column 2: known. 0 of 36 tokens to fill in.")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    expect(live).to_contain_text("From row 2, column 2 to row 3, column 3: known.")
    page.keyboard.press("Space")
    expect(live).to_contain_text("to be filled in. 4 of 36 tokens to fill in.")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    counted(page, 3)
    assert board.get_attribute("data-t") == before  # the board's own keys rested
    page.get_by_role("button", name="Clear", exact=True).click()
    for act, masked in (("Scatter", 5), ("Scatter", 10), ("Invert", 26), ("Clear", 0)):
        page.get_by_role("button", name=act, exact=True).click()
        counted(page, masked)


def test_a_model_that_draws_pictures_on_masks_rows(open_page, filling_folder) -> None:
    """By pointer and by keys; with the lanes that can race, in raster order."""
    with served(BelowToy(), filling_folder) as address:
        page = open_page(address)
        canvas = fill_in(page, 1)
        expect(page.locator(".fill-in")).to_contain_text("everything below it")
        for name in ("Box", "Brush", "Erase", "Scatter", "Invert"):
            expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        expect(page.locator(".fill-order")).to_be_hidden()
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
            "From row 2, column 1 to row 6, column 6: to be filled in. 30 of 36 tokens to fill in."
        )
        show_options(page)
        expect(page.get_by_role("button", name="Add ASSD", exact=True)).to_have_count(0)
        page.locator(".fill-race").click()
        finished(page)
        expect(page.locator(".lane .title")).to_have_text(ROWS_LANES)
        expect(page.locator(".board .meta")).to_contain_text("30 filled in row by row")


def test_a_finger_paints_and_the_page_fits_a_phone(open_page, url) -> None:
    page = open_page(url, 390, 844, fresh=True)  # which has touch
    canvas = fill_in(page)
    box = canvas.bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 12, box["y"] + box["height"] / 12)
    counted(page, 1)
    assert canvas.evaluate("canvas => getComputedStyle(canvas).touchAction") == "none"
    assert wide(page) <= 0


def test_lanes_that_only_fill_in_are_offered_meanwhile(open_page, url) -> None:
    page = open_page(url)
    set_lanes(page, "ar", "gsd")
    names = page.locator(".lane-what select")
    add = page.get_by_role("button", name="Add ASSD", exact=True)
    expect(add).to_have_count(0)
    fill_in(page)
    show_options(page)
    expect(names).to_have_count(6)
    expect(add).to_have_count(1)
    page.locator(".fill-whole").click()
    expect(page.locator(".fill-in")).to_be_hidden()
    expect(add).to_have_count(0)
    shown = names.evaluate_all("all => all.map(select => select.value)")
    assert shown == ["ar", "gsd"]
    race(page, lanes=("ar", "sjd"))
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


def test_a_race_of_a_part_is_replayed_with_what_was_known_drawn_at_every_instant(part) -> None:
    page, board = part, part.locator(".board")
    key(page, "Home")
    expect(board).to_have_attribute("data-t", "0")
    start = ink(page, 1)
    key(page, "End")
    expect(board).to_have_attribute("data-done", "1")
    end = ink(page, 1)
    assert all(start[cell] == end[cell] for cell in range(36) if not MASK[cell])
    assert all(end[cell][3] == 255 for cell in range(36))
    legend = page.locator(".board .legend")
    expect(legend).to_contain_text("Outside the outline: known from the start")
    page.locator(".lane canvas").first.click(position={"x": 4, "y": 4})
    token = page.locator(".token")
    expect(token.locator("h3")).to_have_text(f"Why token {CODES[0]}?")
    expect(token.locator(".token-why")).to_contain_text("It was known from the start")
    expect(page.locator(".board .live")).to_contain_text("known from the start")
    page.locator(".layers button", has_text="Order").click()
    expect(legend).to_contain_text("pass 9")


def test_a_link_brings_the_mask_back(open_page, part) -> None:
    page = part
    for _ in range(2):  # also after it was left
        page.locator(".use-settings").click()
        expect(page.locator(".fill-count")).to_contain_text("9 of 36 tokens to fill in")
        expect(page.locator(".lane-row")).to_have_count(3)
        page.locator(".fill-whole").click()
        expect(page.locator(".fill-in")).to_be_hidden()
    page.locator(".use-settings").click()
    expect(page.locator(".fill-in")).to_be_visible()
    show_options(page)
    page.get_by_role("button", name="Copy link to these settings").click()
    field = page.locator("#link input, #link textarea")
    expect(field).not_to_have_value("")
    linked = open_page(field.input_value() + "&go=1")
    finished(linked)
    expect(linked.locator(".board .meta")).to_contain_text("9 filled in")
    expect(linked.locator(".lane .title")).to_have_text(["Vanilla AR", "ASSD", "Parallel"])


def test_models_that_draw_whole_pictures_only_offer_nothing(open_page, recorded_url) -> None:
    page = open_page(recorded_url)
    key(page, "End")
    expect(page.locator(".board")).to_have_attribute("data-done", "1")
    expect(page.locator(".lane .fill:not([hidden])")).to_have_count(0)
    expect(page.locator(".fill-in")).to_be_hidden()


def test_a_file_of_a_part_opens_on_the_board(open_page, url, filling_folder) -> None:
    page = open_page(url)
    show_options(page)
    page.locator("#bring input[type=file]").first.set_input_files(filling_folder / "part.json")
    expect(page.locator(".board .meta")).to_contain_text("9 filled in")
    fill_in(page, 2)
    counted(page, 0)


def test_the_tour_turns_to_the_race_that_fills_in_a_part_and_back(open_page, url) -> None:
    page = open_page(url, query="?tour=14")  # a link opens it at the chapter
    # The two before it that this page has no race for are left out, and not counted.
    expect(page.locator(".chapter-number")).to_have_text("12")
    expect(page.locator(".chapter-title")).to_have_text("Fill in a part")
    prompted(page, PROMPT)
    page.locator(".chapter-leave").click()
    expect(page.locator(".chapter")).to_have_count(0)
    expect(page.locator(".board .meta")).not_to_contain_text("filled in")
    page.locator(".tour").click()
    prompted(page, "the tour")
    title, count = page.locator(".chapter-title"), page.locator(".chapter-count")
    on, back = page.locator(".chapter-on"), page.locator(".chapter-back")
    expect(count).to_have_text("1 of 14")
    for _ in range(11):
        on.click()
    prompted(page, PROMPT)
    expect(title).to_have_text("Fill in a part")
    expect(count).to_have_text("12 of 14")
    expect(page.locator(".chapter-text")).to_contain_text("never more passes than tokens, here 9")
    back.click()
    prompted(page, "the tour")
    expect(title).to_have_text("When does speculation lose?")
    on.click()
    expect(title).to_have_text("Fill in a part")
    page.locator(".chapter-leave").click()
    expect(page.locator(".chapter")).to_have_count(0)
    expect(page.locator(".board .meta")).not_to_contain_text("filled in")
    expect(page.locator("#recorded input")).to_have_value(PROMPT)
