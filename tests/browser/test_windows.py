"""Windows of every size, from a narrow phone to a wall, and a visitor's own colours: each shows how
the race stands, and nothing is cut off or scrolls sideways."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.acts import (
    faultless,
    finished,
    key,
    prompted,
    race,
    running,
    show_options,
    unfold,
    wide,
)

NARROW, PHONE, LAPTOP, WALL = (320, 640), (390, 844), (1366, 768), (3840, 2160)
# Windows of a race that is over, by the number of its lanes that are shown.
OVER = {8: [NARROW, WALL], 7: [WALL], 5: [LAPTOP], 4: [LAPTOP], 3: [LAPTOP], 2: [WALL], 1: [LAPTOP]}
# Windows of a race of two lanes that has begun, each with the least share of the first picture that
# is in it before anything is scrolled. 683 x 384 is a laptop's at a zoom of 200%.
BEGUN = [(*NARROW, 1), (683, 384, 0.75), (*WALL, 1), (*PHONE, 1)]
# What does not fit: the page in its width and the first picture in its height; on a laptop, few
# lanes with their figures; on a wall, the board, its last lane and that lane's picture.
MISFITS = """([width, height, lanes, least]) => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const box = (part) => part.getBoundingClientRect();
  const shown = all(".lane:not([hidden])");
  const pictures = shown.map((lane) => box(lane.querySelector("canvas")));
  const [first, last] = [pictures[0], pictures.at(-1)];
  const seen = Math.min(first.bottom, innerHeight) - Math.max(first.top, 0);
  const board = box(document.querySelector(".board"));
  const foot = Math.max(...shown.flatMap((lane) =>
    [...lane.querySelectorAll(".course, dl")].map((part) => box(part).bottom)));
  const end = box(shown.at(-1));
  const facts = {
    "the window's size": innerWidth === width && innerHeight === height && scrollY === 0,
    lanes: shown.length === lanes,
    "no wider than the window": document.documentElement.scrollWidth <= innerWidth,
    "the first picture in sight": seen >= least * first.height && first.height > 0,
    "figures in sight": width !== 1366 || (foot <= height && first.width >= 200),
    "a large board": width < 3000 || board.width > 3000,
    "lanes as wide as the board": width < 3000 || Math.abs(end.right - board.right) <= 2,
    "large pictures": width < 3000 || (last.width > 0.6 * end.width && last.bottom <= height),
  };
  return Object.keys(facts).filter((name) => !facts[name]);
}"""
# What a narrow phone cuts off: times, titles, badges and figures, flags over a lane's edge, a clock
# over what stands below it; and a form in more than two rows.
CUT = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const box = (part) => part.getBoundingClientRect();
  const cut = all(".lane :is(.stamp, .title, .badge, dd)").filter((part) =>
    part.checkVisibility() && part.scrollWidth > part.clientWidth);
  const over = all(".lane .post").filter((flag) =>
    box(flag).right > box(flag.closest(".lane")).right);
  const [roll, options] = all("#roll, #options button");
  const [[clock], [settings]] = [all(".clock"), all(".use-settings")];
  const rows = box(roll).top === box(options).top ? [] : [options];
  const below = box(clock).bottom <= box(settings).top ? [] : [clock];
  return [...cut, ...over, ...rows, ...below].map((part) => part.outerHTML.slice(0, 80));
}"""
# What tells one state of the board from another by a ground: the grounds of a pressed button and of
# one that is not, of the played part of the scrubber and of a lane's bar.
GROUNDS = """() => {
  const style = (selector, part) => getComputedStyle(document.querySelector(selector), part);
  return {
    pressed: style(".layers [aria-pressed='true']").backgroundColor,
    other: style(".layers [aria-pressed='false']").backgroundColor,
    scrub: style(".scrub").backgroundImage,
    done: style(".progress i").backgroundColor,
    left: style(".progress", "::before").backgroundColor,
  };
}"""
# Lanes' frames that reach over the window's edge.
BEYOND = """() => [...document.querySelectorAll(".lane .frame")].filter((frame) => {
  const { left, top, right, bottom } = frame.getBoundingClientRect();
  return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight;
}).map((frame) => frame.closest(".lane").dataset.lane)"""


def test_a_finished_race_fits_windows_of_every_size(recorded_url, open_page) -> None:
    page = open_page(recorded_url, *LAPTOP, "?recorded=tour&t=end")
    expect(page.locator(".board")).to_have_attribute("data-done", "1")
    middles = page.locator(".races, .share, .races svg").evaluate_all(
        "parts => parts.map((part) => { const { top, bottom } = part.getBoundingClientRect();"
        " return (top + bottom) / 2; })"
    )
    assert max(middles) - min(middles) <= 1  # icons in the middle of their buttons
    # a lane can be filled in, which is one button more in its head
    page.locator(".fill").evaluate_all("buttons => buttons.forEach((it) => (it.hidden = false))")
    for lanes in range(8, 0, -1):
        for width, height in OVER.get(lanes, []):
            page.set_viewport_size({"width": width, "height": height})
            faultless(page, MISFITS, [width, height, lanes, 0])
            if (width, height) == NARROW:
                faultless(page, CUT)
        key(page, str(lanes))  # hides the last one
    # forced colours keep what is chosen and how far it is
    key(page, "1")
    page.emulate_media(forced_colors="active")
    try:
        found = page.evaluate(GROUNDS)
        assert found["pressed"] != found["other"]
        assert found["scrub"].count("linear-gradient") == 2
        assert found["done"] != found["left"]
        for each in ("#seed label", "#race", "#roll", "#surprise", ".speed"):
            # gradio's buttons take their borders in a transition
            expect(page.locator(each)).not_to_have_css("border-top-width", "0px")
        arrow = "it => getComputedStyle(it).appearance"  # its own, drawn by a ground, is not there
        assert page.locator(".speed").evaluate(arrow) == "auto"
    finally:
        page.emulate_media(forced_colors="none")


@pytest.fixture
def releasing(model):
    """The model of the pages, which is held by a test and released after it."""
    yield model
    model.release()


def test_a_phone_shows_all_and_a_laptop_sees_its_race(recorded_url, open_page, releasing) -> None:
    page = open_page(recorded_url, *PHONE)
    prompted(page, "cactus on yellow sand")
    # it plays, and every window shows its picture
    expect(page.locator(".board")).not_to_have_attribute("data-t", "0")
    key(page, "Home")
    expect(page.locator(".board")).to_have_attribute("data-t", "0")
    for width, height, least in BEGUN:
        page.set_viewport_size({"width": width, "height": height})
        faultless(page, MISFITS, [width, height, 2, least])
    # no part of the page makes a phone scroll sideways
    assert wide(page) <= 0
    show_options(page)
    assert wide(page) <= 0
    for section in ("whatif", "decided"):
        unfold(page, section)
    expect(page.locator(".figure .js-plotly-plot").first).to_be_visible()
    page.locator("#copy").click()
    expect(page.locator("#link")).to_be_visible()
    key(page, "End")  # at the start there is no token to point at
    page.locator(".lane[data-lane='sjd'] canvas").click(position={"x": 9, "y": 9})
    expect(page.locator(".token")).to_be_visible()
    assert wide(page) <= 0
    # Race folds the options, and a laptop's window has all of the lanes while they race
    page.set_viewport_size({"width": LAPTOP[0], "height": LAPTOP[1]})
    releasing.hold()
    race(page, "x" * 900, lanes=("ar", "sjd", "gsd", "lantern", "sjd-pac"))
    prompted(page, "x" * 900)
    expect(page.locator("#settings")).to_be_hidden()
    running(page)
    faultless(page, BEYOND)
    # a phone has the longest prompt in its width, while the race is on and after it
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert wide(page) <= 0
    releasing.release()
    finished(page)
    assert wide(page) <= 0
