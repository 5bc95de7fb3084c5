"""The stage for any hand: the strip of controls, taps and swipes, every key, and one lane at a time
on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.acts import key, prompted

STRIP = "getComputedStyle(document.querySelector('.strip')).opacity"
# A swipe of so many pixels across the middle of the window.
SWIPE = """(across) => {
  const send = (name, x) => document.querySelector(".lanes").dispatchEvent(new PointerEvent(name, {
    bubbles: true, pointerType: "touch", isPrimary: true, pointerId: 7, clientX: x, clientY: 400,
  }));
  send("pointerdown", 200);
  send("pointerup", 200 + across);
}"""


@pytest.fixture
def stage(recorded_url, open_page) -> Page:
    page = open_page(recorded_url, 1280, 720, "?present=1")
    expect(page.locator("body")).to_have_class("present")
    return page


def shown(page: Page) -> list[str | None]:
    lanes = page.locator(".lane:not([hidden])").all()
    return [lane.get_attribute("data-lane") for lane in lanes]


def test_the_strip_hides_and_comes_with_the_pointer_or_the_focus(stage) -> None:
    stage.wait_for_function(f"{STRIP} === '0'")
    stage.mouse.move(300, 300)
    stage.mouse.move(310, 300)
    stage.wait_for_function(f"{STRIP} === '1'")
    stage.wait_for_function(f"{STRIP} === '0'")
    stage.locator(".strip .play").focus()
    stage.keyboard.press("Shift+Tab")  # the focus is seen where a key has moved it
    stage.wait_for_function(f"{STRIP} === '1'")


def test_the_strip_has_a_way_on_and_a_way_out(stage) -> None:
    for name in (".play", ".scrub", ".layers", ".clocks", ".speed", ".tour", ".stage", ".help"):
        expect(stage.locator(f".strip {name}")).to_be_visible()
    stage.locator(".strip .tour").click(force=True)  # the pointer's way there brings the strip
    expect(stage.locator(".chapter-number")).to_have_text("1")
    expect(stage.locator(".tour-back")).to_be_disabled()
    stage.locator(".tour-on").click(force=True)
    expect(stage.locator(".chapter-number")).to_have_text("2")
    stage.locator(".tour-back").click(force=True)
    expect(stage.locator(".chapter-number")).to_have_text("1")
    stage.locator(".strip .stage").click(force=True)
    expect(stage.locator("body")).not_to_have_class("present")


def test_taps_in_the_thirds_step_and_turn_the_tour(stage) -> None:
    key(stage, "c", "Home")
    for x, passes in ((1200, "1"), (1200, "2"), (640, "2"), (40, "1")):
        stage.mouse.click(x, 120)
        expect(stage.locator(".board")).to_have_attribute("data-t", passes)
    key(stage, "PageDown")
    expect(stage.locator(".chapter-number")).to_have_text("1")
    stage.mouse.click(1240, 300)
    expect(stage.locator(".chapter-number")).to_have_text("2")
    stage.evaluate(SWIPE, -150)
    expect(stage.locator(".chapter-number")).to_have_text("3")
    stage.evaluate(SWIPE, 150)
    expect(stage.locator(".chapter-number")).to_have_text("2")


def test_a_phone_shows_one_lane_and_swipes_to_the_next(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 390, 844, "?present=1")
    prompted(page, "cactus on yellow sand")
    seen = []
    for across in (-150, -150, 150):
        seen += shown(page)
        page.evaluate(SWIPE, across)
    assert [*seen, *shown(page)] == ["ar", "sjd", "ar", "sjd"]
    page.locator(".strip .stage").click(force=True)
    expect(page.locator(".lane:not([hidden])")).to_have_count(2)


def test_the_keys_of_a_talk(stage) -> None:
    board = stage.locator(".board")
    key(stage, "c")
    expect(board).to_have_attribute("data-clock", "passes")
    key(stage, "Home")
    expect(board).to_have_attribute("data-t", "0")
    key(stage, "End")
    expect(board).to_have_attribute("data-done", "1")
    stage.locator(".speed").select_option("1")
    key(stage, "-")
    expect(stage.locator(".clock-unit")).to_have_text("passes, 0.5×")
    key(stage, "=", "=")
    expect(stage.locator(".clock-unit")).to_have_text("passes, 2×")
    for lanes in (["sjd"], ["ar", "sjd"]):
        key(stage, "Shift+Digit2")
        assert shown(stage) == lanes
    key(stage, "1", "2")
    expect(stage.locator(".no-lanes")).to_be_visible()
    key(stage, "2")
    expect(stage.locator(".no-lanes")).to_be_hidden()
    key(stage, "r")
    expect(board.locator(".meta")).not_to_contain_text("recorded")
    prompted(stage, "red apple on sky clouds")
    key(stage, "q")
    expect(stage.locator("body")).not_to_have_class("present")


def test_letters_rest_when_they_are_turned_off_and_stay_so(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    board = page.locator(".board")
    page.locator(".help").click()
    page.get_by_label("Letters, digits and signs are keys").uncheck()
    page.keyboard.press("Escape")
    key(page, "l", "1", "c", "f", "?")
    expect(page.locator("dialog.keys")).to_have_count(0)
    page.reload()
    page.wait_for_selector(".board .lane")
    key(page, "l", "1", "c", "f", "Home")
    expect(board).to_have_attribute("data-t", "0")
    expect(board).to_have_attribute("data-layer", "picture")
    expect(board).to_have_attribute("data-clock", "seconds")
    expect(board).to_have_attribute("data-present", "0")
    assert shown(page) == ["ar", "sjd"]
    page.locator(".help").click()
    page.get_by_label("Letters, digits and signs are keys").check()
    page.keyboard.press("Escape")
    key(page, "l")
    expect(board).not_to_have_attribute("data-layer", "picture")


def test_a_pinned_token_stands_beside_its_lane(stage) -> None:
    key(stage, "Shift+Digit2")
    picture = stage.locator(".lane[data-lane='sjd'] canvas")
    alone = picture.bounding_box()
    picture.click(position={"x": 100, "y": 100})
    panel = stage.locator(".token")
    expect(panel).to_be_visible()
    expect(stage.locator(".board")).to_have_attribute("data-columns", "2")
    stage.wait_for_function(
        "document.querySelector('.token').getBoundingClientRect().left"
        " >= document.querySelector('.lane:not([hidden])').getBoundingClientRect().right"
    )
    assert picture.bounding_box()["width"] > 0.8 * alone["width"]
    over = "rows => rows.filter((row) => row.scrollWidth > row.clientWidth + 1).length"
    assert panel.locator(".life-row:visible").evaluate_all(over) == 0


def test_what_became_of_a_token_is_said_as_the_arrows_move(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    key(page, "End")
    page.locator(".lane canvas").first.click(position={"x": 5, "y": 5})
    live = page.locator(".live")
    expect(live).to_contain_text("Vanilla AR, row 1, column 1: token ")
    page.locator(".lane canvas").first.focus()
    page.keyboard.press("ArrowRight")
    expect(live).to_contain_text("row 1, column 2: token ")
    expect(live).to_contain_text("fresh, final.")
    page.keyboard.press("Escape")
    key(page, "Home")
    page.locator(".lane canvas").first.click(position={"x": 5, "y": 5})
    expect(live).to_contain_text("not reached yet")


def test_explanations_that_a_pointer_finds_stand_in_the_help(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    key(page, "End", "?")
    words = page.locator(".shown-words")
    expect(words).to_contain_text("same distribution")
    expect(words).to_contain_text("TV(p, q)")
    titles = page.locator(".layers [title], .lane .badge[title], .results th[title]")
    assert titles.count() > 10
    for title in {one.get_attribute("title") for one in titles.all()}:
        expect(words).to_contain_text(title)
