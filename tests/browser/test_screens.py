"""The page as a whole: in either theme, on a laptop, on a phone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from playwright.sync_api import expect

from tests.browser.acts import finished, prompted, race, running, show_options, unfold, wide

# The relative luminances of an element's text and of what is behind it (WCAG 2).
INK_AND_GROUND = """element => {
  const luminance = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, value, i) => {
    const part = value / 255;
    const linear = part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    return sum + [0.2126, 0.7152, 0.0722][i] * linear;
  }, 0);
  let ground = element;
  const clear = (part) => getComputedStyle(part).backgroundColor === "rgba(0, 0, 0, 0)";
  while (clear(ground)) ground = ground.parentElement;
  const style = getComputedStyle(element);
  const ink = element instanceof SVGElement ? style.fill : style.color;
  return [luminance(ink), luminance(getComputedStyle(ground).backgroundColor)];
}"""
# By how many pixels a part of the board reaches over the window's edge.
BEYOND = """part => {
  const box = part.getBoundingClientRect();
  return Math.max(-box.left, -box.top, box.right - innerWidth, box.bottom - innerHeight);
}"""


def assert_legible(ink_and_ground: Sequence[float], theme: str, part: str) -> None:
    """By WCAG's contrast of small text."""
    ink, ground = ink_and_ground
    high, low = max(ink, ground), min(ink, ground)
    assert (high + 0.05) / (low + 0.05) >= 4.5, part
    assert (ink > ground) == (theme == "dark"), part


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_in_both_themes(recorded_url, open_page, theme) -> None:
    page = open_page(recorded_url, query=f"?__theme={theme}")
    prompted(page, "cactus on yellow sand")
    for section in ("decided", "whatif"):
        unfold(page, section)
    parts = (".board", ".masthead p", ".figure p", ".figure .xtick text", "#whatif-answer p")
    for part in parts:  # all are drawn before one is looked at: what is redrawn has no colours
        expect(page.locator(part).first).to_be_visible()
    for part in parts:
        assert_legible(page.locator(part).first.evaluate(INK_AND_GROUND), theme, part)


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
