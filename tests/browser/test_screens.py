"""The page as a whole: in either theme, on a laptop, on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.acts import finished, prompted, race, running, show_options, unfold, wide

INK_AND_GROUND = """element => {
  const sum = colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
  let ground = element;
  const clear = (part) => getComputedStyle(part).backgroundColor === "rgba(0, 0, 0, 0)";
  while (clear(ground)) ground = ground.parentElement;
  return [sum(getComputedStyle(element).color), sum(getComputedStyle(ground).backgroundColor)];
}"""
# By how many pixels a part of the board reaches over the window's edge.
BEYOND = """part => {
  const box = part.getBoundingClientRect();
  return Math.max(-box.left, -box.top, box.right - innerWidth, box.bottom - innerHeight);
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_in_both_themes(recorded_url, open_page, theme) -> None:
    page = open_page(recorded_url, query=f"?__theme={theme}")
    prompted(page, "cactus on yellow sand")
    for section in ("decided", "whatif"):
        unfold(page, section)
    for part in (".board", ".masthead p", ".figure p", "#whatif-answer p"):
        ink, ground = page.locator(part).first.evaluate(INK_AND_GROUND)
        assert abs(ink - ground) > 300, part
        assert (ink > ground) == (theme == "dark"), part


def test_race_folds_the_options_and_stays_on_the_screen(held, model, open_page) -> None:
    page = open_page(held, 1366, 768)
    show_options(page)
    race(page, lanes=("ar", "sjd", "gsd", "lantern", "sjd-pac"))
    expect(page.locator("#settings")).to_be_hidden()
    running(page)
    for lane in page.locator(".lane .frame").all():
        assert lane.evaluate(BEYOND) <= 0
    model.release()
    finished(page)


def test_phone_shows_all_without_sideways_scrolling(recorded_url, open_page) -> None:
    page = open_page(recorded_url, width=390, height=844)
    prompted(page, "cactus on yellow sand")
    assert wide(page) <= 0
    show_options(page)
    assert wide(page) <= 0
    for section in ("decided", "whatif", "export"):
        unfold(page, section)
    expect(page.locator(".figure .js-plotly-plot").first).to_be_visible()
    page.locator("#copy").click()
    expect(page.locator("#link")).to_be_visible()
    page.locator(".lane[data-lane='sjd'] canvas").click(position={"x": 9, "y": 9})
    expect(page.locator(".token")).to_be_visible()
    assert wide(page) <= 0
    race(page, prompt="x" * 900, lanes=("ar", "sjd", "gsd", "lantern", "sjd-pac"))
    prompted(page, "x" * 900)
    assert wide(page) <= 0
    finished(page)
    assert wide(page) <= 0
