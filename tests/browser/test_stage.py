"""The stage: the board alone, for any hand. The strip of controls, taps and swipes, every key, one
lane at a time on a phone, and the life of a token. In files of their own, but for what a page has
around its board."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from app.models.prompt_hints import EXAMPLES
from tests.browser.acts import OVER, finished, frames, hold_timers, key, prompted, run_timers, wide

# A swipe of so many pixels across the middle of the window.
SWIPE = """(across) => {
  const send = (name, x) => document.querySelector(".lanes").dispatchEvent(new PointerEvent(name, {
    bubbles: true, pointerType: "touch", isPrimary: true, pointerId: 7, clientX: x, clientY: 400,
  }));
  send("pointerdown", 200);
  send("pointerup", 200 + across);
}"""


@pytest.fixture
def stage(open_file, toured) -> Callable[..., Page]:
    """Opens a race of many lanes on the stage."""

    def opened(width: int = 1280, height: int = 720) -> Page:
        page = open_file(toured, width, height, "?present=1")
        expect(page.locator("body")).to_have_class(re.compile("present"))
        return page

    return opened


@pytest.fixture
def duel_stage(open_file, duel) -> Page:
    page = open_file(duel, 1280, 720, "?present=1")
    expect(page.locator("body")).to_have_class(re.compile("present"))
    return page


def shown(page: Page) -> list[str | None]:
    lanes = page.locator(".lane:not([hidden])").all()
    return [lane.get_attribute("data-lane") for lane in lanes]


def test_the_stage_comes_and_goes_and_leaves_the_board_alone(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 1920, 1080)
    prompted(page, "cactus on yellow sand")
    key(page, "f")
    around = (".masthead", "#entry", "#prompt", "#race", "#lanes", "#decided", "#export", "footer")
    for part in around:
        for found in page.locator(part).all():
            expect(found).to_be_hidden()
    box = page.locator(".board").bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 1920, 1080)
    assert page.evaluate("getComputedStyle(document.body).overflow") == "hidden"
    assert wide(page) <= 0
    strip = page.locator(".board .strip")
    expect(strip).to_have_css("opacity", "0")
    expect(strip).to_have_css("pointer-events", "none")
    expect(page.locator(".clock-value")).to_be_visible()
    expect(page.locator(".stage-line")).to_contain_text("Picture · by seconds")
    key(page, "l")
    expect(page.locator(".stage-line")).to_contain_text("Top-1 p")
    key(page, "r")  # a race, by the form that is out of sight
    expect(page.locator(".board .meta")).not_to_contain_text("recorded")
    prompted(page, EXAMPLES[0])
    finished(page)
    key(page, "f")
    expect(page.locator("#race")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).overflow") != "hidden"


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080), (1920, 560)])
def test_more_than_six_lanes_stand_in_the_rows_that_make_them_larger(
    stage, width: int, height: int
) -> None:
    page = stage(width, height)
    key(page, "End")
    expect(page.locator(".outcome")).to_be_visible()
    frames(page)
    boxes = page.locator(".lane:not([hidden]) canvas").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map(({ y, width }) => [y, width])"
    )
    assert len(boxes) > 6
    rows = len({round(y) for y, _ in boxes})
    assert rows == (1 if height < 600 else 2)
    if rows == 2:
        assert min(side for _, side in boxes) > width / len(boxes)
    page.wait_for_function(f"() => ({OVER})().length === 0")


def test_the_strip_hides_and_comes_with_the_pointer_or_the_focus(duel_stage) -> None:
    page, strip = duel_stage, duel_stage.locator(".strip")
    expect(strip).to_have_css("opacity", "0")
    hold_timers(page)
    page.mouse.move(300, 300)
    page.mouse.move(310, 300)
    expect(strip).to_have_css("opacity", "1")
    run_timers(page)
    expect(strip).to_have_css("opacity", "0")
    strip.locator(".play").focus()
    page.keyboard.press("Shift+Tab")  # the focus is seen where a key has moved it
    expect(strip).to_have_css("opacity", "1")


def test_the_strip_leaves_a_lane_alone_its_picture(open_file, toured) -> None:
    page = open_file(toured, 1280, 720, "?present=1&tour=3")
    expect(page.locator(".chapter")).to_be_visible()
    page.mouse.move(300, 300)
    page.mouse.move(310, 300)
    rows = "strip => [...strip.querySelectorAll('button')].filter((one) => one.checkVisibility())"
    tops = f"{rows}.map((one) => Math.round(one.getBoundingClientRect().top))"
    assert len(set(page.locator(".strip").evaluate(tops))) == 2
    key(page, "Escape", "Shift+Digit4")
    picture = page.locator(".lane:not([hidden]) canvas")
    expect(picture).to_have_count(1)
    frames(page)
    box = picture.bounding_box()
    assert box["y"] + box["height"] <= page.locator(".strip").bounding_box()["y"]


@pytest.mark.parametrize("height", [720, 1080])
def test_flags_stand_side_by_side_on_lines_to_their_finishes(stage, height: int) -> None:
    page = stage(1280 * height // 720, height)
    key(page, "End", "Shift+Digit1", "Shift+Digit1")
    frames(page)
    flags = page.locator(".flag").evaluate_all(
        "flags => flags.map((flag) => [flag, flag.querySelector('b')].map((one) =>"
        " one.getBoundingClientRect())).map(([flag, box]) => [flag.left, box.left, box.right])"
    )
    assert len(flags) > 6
    boxes = [box for _, *box in flags]
    assert all(right <= left + 1 for (_, right), (left, _) in pairwise(boxes))
    lines = page.locator(".flag").evaluate_all(
        "flags => flags.map((flag) => new DOMMatrix(getComputedStyle(flag, '::before').transform).c"
        " * -parseFloat(getComputedStyle(flag, '::before').height))"
    )
    slides = [left + 1 - end for end, left, _ in flags]
    assert max(slides) > 1
    assert lines == pytest.approx(slides, abs=1.5)


def test_the_strip_has_a_way_on_and_a_way_out(stage) -> None:
    page = stage()
    for name in (".play", ".scrub", ".layers", ".clocks", ".speed", ".tour", ".stage", ".help"):
        expect(page.locator(f".strip {name}")).to_be_visible()
    page.locator(".strip .tour").click(force=True)  # the pointer's way there brings the strip
    expect(page.locator(".chapter-number")).to_have_text("1")
    expect(page.locator(".tour-back")).to_be_disabled()
    page.locator(".tour-on").click(force=True)
    expect(page.locator(".chapter-number")).to_have_text("2")
    page.locator(".tour-back").click(force=True)
    expect(page.locator(".chapter-number")).to_have_text("1")
    page.locator(".strip .stage").click(force=True)
    expect(page.locator("body")).not_to_have_class(re.compile("present"))


def test_taps_in_the_thirds_step_and_turn_the_tour_which_escape_leaves_first(stage) -> None:
    page = stage()
    key(page, "c", "Home")
    for x, passes in ((1200, "1"), (1200, "2"), (640, "2"), (40, "1")):
        page.mouse.click(x, 70)
        expect(page.locator(".board")).to_have_attribute("data-t", passes)
    number = page.locator(".chapter-number")
    key(page, "PageDown")
    expect(number).to_have_text("1")
    page.mouse.click(1240, 300)
    expect(number).to_have_text("2")
    for across, chapter in ((-150, "3"), (150, "2")):
        page.evaluate(SWIPE, across)
        expect(number).to_have_text(chapter)
    key(page, "Escape")
    expect(page.locator(".chapter")).to_have_count(0)
    expect(page.locator("body")).to_have_class(re.compile("present"))
    key(page, "Escape")
    expect(page.locator("body")).not_to_have_class(re.compile("present"))
    expect(page.locator(".stage-panel")).to_be_hidden()


def test_a_phone_shows_one_lane_and_swipes_to_the_next(open_file, duel) -> None:
    page = open_file(duel, 390, 844, "?present=1")
    seen = []
    for across in (-150, -150, 150):
        seen += shown(page)
        page.evaluate(SWIPE, across)
    assert [*seen, *shown(page)] == ["ar", "sjd", "ar", "sjd"]
    page.locator(".strip .stage").click(force=True)
    expect(page.locator(".lane:not([hidden])")).to_have_count(2)


def test_the_keys_of_a_talk(duel_stage) -> None:
    page = duel_stage
    board = page.locator(".board")
    key(page, "c")
    expect(board).to_have_attribute("data-clock", "passes")
    key(page, "Home")
    expect(board).to_have_attribute("data-t", "0")
    key(page, "End")
    expect(board).to_have_attribute("data-done", "1")
    page.locator(".speed").select_option("1")
    key(page, "-")
    expect(page.locator(".clock-unit")).to_have_text("passes, 0.5×")
    key(page, "=", "=")
    expect(page.locator(".clock-unit")).to_have_text("passes, 2×")
    for lanes in (["sjd"], ["ar", "sjd"]):
        key(page, "Shift+Digit2")
        assert shown(page) == lanes
    key(page, "1", "2")
    expect(page.locator(".no-lanes")).to_be_visible()
    key(page, "2")
    expect(page.locator(".no-lanes")).to_be_hidden()
    key(page, "q")
    expect(page.locator("body")).not_to_have_class(re.compile("present"))


def test_keys_jump_to_a_rejection_and_to_the_largest_tv(duel_stage) -> None:
    page, board = duel_stage, duel_stage.locator(".board")
    key(page, "c", "Home", "x")
    chosen = page.locator(".token .life-row[aria-pressed='true']")
    expect(chosen).to_contain_text("resampled")
    first = float(board.get_attribute("data-t"))
    key(page, "x")
    expect(board).not_to_have_attribute("data-t", f"{first:g}")
    key(page, "Shift+KeyX")
    expect(board).to_have_attribute("data-t", f"{first:g}")
    key(page, "v")
    expect(chosen).to_contain_text(re.compile("accepted|resampled"))
    expect(board).not_to_have_attribute("data-t", f"{first:g}")


@pytest.mark.parametrize("still", [False, True])
def test_the_first_finish_and_the_last_are_seen(open_file, duel, still: bool) -> None:
    page = open_file(duel, 1280, 720, "?present=1", still=still)
    key(page, "Home")
    lane = page.locator(".lane")
    finishes = "lanes => lanes.map(({ dataset }) => dataset.finish)"
    frame = (
        "lanes => lanes.map((lane) => getComputedStyle(lane.querySelector('.frame'), '::after'))"
    )
    moves = f"{frame}.map(({{ transitionDuration }}) => parseFloat(transitionDuration))"
    seen = f"{frame}.map(({{ outlineColor }}) => outlineColor)"

    def framed(*names: str) -> list[str]:
        frames(page)
        page.wait_for_function("() => document.getAnimations().length === 0")
        assert lane.evaluate_all(finishes) == list(names)
        return lane.evaluate_all(seen)

    none = "rgba(0, 0, 0, 0)"
    assert framed("", "") == [none, none]
    key(page, "Shift+ArrowRight")
    first = framed("", "first")
    assert (first[0], first[1] == none) == (none, False)
    expect(page.locator(".outcome")).to_have_count(0)
    key(page, "Shift+ArrowRight")
    last = framed("last", "first")
    assert last[0] not in (none, last[1])
    expect(page.locator(".outcome")).to_be_visible()
    assert all((time == 0) is still for time in lane.evaluate_all(moves))


def test_the_screen_goes_black_and_comes_back(duel_stage) -> None:
    page, board = duel_stage, duel_stage.locator(".board")
    black = "board => getComputedStyle(board, '::after').backgroundColor"
    for pressed, colour in (
        ("b", "rgb(0, 0, 0)"),
        ("b", "rgba(0, 0, 0, 0)"),
        (".", "rgb(0, 0, 0)"),
    ):
        key(page, pressed)
        frames(page)
        assert board.evaluate(black) == colour
    key(page, "f", "f")  # the stage that is entered is seen
    frames(page)
    assert board.evaluate(black) == "rgba(0, 0, 0, 0)"
    key(page, "/")  # a board without a form has no prompt
    expect(page.locator("dialog")).to_have_count(0)


def test_a_prompt_is_taken_from_the_hall_and_raced(quick, open_page) -> None:
    page = open_page(quick, 1280, 720)
    field = page.locator("#prompt input, #prompt textarea")
    key(page, "/")
    expect(field).to_be_focused()
    key(page, "f", "/")
    asked = page.get_by_role("dialog", name="Race a prompt").get_by_role("textbox")
    expect(asked).to_be_focused()
    page.keyboard.type("red apple, please: b x / ?")  # typed letters are no keys of the board
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    prompted(page, "red apple, please: b x / ?")
    finished(page)
    expect(page.locator("body")).to_have_class(re.compile("present"))
    expect(page.locator(".outcome")).to_be_in_viewport()
    expect(page.locator(".outcome")).to_contain_text("Fewest passes: ")
    expect(field).to_have_value("red apple, please: b x / ?")
    key(page, "/")
    expect(asked).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator("body")).to_have_class(re.compile("present"))


def test_a_pinned_token_stands_beside_its_lane(duel_stage) -> None:
    page = duel_stage
    key(page, "Shift+Digit2")
    picture = page.locator(".lane[data-lane='sjd'] canvas")
    alone = picture.bounding_box()
    picture.click(position={"x": 100, "y": 100})
    panel = page.locator(".token")
    expect(panel).to_be_visible()
    expect(page.locator(".board")).to_have_attribute("data-columns", "2")
    page.wait_for_function(
        "() => document.querySelector('.token').getBoundingClientRect().left"
        " >= document.querySelector('.lane:not([hidden])').getBoundingClientRect().right"
    )
    assert picture.bounding_box()["width"] > 0.8 * alone["width"]
    over = "rows => rows.filter((row) => row.scrollWidth > row.clientWidth + 1).length"
    assert panel.locator(".life-row:visible").evaluate_all(over) == 0


@pytest.mark.parametrize("hidden", ["", "1234"])
def test_a_pinned_token_below_many_lanes_leaves_them_room(stage, hidden: str) -> None:
    page = stage()
    key(page, "Shift+ArrowRight", *hidden)
    page.locator(".lane[data-lane='gsd'] canvas").click(position={"x": 40, "y": 60})
    expect(page.locator(".token")).to_be_visible()
    expect(page.locator(".board")).not_to_have_attribute("data-columns", "2")
    page.wait_for_function(f"() => ({OVER})().length === 0")


def test_a_pinned_token_on_a_phone_leaves_its_lane_all_its_figures(stage) -> None:
    page = stage(390, 844)
    key(page, "Shift+ArrowRight")
    page.locator(".lane:not([hidden]) canvas").click(position={"x": 100, "y": 60})
    expect(page.locator(".token")).to_be_visible()
    expect(page.locator(".lane:not([hidden]) dl")).to_contain_text("tokens a pass")
    expect(page.locator(".lane:not([hidden]) .seconds")).to_be_visible()


def test_token_panel_tells_a_life_and_shows_the_chosen_steps_distributions(open_file, duel) -> None:
    page = open_file(duel, 1480, 1000)
    key(page, "End")
    page.locator(".lane[data-lane='sjd'] canvas").click(position={"x": 150, "y": 150})
    panel = page.locator(".token")
    expect(panel.locator(".token-where")).to_contain_text("SJD, row ")
    expect(panel.locator(".token-why")).to_contain_text("pass")
    rows = panel.locator("button.life-row")
    assert rows.count() >= 1
    expect(panel.locator("button.life-row[aria-pressed='true']")).to_have_count(1)
    rows.first.click()
    expect(rows.first).to_have_attribute("aria-pressed", "true")
    number = panel.locator(".experiment-number")
    if not number.count():
        panel.locator("button.life-row", has=panel.page.locator(".test-tick")).first.click()
    verdict = panel.locator(".experiment-verdict")
    expect(verdict).to_have_text(re.compile(r"^The number drawn was .*: (accepted|rejected), "))
    number.press("Home")
    expect(verdict).to_contain_text("Had the number been 0: accepted, 0")
    expect(panel.locator(".experiment")).to_have_attribute("data-accepted", "1")
    assert 1 <= panel.locator(".distribution").first.locator(".bar-row").count() <= 9
    swatch = panel.locator(".bar-row .swatch").first
    assert swatch.evaluate("element => getComputedStyle(element).backgroundImage").startswith("url")
    panel.locator(".token-close").click()
    expect(panel).to_be_hidden()
