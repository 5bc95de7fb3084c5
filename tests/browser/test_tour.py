"""The guided tour: walked on the page and on the stage, its end, its questions, and without a
network. What its chapters say and show is in tests/prose.txt."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.acts import (
    INSIDE,
    OVER,
    PATIENCE,
    at,
    faultless,
    finished,
    hold_timers,
    key,
    lanes_by_event,
    prompted,
    run_timers,
    show_layer,
)
from visualize.film.layers import Layer

CHAPTERS = {  # each with the lanes that it shows
    "One token at a time": ["ar"],
    "Guess in parallel": ["ar", "jacobi"],
    "The same noise": ["ar", "fpi"],
    "Guess with a distribution": ["ar", "sjd"],
    "What p and q share": ["sjd"],
    "Redraw with the same noise": ["sjd", "scd"],
    "Why image tokens are hard": ["sjd"],
    "Accept a group": ["sjd", "gsd"],
    "Accept a neighbour": ["sjd", "lantern"],
    "Do not stop at a rejection, and draft a tree": ["sjd", "sjd-pac"],
    "When does speculation lose?": ["ar", "sjd", "scd", "sjd-pac"],
    "Draw several rows at once": ["ar", "zipar"],
    "Guess in every row": ["ar", "zipar", "rows"],
    "Test yourself": ["sjd", "gsd", "sjd-pac"],
    "Your turn": ["sjd", "gsd", "sjd-pac"],
}
TITLES = list(CHAPTERS)
NUMBERS = (*range(1, 14), 16, 17)  # 14 and 15 are of races that are not there
LAST = len(TITLES)
ROWS = LAST - 3  # two chapters of a race of their own
TEST = LAST - 1
NO_LIFE = {
    3: ".chapter",
    5: ".overlap",
    11: ".modelled-panel",
    TEST: ".self-test",
    LAST: ".chapter-tries",
}  # which show no token
LAPTOP, PHONE = (1366, 768), (360, 740)
TWICE = (683, 384)  # a laptop at 200% zoom
STAGES = ((1280, 720, 15.9), (1920, 1080, 23.9))  # each with the least size of type, in pixels

# Whether all pictures that are shown, the chapter's title and the way on are in the window.
SIDE_BY_SIDE = """() => [...document.querySelectorAll(
  ".lane:not([hidden]) canvas, .chapter-title, .chapter-on")].every((part) => {
    const { top, bottom, left, right } = part.getBoundingClientRect();
    return top >= -1 && bottom <= innerHeight + 1 && left >= 0 && right <= innerWidth;
  })"""
# Whether a phone shows all of a chapter, which is not the last, on one screen: the pictures of the
# lanes, the words and the way on; no time is cut off, and nothing reaches over the screen's edge.
OFF_THE_PHONE = """() => {
  const seen = (selector) => [...document.querySelectorAll(selector)];
  const lanes = ".lane:not([hidden])";
  const words = seen(".chapter-text p");
  const parts = [...seen(`${lanes} canvas`), words[0], words.at(-1), ...seen(".chapter-on")];
  const off = parts.filter((part) => {
    const { top, bottom } = part.getBoundingClientRect();
    return top < -1 || bottom > innerHeight + 1;
  });
  const cut = seen(`${lanes} .stamp`).filter((it) => it.scrollWidth > it.clientWidth);
  const wide = document.documentElement.scrollWidth > innerWidth ? [document.body] : [];
  return [...off, ...cut, ...wide].map((part) => part.outerHTML.slice(0, 80));
}"""
# On a wide page the chapter stands beside the lanes.
BELOW = """() => {
  const [lanes, chapter] = [".lanes", ".chapter"].map((part) =>
    document.querySelector(part).getBoundingClientRect());
  return chapter.left > lanes.right ? [] : [lanes.right, chapter.left];
}"""
# The texts of the board in a type smaller than so many pixels.
TOO_SMALL = """(least) => {
  const found = [];
  const walk = document.createTreeWalker(document.querySelector('.board'), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim(), element = walk.currentNode.parentElement;
    const seen = element.checkVisibility({ visibilityProperty: true });
    if (!text || element.closest('.live') || !seen) continue;
    if (parseFloat(getComputedStyle(element).fontSize) < least) found.push(text);
  }
  return found;
}"""
# Where the numbers of the chosen step (p, q and TV) do not stand in one row.
NOT_IN_A_ROW = """() => {
  const numbers = [...document.querySelectorAll(".life-row[aria-pressed='true'] .life-number")];
  const tops = numbers.map((number) => number.getBoundingClientRect().top);
  return tops.length === 3 && Math.max(...tops) - Math.min(...tops) < 4 ? [] : [tops];
}"""


def size(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})


def chapter(page: Page, place: int) -> None:
    expect(page.locator(".chapter-number")).to_have_text(str(NUMBERS[place - 1]))
    expect(page.locator(".chapter h3")).to_have_text(TITLES[place - 1])


def to_the_end(page: Page, first: int) -> None:
    for place in range(first, LAST):
        chapter(page, place)
        key(page, "n")
    chapter(page, LAST)


def test_the_tour_is_walked_on_the_page_and_back_on_the_stage(recorded_url, open_page) -> None:
    page = open_page(recorded_url, *LAPTOP)
    board = page.locator(".board")
    prompted(page, "cactus on yellow sand")
    # a lane's "why?" opens the chapter on its decoder, about this race
    page.locator(".lane[data-lane='sjd'] .why-chapter").click()
    expect(page.locator(".chapter-title")).to_have_text("Guess with a distribution")
    prompted(page, "cactus on yellow sand")
    key(page, "Escape")
    # the tour fetches its race
    page.locator(".tour").click()
    prompted(page, "the tour")
    expect(page.locator(".tour")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".chapter-count")).to_have_text("1 of 17")
    # letters typed into a field are no keys of the tour
    field = page.locator("#prompt input, #prompt textarea")
    field.fill("")
    field.press_sequentially("pen")
    expect(field).to_have_value("pen")
    # on the page: each chapter with its race, its lanes, its layer and its clock
    for place, lanes in enumerate(CHAPTERS.values(), 1):
        chapter(page, place)
        prompted(page, "rows at once" if ROWS <= place < TEST else "the tour")
        expect(board).to_have_attribute("data-layer", "tv" if place == 7 else "picture")
        expect(board).to_have_attribute("data-clock", "modelled" if place == 11 else "passes")
        shown = page.locator(".lane:not([hidden])")
        expect(shown).to_have_count(len(lanes))
        assert shown.evaluate_all("all => all.map((lane) => lane.dataset.lane)") == lanes
        expect(page.locator(NO_LIFE.get(place, ".token"))).to_be_visible()
        if place == LAST:
            break
        faultless(page, BELOW)
        size(page, *(TWICE if place == 3 else PHONE))
        page.locator(".chapter-on").click()
        chapter(page, place + 1)
        if place == 3:
            page.wait_for_function(SIDE_BY_SIDE)
        elif place + 1 < LAST:
            faultless(page, OFF_THE_PHONE)
        size(page, *LAPTOP)
    expect(page.locator(".chapter-on")).to_be_disabled()
    # on the stage: all is seen from the back, and nothing scrolls
    page.evaluate("delete Element.prototype.requestFullscreen")  # whose window has one size
    key(page, "f")
    expect(page.locator("body")).to_have_class(re.compile("present"))
    for place in range(LAST, 0, -1):
        chapter(page, place)
        expect(page.locator(NO_LIFE.get(place, ".token"))).to_be_visible()
        for width, height, least in STAGES:
            size(page, width, height)
            faultless(page, OVER)
            faultless(page, TOO_SMALL, least)
        key(page, "PageUp")
    # Escape leaves the tour and gives back the race that was there
    key(page, "Escape")
    prompted(page, "cactus on yellow sand")
    expect(page.locator(".chapter")).to_have_count(0)
    expect(page.locator(".lane[hidden]")).to_have_count(0)
    expect(page.locator(".token")).to_be_hidden()
    expect(board).to_have_attribute("data-layer", "picture")


def test_the_tours_end_has_things_to_try(recorded_url, open_page) -> None:
    page = open_page(recorded_url, *LAPTOP, "?tour=11")  # a link opens it at a chapter
    prompted(page, "the tour")
    to_the_end(page, 11)
    tries = page.locator(".chapter-tries button")
    expect(tries).to_have_count(3)
    # the lanes of half a page have room for the times of every clock
    size(page, 1280, 720)
    times = {"Seconds": r"\d\.\d{3} s", "Passes": r"\d+", "Modelled": r"≈\d+\.\d{2,3} s"}
    for clock, time in times.items():
        page.get_by_role("button", name=clock, exact=True).click()
        for stamp in page.locator(".lane .stamp").all():
            expect(stamp).to_have_text(re.compile(rf"^\d\w\w  {time}$"))
            assert stamp.evaluate("stamp => stamp.scrollWidth - stamp.clientWidth") <= 0, clock
    page.get_by_role("button", name="Passes", exact=True).click()
    # the same race by another machine's seconds
    tries.nth(1).click()
    expect(page.locator(".board")).to_have_attribute("data-clock", "modelled")
    chapter(page, LAST)
    # a prompt of one's own
    tries.nth(0).click()
    prompted(page, "cactus on yellow sand")
    expect(page.locator("#prompt :is(input, textarea)")).to_be_focused()
    # a race in the tour is on the clock and in the layer of before
    page.locator(".tour").click()
    chapter(page, 1)
    key(page, "l")
    expect(page.locator(".board")).not_to_have_attribute("data-layer", "picture")
    lanes_by_event(page, "ar", "sjd")  # too few for a tour of their own
    page.locator("#race").click()
    finished(page)
    expect(page.locator(".board")).to_have_attribute("data-clock", "seconds")
    expect(page.locator(".board")).to_have_attribute("data-layer", "picture")
    expect(page.locator(".stage-panel")).to_be_hidden()
    # GSD against itself
    page.locator(".tour").click()
    to_the_end(page, 1)
    tries.nth(2).click()
    expect(page.locator(".lane")).to_have_count(2)
    finished(page)
    titles = page.locator(".lane .title").all_inner_texts()
    assert all("GSD" in title for title in titles)
    expect(page.locator(".stage-panel")).to_be_hidden()


def test_the_tour_without_a_network(recorded_url, browser) -> None:
    """In a German browser, whose page is English all the same."""
    context = browser.new_context(locale="de-DE", viewport={"width": 1366, "height": 768})
    context.add_init_script(INSIDE)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    # a race that does not come is asked for again
    page.route("**/tour.json", lambda route: route.fulfill(status=503))
    page.goto(recorded_url)
    page.wait_for_selector("html[data-opened]")
    assert page.evaluate("navigator.language") == "de-DE"
    expect(page.locator("html")).to_have_attribute("lang", "en")
    prompted(page, "cactus on yellow sand")
    with page.expect_response("**/tour.json"):
        page.locator(".tour").click()
    expect(page.locator(".stage-panel")).to_contain_text("ask for it again")
    page.unroute("**/tour.json")
    page.locator(".tour").click()
    chapter(page, 1)
    # the races come after the page, whose tour needs no network then
    with page.expect_response("**/tour.json") as fetched:
        page.goto(recorded_url)
    fetched.value.finished()
    page.wait_for_selector("html[data-opened]")
    prompted(page, "cactus on yellow sand")
    page.evaluate("() => { window.same = true }")
    context.set_offline(True)
    page.locator(".tour").click()
    chapter(page, 1)
    page.locator(".chapter-on").click()
    chapter(page, 2)
    # what the server is to read waits for it: nothing lies over a chapter, which stays
    page.locator("#prompt input, #prompt textarea").fill("a dog")
    expect(page.locator(".notice.away, .toast-body")).to_have_count(0)
    with page.expect_response("**/queue/join*"):
        context.set_offline(False)
    chapter(page, 2)
    assert page.evaluate("same"), "the page was not loaded again"
    context.close()


def test_chapters_show_a_test_in_parts_and_by_keys(open_file, toured) -> None:
    page = open_file(toured, *LAPTOP, "?tour=4", still=True)  # each press shows the next part
    chapter(page, 4)
    expect(page.locator(".chapter-text > :first-child")).to_have_class("draft-test")
    for width in (1280, 1920, 1366):
        size(page, width, 768)
        faultless(page, NOT_IN_A_ROW)
    phase, board = page.locator(".chapter-phase"), page.locator(".board")
    parts = (
        ("Before pass ", -1, "picture"),
        ("Its test: ", 0, "status"),
        ("After: ", 0, "picture"),
    )

    def shows(here: float, words: str, passes: int, layer: str) -> None:
        expect(phase).to_contain_text(words)
        expect(board).to_have_attribute("data-t", f"{here + passes:g}")
        expect(board).to_have_attribute("data-layer", layer)

    here = at(page)
    for part in parts:
        page.locator(".chapter-again").click()
        shows(here, *part)
    # q is moved towards p by keys: what is kept and what is redrawn make p wherever q lies
    key(page, "n")
    chapter(page, 5)
    expect(phase).to_be_empty()
    slider = page.get_by_role("slider", name="Move q towards p")
    numbers = page.get_by_role("row", name="all of p").locator("td:not(.overlap-track)")

    def shares() -> list[float]:
        return [float(text or 0) for text in numbers.all_inner_texts()]

    kept, rejected, redrawn = first = shares()
    assert redrawn > 0
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("100% of the way"))
    assert shares() == [1, 0, 0]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".overlap figcaption")).to_contain_text("1% of the way")
    now = shares()
    assert now[0] > kept
    for all_of_p in (first, now):
        assert sum(all_of_p) == pytest.approx(1, abs=0.0011)
    assert rejected == 0
    chapter(page, 5)  # the keys moved q alone
    # a token's panel has its group or its candidates
    key(page, "n", "n", "n")
    for number, who in ((8, ".group .swatch"), (9, ".group .swatch"), (10, ".candidate")):
        chapter(page, number)
        expect(page.locator(f".token {who}").first).to_be_visible()
        if number < 10:
            key(page, "n")
    # the parts of a pass follow each other by the clock
    key(page, "p", "p")
    chapter(page, 8)
    here = at(page)
    page.emulate_media(reduced_motion="no-preference")
    hold_timers(page)
    key(page, "t")
    for part in parts:
        shows(here, *part)
        run_timers(page)


def test_questions_are_answered_on_the_board_and_by_keys(open_file, toured) -> None:
    page = open_file(toured, *LAPTOP, "?tour=11")
    title = page.locator(".chapter-title")
    expect(title).to_have_text("When does speculation lose?")
    key(page, "n")  # a file has one race, and leaves out the chapters of the other
    expect(title).to_have_text("Test yourself")
    expect(page.locator(".chapter-count")).to_have_text("16 of 17")
    ask, verdict = page.locator(".self-test-ask"), page.locator(".self-test-verdict")
    check, on = page.locator(".self-test-check"), page.locator(".self-test-next")
    expect(ask).to_have_text(re.compile("^1 of 8: Choose any token of the lane .* fewest passes"))
    check.click()
    expect(verdict).to_have_text("Choose a token in one of the pictures first.")
    passes = page.locator(".lane:visible .passes").all_inner_texts()
    fewest = min(range(len(passes)), key=lambda i: int(passes[i]))
    canvases = page.locator(".lane:visible canvas")

    def choose(lane: int) -> None:
        canvases.nth(lane).focus()
        page.keyboard.press("Enter")
        check.focus()
        page.keyboard.press("Enter")

    choose((fewest + 1) % len(passes))
    wrong = r"^No: .* took \d+ passes, and another lane shown took only \d+\."
    expect(verdict).to_have_text(re.compile(wrong))
    choose(fewest)
    expect(verdict).to_have_text(re.compile("^Right: "))
    expect(on).to_be_focused()
    on.click()
    expect(ask).to_have_text(re.compile("^2 of 8: "))
    on.click()
    expect(ask).to_have_text(
        re.compile("^3 of 8: Show the layer that says how far draft and model")
    )
    # the tour can be left at any question, and has it again
    page.keyboard.press("Escape")
    expect(page.locator(".stage-panel")).to_be_hidden()
    page.locator(".tour").click()
    while title.inner_text() != "Test yourself":
        page.locator(".chapter-on").click()
    expect(ask).to_have_text(re.compile("^3 of 8: "))
    show_layer(page, Layer.TV)
    check.click()
    expect(verdict).to_have_text("Right: TV(p, q) is how far apart a draft's p and q are.")
    for _ in range(6):
        on.click()
    expect(ask).to_have_text("1 of 8 right at the first try.")
    on.click()
    expect(ask).to_have_text(re.compile("^1 of 8: "))
    # the last page says what was left out
    key(page, "n")
    expect(page.locator(".chapter-missing")).to_have_text(
        "Left out because their decoders do not race here: Draw several rows at once;"
        " Guess in every row."
    )
