"""The stage: the board alone, for any hand. The strip of controls, taps and swipes, the keys of a
talk, one lane at a time on a phone, and the life of a token. In files of their own, but for what a
page has around its board."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from app.models.prompt_hints import EXAMPLES
from tests.browser.acts import OVER, faultless, finished, hold_timers, key, prompted, run_timers

# A swipe of so many pixels across the middle of the window.
SWIPE = """(across) => {
  const send = (name, x) => document.querySelector(".lanes").dispatchEvent(new PointerEvent(name, {
    bubbles: true, pointerType: "touch", isPrimary: true, pointerId: 7, clientX: x, clientY: 400,
  }));
  send("pointerdown", 200);
  send("pointerup", 200 + across);
}"""
# Where the lanes do not stand in so many rows, or two rows do not make the pictures larger than one
# row would.
NOT_IN_ROWS = """(rows) => {
  const pictures = [...document.querySelectorAll(".lane:not([hidden]) canvas")];
  const boxes = pictures.map((picture) => picture.getBoundingClientRect());
  const found = new Set(boxes.map(({ top }) => Math.round(top))).size;
  const least = rows === 1 ? 0 : innerWidth / boxes.length;
  const small = boxes.map(({ width }) => width).filter((width) => width <= least);
  return boxes.length > 6 && found === rows ? small : [boxes.length, found];
}"""
FRAMES = """async () => {
  for (let frame = 0; frame < 20; frame++) await new Promise(requestAnimationFrame);
}"""
# The flags of finishes that overlap, and those whose line does not lead to the finish.
ASTRAY = """() => {
  const flags = [...document.querySelectorAll(".flag")].map((flag) => {
    const { left, right } = flag.querySelector("b").getBoundingClientRect();
    const { transform, height } = getComputedStyle(flag, "::before");
    const slide = new DOMMatrix(transform).c * -parseFloat(height);
    return { finish: flag.getBoundingClientRect().left, left, right, slide };
  });
  if (flags.length <= 6 || flags.every(({ slide }) => Math.abs(slide) <= 1)) return [flags.length];
  return flags.filter(({ finish, left, slide }, i) =>
    (i > 0 && flags[i - 1].right > left + 1) || Math.abs(left + 1 - finish - slide) > 1.5);
}"""
# Unless a picture that stands alone ends above the strip, whose buttons have two rows.
UNDER_THE_STRIP = """() => {
  const strip = document.querySelector(".strip");
  const buttons = [...strip.querySelectorAll("button")].filter((one) => one.checkVisibility());
  const rows = new Set(buttons.map((one) => Math.round(one.getBoundingClientRect().top))).size;
  const picture = document.querySelector(".lane:not([hidden]) canvas").getBoundingClientRect();
  const top = strip.getBoundingClientRect().top;
  return rows === 2 && picture.bottom <= top ? [] : [rows, picture.bottom, top];
}"""
BLACK = """(black) => {
  const { backgroundColor } = getComputedStyle(document.querySelector(".board"), "::after");
  return (backgroundColor === "rgb(0, 0, 0)") === black ? [] : [backgroundColor];
}"""
PRESENT, NONE = re.compile("present"), "rgba(0, 0, 0, 0)"


def lanes(page: Page) -> Locator:
    return page.locator(".lane:not([hidden])")


def shows(page: Page, *names: str) -> None:
    """Waits until these lanes alone are shown."""
    expect(lanes(page)).to_have_count(len(names))
    for i, name in enumerate(names):
        expect(lanes(page).nth(i)).to_have_attribute("data-lane", name)


def test_a_page_goes_on_the_stage_and_takes_a_prompt_from_the_hall(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 1920, 1080)
    prompted(page, "cactus on yellow sand")
    # the board alone, as large as the window; the controls are out of sight
    key(page, "f")
    around = (".masthead", "#entry", "#prompt", "#race", "#lanes", "#decided", "#export", "footer")
    for part in around:
        for found in page.locator(part).all():
            expect(found).to_be_hidden()
    box = "(board) => Object.values(board.getBoundingClientRect().toJSON()).slice(0, 4)"
    assert page.locator(".board").evaluate(box) == [0, 0, 1920, 1080]
    expect(page.locator("body")).to_have_css("overflow", "hidden")
    strip = page.locator(".board .strip")
    expect(strip).to_have_css("opacity", "0")
    expect(strip).to_have_css("pointer-events", "none")
    expect(page.locator(".clock-value")).to_be_visible()
    expect(page.locator(".stage-line")).to_contain_text("Picture · by seconds")
    key(page, "l")
    expect(page.locator(".stage-line")).to_contain_text("Top-1 p")
    # a race, by the form that is out of sight
    key(page, "r")
    expect(page.locator(".board .meta")).not_to_contain_text("recorded")
    prompted(page, EXAMPLES[0])
    finished(page)
    # the page is as it was, and / is the way to its prompt
    key(page, "f")
    expect(page.locator("#race")).to_be_visible()
    expect(page.locator("body")).not_to_have_css("overflow", "hidden")
    field = page.locator("#prompt input, #prompt textarea")
    key(page, "/")
    expect(field).to_be_focused()
    # on the stage / asks for a prompt, and typed letters are no keys of the board
    key(page, "f", "/")
    asked = page.get_by_role("dialog", name="Race a prompt").get_by_role("textbox")
    expect(asked).to_be_focused()
    page.keyboard.type("red apple, please: b x / ?")
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    prompted(page, "red apple, please: b x / ?")
    finished(page)
    expect(page.locator("body")).to_have_class(PRESENT)
    expect(page.locator(".outcome")).to_be_in_viewport()
    expect(page.locator(".outcome")).to_contain_text("Fewest passes: ")
    expect(field).to_have_value("red apple, please: b x / ?")
    key(page, "/")
    expect(asked).to_be_focused()
    page.keyboard.type("two owls")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(field).to_have_value("red apple, please: b x / ?")
    expect(page.locator("body")).to_have_class(PRESENT)


def test_a_stage_of_many_lanes_uses_all_of_the_window(open_file, toured) -> None:
    page = open_file(toured, 1920, 560, "?present=1")
    key(page, "End", "Shift+Digit1", "Shift+Digit1")
    expect(page.locator(".outcome")).to_be_visible()
    for width, height, rows in ((1920, 560, 1), (1920, 1080, 2), (1280, 720, 2)):
        page.set_viewport_size({"width": width, "height": height})
        faultless(page, NOT_IN_ROWS, rows)
        faultless(page, OVER)
        faultless(page, ASTRAY)
    # a pinned token stands below them and leaves them room, be they many or few
    key(page, "Home", "Shift+ArrowRight")
    page.locator(".lane[data-lane='gsd'] canvas").click(position={"x": 40, "y": 60})
    expect(page.locator(".token")).to_be_visible()
    for hidden in ("", "1234"):
        key(page, *hidden)
        expect(lanes(page)).to_have_count(8 - len(hidden))
        expect(page.locator(".board")).not_to_have_attribute("data-columns", "2")
        faultless(page, OVER)


def test_the_stage_is_turned_by_its_strip_by_taps_and_by_swipes(open_file, toured) -> None:
    page = open_file(toured, 1280, 720, "?present=1")
    board, number = page.locator(".board"), page.locator(".chapter-number")
    # the strip has every control; the pointer's way there brings it
    for name in (".play", ".scrub", ".layers", ".clocks", ".speed", ".tour", ".stage", ".help"):
        expect(page.locator(f".strip {name}")).to_be_visible()
    page.locator(".strip .tour").click(force=True)
    expect(number).to_have_text("1")
    expect(page.locator(".tour-back")).to_be_disabled()
    page.locator(".tour-on").click(force=True)
    expect(number).to_have_text("2")
    page.locator(".tour-back").click(force=True)
    expect(number).to_have_text("1")
    # taps and swipes turn the tour
    page.mouse.click(1240, 300)
    expect(number).to_have_text("2")
    for across, chapter in ((-150, "3"), (150, "2")):
        page.evaluate(SWIPE, across)
        expect(number).to_have_text(chapter)
    # Escape leaves the tour first; taps in the outer thirds step through the race then
    key(page, "Escape")
    expect(page.locator(".chapter")).to_have_count(0)
    expect(page.locator("body")).to_have_class(PRESENT)
    key(page, "c", "Home")
    expect(board).to_have_attribute("data-t", "0")  # no button of the finish is there any more
    for x, passes in ((1200, "1"), (1200, "2"), (640, "2"), (40, "1")):
        page.mouse.click(x, 70)
        expect(board).to_have_attribute("data-t", passes)
    # forced colours draw no frame that is not there
    page.emulate_media(forced_colors="active")
    frame = "it => getComputedStyle(it, '::after').outlineColor"
    assert page.locator(".lane .frame").first.evaluate(frame) == "rgba(0, 0, 0, 0)"
    page.emulate_media(forced_colors="none")
    # a picture that stands alone ends above the strip
    key(page, "Shift+Digit4")
    shows(page, "sjd")
    faultless(page, UNDER_THE_STRIP)
    key(page, "Escape")
    expect(page.locator("body")).not_to_have_class(PRESENT)
    expect(page.locator(".stage-panel")).to_be_hidden()


def test_a_phone_shows_one_lane_and_swipes_to_the_next(open_file, toured) -> None:
    page = open_file(toured, 390, 844, "?present=1")
    shows(page, "ar")
    for across, lane in ((-150, "jacobi"), (150, "ar"), (150, "sjd-pac")):
        page.evaluate(SWIPE, across)
        shows(page, lane)
    # a pinned token leaves its lane all its figures
    key(page, "Shift+ArrowRight")
    lanes(page).locator("canvas").click(position={"x": 100, "y": 60})
    expect(page.locator(".token")).to_be_visible()
    expect(lanes(page).locator("dl")).to_contain_text("tokens a pass")
    expect(lanes(page).locator(".seconds")).to_be_visible()
    # the page below has all lanes, and its panel of a token fits
    page.locator(".strip .stage").click(force=True)
    expect(lanes(page)).to_have_count(8)
    page.locator(".token-close").click()
    first = lanes(page).locator("canvas").first
    page.evaluate("scrollTo(0, 0)")
    page.mouse.move(0, 0)
    first.hover(position={"x": 20, "y": 20})
    page.evaluate(FRAMES)
    assert page.locator(".pointed-at").count(), "its words do not push the cell from the pointer"
    first.click(position={"x": 20, "y": 20})
    expect(page.locator(".token")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_keys_of_a_talk(open_file, duel) -> None:
    page = open_file(duel, 1280, 720, "?present=1")
    board, chosen = page.locator(".board"), page.locator(".token .life-row[aria-pressed='true']")
    # time, speed and lanes
    key(page, "c")
    expect(board).to_have_attribute("data-clock", "passes")
    key(page, "End")
    expect(board).to_have_attribute("data-done", "1")
    key(page, "Home")
    expect(board).to_have_attribute("data-t", "0")
    page.locator(".speed").select_option("1")
    key(page, "-")
    expect(page.locator(".clock-unit")).to_have_text("passes, 0.5×")
    key(page, "=", "=")
    expect(page.locator(".clock-unit")).to_have_text("passes, 2×")
    key(page, "Shift+Digit2")
    shows(page, "sjd")
    key(page, "Shift+Digit2")
    shows(page, "ar", "sjd")
    key(page, "1", "2")
    expect(page.locator(".no-lanes")).to_be_visible()
    key(page, "1", "2")
    expect(page.locator(".no-lanes")).to_be_hidden()
    # the screen goes black, and a stage that is entered is seen
    for pressed, black in (("b", True), ("b", False), (".", True), ("f", False), ("f", False)):
        key(page, pressed)
        faultless(page, BLACK, black)
    expect(page.locator("body")).to_have_class(PRESENT)
    # jumps to a rejection, the next, the one before, and to the largest TV
    key(page, "Home", "x")
    expect(chosen).to_contain_text("resampled")
    first = str(board.get_attribute("data-t"))
    key(page, "x")
    expect(board).not_to_have_attribute("data-t", first)
    key(page, "Shift+KeyX")
    expect(board).to_have_attribute("data-t", first)
    key(page, "v")
    expect(chosen).to_contain_text(re.compile("accepted|resampled"))
    expect(board).not_to_have_attribute("data-t", first)
    # a board without a form has no prompt to ask for
    key(page, "/", "q")
    expect(page.locator("body")).not_to_have_class(PRESENT)
    expect(page.locator("dialog")).to_have_count(0)


def test_a_finish_is_seen_a_token_stands_beside_its_lane_and_the_strip_hides(
    open_file, duel
) -> None:
    page = open_file(duel, 1280, 720, "?present=1")
    lane, strip = page.locator(".lane"), page.locator(".strip")
    pseudo = "(one) => getComputedStyle(one.querySelector('.frame'), '::after')"
    # a frame around the first picture that is whole, and another around the last
    colours: list[list[str]] = []
    for pressed, finishes in (
        ("Home", ["", ""]),
        ("Shift+ArrowRight", ["", "first"]),
        ("Shift+ArrowRight", ["last", "first"]),
    ):
        expect(page.locator(".outcome")).to_have_count(0)
        key(page, pressed)
        for i, finish in enumerate(finishes):
            expect(lane.nth(i)).to_have_attribute("data-finish", finish)
        page.wait_for_function("() => document.getAnimations().length === 0")
        colours.append(lane.evaluate_all(f"all => all.map({pseudo}).map((it) => it.outlineColor)"))
    expect(page.locator(".outcome")).to_be_visible()
    (start, first, last) = colours
    assert start == [NONE, NONE]
    assert first[0] == NONE != first[1]
    assert NONE != last[0] != last[1] == first[1]
    # it comes down slowly, but for those who like things still
    for still in (False, True):
        page.emulate_media(reduced_motion="reduce" if still else "no-preference")
        times = f"all => all.map({pseudo}).map((it) => parseFloat(it.transitionDuration))"
        assert [time == 0 for time in lane.evaluate_all(times)] == [still, still]
    # a pinned token takes little of its lane's room
    key(page, "Shift+Digit2")
    shows(page, "sjd")
    faultless(page, OVER)
    picture, panel = page.locator(".lane[data-lane='sjd'] canvas"), page.locator(".token")
    alone = picture.bounding_box()
    picture.click(position={"x": 100, "y": 100})
    expect(panel).to_be_visible()
    expect(page.locator(".board")).to_have_attribute("data-columns", "2")
    page.wait_for_function(
        "(least) => { const [panel, lane, picture] = ['.token', '.lane:not([hidden])',"
        " '.lane:not([hidden]) canvas'].map((one) => document.querySelector(one)"
        ".getBoundingClientRect()); return panel.left >= lane.right && picture.width > least; }",
        arg=0.8 * alone["width"],
    )
    over = "rows => rows.filter((row) => row.scrollWidth > row.clientWidth + 1).length"
    assert panel.locator(".life-row:visible").evaluate_all(over) == 0
    # the strip comes with the pointer, for a while, and with the focus
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


def test_token_panel_tells_a_life_and_shows_the_chosen_steps_distributions(open_file, duel) -> None:
    page = open_file(duel, 1480, 1000)
    key(page, "End")
    page.locator(".lane[data-lane='sjd'] canvas").click(position={"x": 150, "y": 150})
    panel = page.locator(".token")
    expect(panel.locator(".token-where")).to_contain_text("SJD, row ")
    expect(panel.locator(".token-why")).to_contain_text("pass")
    rows = panel.locator("button.life-row")
    expect(panel.locator("button.life-row[aria-pressed='true']")).to_have_count(1)
    rows.first.click()
    expect(rows.first).to_have_attribute("aria-pressed", "true")
    number = panel.locator(".experiment-number")
    if not number.count():
        panel.locator("button.life-row", has=panel.page.locator(".test-tick")).first.click()
    verdict = panel.locator(".experiment-verdict")
    fate = r"^The number drawn was .*, so the draft was (accepted|rejected): "
    expect(verdict).to_have_text(re.compile(fate))
    number.press("Home")
    expect(verdict).to_have_text(re.compile("^With the number 0 the draft would .*accepted, 0"))
    expect(panel.locator(".experiment")).to_have_attribute("data-accepted", "1")
    assert 1 <= panel.locator(".distribution").first.locator(".bar-row").count() <= 9
    swatch = panel.locator(".bar-row .swatch").first
    assert swatch.evaluate("element => getComputedStyle(element).backgroundImage").startswith("url")
    panel.locator(".token-close").click()
    expect(panel).to_be_hidden()
