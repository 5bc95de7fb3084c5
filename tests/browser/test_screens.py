"""The page as a whole: on a stage, on a phone, in the dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.acts import finished, key, prompted, race, running, show_options, wide

INK_AND_GROUND = """element => {
  const sum = colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
  let ground = element;
  const clear = (part) => getComputedStyle(part).backgroundColor === "rgba(0, 0, 0, 0)";
  while (clear(ground)) ground = ground.parentElement;
  return [sum(getComputedStyle(element).color), sum(getComputedStyle(ground).backgroundColor)];
}"""


def alone(page: Page) -> None:
    """The board is all that there is to see, and it fills the window."""
    expect(page.locator("#prompt input, #prompt textarea")).to_be_hidden()
    for section in ("#race", "#lanes", "#decided", "#export", ".masthead"):
        expect(page.locator(section)).to_be_hidden()
    box = page.locator(".board").bounding_box()
    size = page.viewport_size
    assert (box["x"], box["y"], box["width"], box["height"]) == (
        0,
        0,
        size["width"],
        size["height"],
    )
    assert page.evaluate("getComputedStyle(document.body).overflow") == "hidden"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_stage_comes_and_goes_by_a_key(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    key(page, "f")
    alone(page)
    key(page, "f")
    expect(page.locator("#race")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).overflow") != "hidden"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "part", [".board", ".masthead p", "#status p", ".figure p", "#whatif-answer p"]
)
def test_text_stands_out_in_both_themes(recorded_url, open_page, theme, part) -> None:
    page = open_page(recorded_url, query=f"?__theme={theme}")
    prompted(page, "cactus on yellow sand")
    if part.startswith((".figure", "#whatif")):
        for section in ("whatif",):
            page.locator(f"#{section} > button").click()
    ink, ground = page.locator(part).first.evaluate(INK_AND_GROUND)
    assert abs(ink - ground) > 300
    assert (ink > ground) == (theme == "dark")


# By how many pixels a part of the board reaches over the window's edge.
BEYOND = """part => {
  const box = part.getBoundingClientRect();
  return Math.max(-box.left, -box.top, box.right - innerWidth, box.bottom - innerHeight);
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("part", [".frame", "dl"])
def test_first_row_with_its_figures_is_on_a_laptops_screen(real, open_page, theme, part) -> None:
    page = open_page(real, 1366, 768, f"?__theme={theme}")
    prompted(page, "red apple on sky clouds")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished", timeout=60_000)
    tops = [box["y"] for box in map(Locator.bounding_box, page.locator(".lane").all())]
    assert len(tops) >= 5
    assert len(set(tops)) == 1  # one row
    for lane in page.locator(f".lane {part}").all():
        assert lane.evaluate(BEYOND) <= 0
    for stamp in page.locator(".lane .stamp").all():
        stamp.evaluate("stamp => stamp.textContent = '2nd  12.345 s'")
        assert stamp.evaluate("stamp => stamp.scrollWidth - stamp.clientWidth") <= 0
    assert page.evaluate("scrollY") == 0


def test_first_picture_is_on_a_phones_screen(real, open_page) -> None:
    page = open_page(real, 390, 844)
    prompted(page, "red apple on sky clouds")
    assert page.locator(".lane .frame").first.evaluate(BEYOND) <= 0
    tops = [page.locator(f"#{name}").bounding_box()["y"] for name in ("prompt", "seed", "race")]
    assert len(set(tops)) == 1
    assert page.evaluate("scrollY") == 0
    for button in page.locator("#entry button:visible").all():
        assert button.evaluate("it => it.scrollWidth <= it.clientWidth"), button.inner_text()


def test_prompt_and_all_controls_fit_a_tablet(real, open_page) -> None:
    page = open_page(real, 820, 1180)
    prompted(page, "red apple on sky clouds")
    for name in ("prompt", "seed", "race", "stop", "roll", "options", "surprise", "bet", "status"):
        assert page.locator(f"#{name}").evaluate(BEYOND) <= 0
    assert page.locator("#prompt input, #prompt textarea").bounding_box()["width"] > 300
    expect(page.locator(".board")).to_have_attribute("data-state", "finished", timeout=60_000)
    verdict = page.locator(".pace")
    assert verdict.evaluate("line => line.scrollWidth - line.clientWidth") <= 0


def test_race_folds_the_options_and_stays_on_the_screen(held, held_model, open_page) -> None:
    page = open_page(held, 1366, 768)
    race(page, lanes=("ar", "sjd", "gsd", "lantern", "sjd-pac"))
    expect(page.locator("#settings")).to_be_hidden()
    running(page)
    for lane in page.locator(".lane .frame").all():
        assert lane.evaluate(BEYOND) <= 0
    held_model.release()
    finished(page)


def test_phone_shows_all_without_sideways_scrolling(recorded_url, open_page) -> None:
    page = open_page(recorded_url, width=390, height=844)
    prompted(page, "cactus on yellow sand")
    assert wide(page) <= 0
    show_options(page)
    assert wide(page) <= 0
    for section in ("whatif", "export"):
        page.locator(f"#{section} > button").click()
    expect(page.locator(".figure .js-plotly-plot").first).to_be_visible()
    page.locator("#copy").click()
    expect(page.locator("#link")).to_be_visible()
    page.locator(".lane[data-lane='sjd'] canvas").click(position={"x": 9, "y": 9})
    expect(page.locator(".token")).to_be_visible()
    assert wide(page) <= 0
    race(page, lanes=("ar", "sjd", "gsd", "lantern", "sjd-pac"))
    finished(page)
    assert wide(page) <= 0
    race(page, prompt="x" * 900)
    prompted(page, "x" * 900)
    assert wide(page) <= 0


def test_a_recording_begins_when_its_lanes_fill_a_third_of_the_window(
    recorded_url, open_page
) -> None:
    page = open_page(recorded_url, 390, 60)
    board, lanes = page.locator(".board"), page.locator(".lanes")
    prompted(page, "cactus on yellow sand")
    # A third is 15% of the lanes: between 13% and 17% no round share is crossed.
    height = lanes.bounding_box()["height"]
    page.set_viewport_size({"width": 390, "height": round(0.45 * height)})
    reach = """(lanes, visible) =>
      scrollBy(0, lanes.getBoundingClientRect().top - innerHeight + visible)"""
    lanes.evaluate(reach, 0.13 * height)
    page.wait_for_timeout(300)
    expect(board).to_have_attribute("data-playing", "0")
    lanes.evaluate(reach, 0.17 * height)
    expect(board).to_have_attribute("data-playing", "1")
