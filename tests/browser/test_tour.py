"""The guided tour: in files of their own, and on the page, where it fetches its race."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.acts import (
    OVER,
    PATIENCE,
    at,
    finished,
    frames,
    hold_timers,
    key,
    prompted,
    run_timers,
    wide,
)

# The smallest type that is seen, in pixels, and the text that is set in it.
SMALLEST = """() => {
  const seen = [];
  const walk = document.createTreeWalker(document.querySelector('.board'), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim(), element = walk.currentNode.parentElement;
    const seenNow = element.checkVisibility({ visibilityProperty: true });
    if (!text || element.closest('.live') || !seenNow) continue;
    seen.push([parseFloat(getComputedStyle(element).fontSize), text]);
  }
  return seen.sort((a, b) => a[0] - b[0])[0];
}"""
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


def chapter(page: Page, number: int, title: str = "") -> None:
    expect(page.locator(".chapter-number")).to_have_text(str(number))
    expect(page.locator(".chapter h3")).to_have_text(title or TITLES[number - 1])


def to_the_end(page: Page, first: int) -> None:
    for number in range(first, LAST):
        chapter(page, number)
        key(page, "n")
    chapter(page, LAST)


def test_the_stage_is_read_from_the_back_and_never_scrolls(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 1920, 1080, "?present=1")
    prompted(page, "cactus on yellow sand")
    tops = {page.locator(".lane").nth(i).bounding_box()["y"] for i in range(2)}
    assert len(tops) == 1
    key(page, "PageDown")
    for number in range(1, LAST + 1):
        chapter(page, number)
        expect(page.locator(NO_LIFE.get(number, ".token"))).to_be_visible()
        for width, height, least in ((1280, 720, 15.9), (1920, 1080, 23.9)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_function(f"({OVER})().length === 0")
            size, text = page.evaluate(SMALLEST)
            assert size >= least, (number, text)
        key(page, "PageDown")


def test_the_tour_fetches_its_race_and_gives_the_board_back(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 1366, 768)
    prompted(page, "cactus on yellow sand")
    page.locator(".tour").click()
    prompted(page, "the tour")
    expect(page.locator(".tour")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#recorded input")).to_have_value("the tour")
    expect(page.locator(".chapter-count")).to_have_text(f"1 of {LAST}")
    field = page.locator("#prompt input, #prompt textarea")
    field.fill("")
    field.press_sequentially("pen")  # letters typed into a field are no keys of the tour
    expect(field).to_have_value("pen")
    for number, lanes in enumerate(CHAPTERS.values(), 1):
        chapter(page, number)
        prompted(page, "rows at once" if ROWS <= number < TEST else "the tour")
        expect(page.locator(".board")).to_have_attribute(
            "data-layer", "tv" if number == 7 else "picture"
        )
        expect(page.locator(".board")).to_have_attribute(
            "data-clock", "modelled" if number == 11 else "passes"
        )
        shown = page.locator(".lane:not([hidden])")
        assert shown.evaluate_all("all => all.map((lane) => lane.dataset.lane)") == lanes
        expect(page.locator(".chapter-text p").first).not_to_be_empty()
        box, panel = (page.locator(part).bounding_box() for part in (".lanes", ".chapter"))
        if number < LAST:  # side by side
            assert panel["x"] > box["x"] + box["width"]
            page.locator(".chapter-on").click()
    assert panel["width"] > 1200
    expect(page.locator(".chapter-on")).to_be_disabled()
    key(page, "p")
    chapter(page, TEST)
    key(page, "p")
    chapter(page, TEST - 1)
    key(page, "p")
    chapter(page, ROWS)
    key(page, "p")
    chapter(page, 11)
    key(page, "p", "p", "n", "PageUp", "PageUp")
    chapter(page, 8)
    key(page, "Escape")
    expect(page.locator(".stage-panel")).to_be_hidden()
    expect(page.locator(".lane[hidden]")).to_have_count(0)
    expect(page.locator(".token")).to_be_hidden()
    expect(page.locator(".board")).to_have_attribute("data-layer", "picture")
    prompted(page, "cactus on yellow sand")  # the race that was there
    expect(page.locator("#recorded input")).to_have_value("cactus on yellow sand")
    page.locator(".tour").click()
    chapter(page, 1)
    page.locator(".chapter-leave").click()
    expect(page.locator(".stage-panel")).to_be_hidden()


def test_the_tour_needs_no_network_once_the_page_is_there(recorded_url, browser) -> None:
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.set_default_timeout(PATIENCE)
    with page.expect_response("**/tour.json") as fetched:
        page.goto(recorded_url)
    fetched.value.finished()
    prompted(page, "cactus on yellow sand")
    page.context.set_offline(True)
    page.locator(".tour").click()
    chapter(page, 1)
    page.locator(".chapter-on").click()
    chapter(page, 2)
    page.close()


def test_nothing_is_asked_again_and_again_while_offline(recorded_url, browser) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(recorded_url)
    prompted(page, "cactus on yellow sand")
    page.evaluate(
        "() => { const ask = fetch; window.questions = 0; window.fetch = (...what) =>"
        " { questions += String(what[0]).includes('/app_id'); return ask(...what); } }"
    )
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    page.locator("#prompt input, #prompt textarea").fill("a")  # which the server is to read
    page.wait_for_function("() => questions >= 2")
    assert not [url for url in asked if "/app_id" in url]
    with page.expect_request("**/app_id"):
        page.context.set_offline(False)
    page.close()


def test_a_lost_connection_says_nothing_over_a_chapter(recorded_url, browser) -> None:
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.set_default_timeout(PATIENCE)
    page.goto(recorded_url)
    prompted(page, "cactus on yellow sand")
    page.locator(".tour").click()
    chapter(page, 1)
    page.context.set_offline(True)
    page.locator("#prompt input, #prompt textarea").fill("a")  # which the server is to read
    toast = page.locator(".toast-body")
    expect(toast).to_have_count(1)
    expect(toast).to_be_hidden()
    page.locator(".chapter-leave").click()
    expect(toast).to_be_visible()
    page.close()


def test_a_tour_that_does_not_come_is_asked_for_again(recorded_url, browser) -> None:
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.set_default_timeout(PATIENCE)
    page.route("**/tour.json", lambda route: route.fulfill(status=503))
    page.goto(recorded_url)
    prompted(page, "cactus on yellow sand")
    with page.expect_response("**/tour.json"):
        page.locator(".tour").click()
    expect(page.locator(".stage-panel")).to_contain_text("ask for it again")
    page.unroute("**/tour.json")
    page.locator(".tour").click()
    chapter(page, 1)
    page.close()


def test_the_tours_end_has_things_to_try(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 1366, 768, "?tour=3")  # a link opens it at a chapter
    prompted(page, "the tour")
    to_the_end(page, 3)
    tries = page.locator(".chapter-tries button")
    expect(tries).to_have_count(3)
    page.set_viewport_size({"width": 1280, "height": 720})
    times = {"Seconds": r"\d\.\d{3} s", "Passes": r"\d+", "Modelled": r"≈\d+\.\d{2,3} s"}
    for clock, time in times.items():
        page.get_by_role("button", name=clock, exact=True).click()
        for stamp in page.locator(".lane .stamp").all():
            expect(stamp).to_have_text(re.compile(rf"^\d\w\w  {time}$"))
            assert stamp.evaluate("stamp => stamp.scrollWidth - stamp.clientWidth") <= 0, clock
    page.get_by_role("button", name="Passes", exact=True).click()
    tries.nth(1).click()
    expect(page.locator(".board")).to_have_attribute("data-clock", "modelled")
    chapter(page, LAST)
    tries.nth(0).click()
    prompted(page, "cactus on yellow sand")
    expect(page.locator("#prompt :is(input, textarea)")).to_be_focused()
    page.locator(".tour").click()
    prompted(page, "the tour")
    to_the_end(page, 1)
    tries.nth(2).click()
    expect(page.locator(".lane")).to_have_count(2)
    finished(page)
    titles = page.locator(".lane .title").all_inner_texts()
    assert all("GSD" in title for title in titles)
    expect(page.locator(".stage-panel")).to_be_hidden()


def test_a_race_in_the_tour_is_on_the_clock_and_in_the_layer_of_before(
    recorded_url, open_page
) -> None:
    page = open_page(recorded_url, 1366, 768, "?tour=7")
    chapter(page, 7)
    page.locator("#race").click()
    finished(page)
    expect(page.locator(".board")).to_have_attribute("data-clock", "seconds")
    expect(page.locator(".board")).to_have_attribute("data-layer", "picture")
    expect(page.locator(".stage-panel")).to_be_hidden()


def test_a_pass_is_replayed_in_three_parts(open_file, toured) -> None:
    page = open_file(toured, 1366, 768, still=True)  # each press shows the next part
    page.locator(".tour").click()
    chapter(page, 1)
    key(page, "n", "n", "n")
    chapter(page, 4)
    frames(page)  # the chapter's text stands before the board has moved
    here, phase, board = at(page), page.locator(".chapter-phase"), page.locator(".board")
    before, its_test = ("Before pass ", -1, "picture"), ("Its test: ", 0, "status")
    parts = (before, its_test, ("After: ", 0, "picture"))

    def shows(words: str, passes: int, layer: str) -> None:
        expect(phase).to_contain_text(words)
        expect(board).to_have_attribute("data-t", f"{here + passes:g}")
        expect(board).to_have_attribute("data-layer", layer)

    for part in parts:
        page.locator(".chapter-again").click()
        shows(*part)
    page.emulate_media(reduced_motion="no-preference")  # they follow each other by the clock
    hold_timers(page)
    key(page, "t")
    for part in parts:
        shows(*part)
        run_timers(page)
    key(page, "n")
    expect(phase).to_be_empty()


def test_q_is_moved_towards_p_by_keys(open_file, toured) -> None:
    """What is kept and what is redrawn make p, wherever q lies, and are read out."""
    page = open_file(toured, 1366, 768, "?tour=5")
    chapter(page, 5)
    slider = page.get_by_role("slider", name="Move q towards p")
    of_p = page.get_by_role("row", name="all of p")
    parts = of_p.locator("td:not(.overlap-track)")

    def shares() -> list[float]:
        return [float(text or 0) for text in parts.all_inner_texts()]

    kept, rejected, redrawn = before = shares()
    assert redrawn > 0
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("100% of the way"))
    assert shares() == [1, 0, 0]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    now = shares()
    assert now[0] > kept
    for all_of_p in (before, now):
        assert sum(all_of_p) == pytest.approx(1, abs=0.0011)
    assert rejected == 0
    chapter(page, 5)  # the keys moved q alone
    expect(page.locator(".overlap figcaption")).to_contain_text("1% of the way")


def test_questions_are_answered_on_the_board_and_by_keys(open_file, toured) -> None:
    page = open_file(toured, 1366, 768, f"?tour={TEST + 1}")  # as its links count
    expect(page.locator(".chapter-title")).to_have_text("Test yourself")
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
    expect(verdict).to_have_text(re.compile(r"^No: .* took \d+ passes, and the fewest are \d+\."))
    choose(fewest)
    expect(verdict).to_have_text(re.compile("^Right: "))
    expect(on).to_be_focused()
    on.click()
    expect(ask).to_have_text(re.compile("^2 of 8: "))
    on.click()
    expect(ask).to_have_text(re.compile("^3 of 8: Show the layer of how far draft and model"))
    page.keyboard.press("Escape")  # at any question
    expect(page.locator(".stage-panel")).to_be_hidden()
    page.locator(".tour").click()
    while page.locator(".chapter-title").inner_text() != "Test yourself":
        page.locator(".chapter-on").click()
    expect(ask).to_have_text(re.compile("^3 of 8: "))  # as it was left
    page.get_by_role("button", name="TV(p, q)", exact=True).click()
    check.click()
    expect(verdict).to_have_text("Right: TV(p, q) is how far p and q of a draft lie apart.")
    for _ in range(6):
        on.click()
    expect(ask).to_have_text("1 of 8 right at the first try.")
    on.click()
    expect(ask).to_have_text(re.compile("^1 of 8: "))


def test_token_panel_shows_the_group_or_the_candidates(open_file, toured) -> None:
    page = open_file(toured, 1480, 1000, "?tour=8")
    for number, who in ((8, ".group .swatch"), (9, ".group .swatch"), (10, ".candidate")):
        chapter(page, number)
        expect(page.locator(f".token {who}").first).to_be_visible()
        key(page, "n")


@pytest.mark.parametrize("width", [1280, 1366, 1920])
def test_a_steps_numbers_stand_in_one_row_beside_its_chapter(open_file, toured, width) -> None:
    page = open_file(toured, width, 768, "#tour=4")
    chapter(page, 4)
    numbers = page.locator(".life-row[aria-pressed='true'] .life-number")
    expect(numbers).to_have_count(3)  # p, q and TV
    tops = numbers.evaluate_all("all => all.map((it) => it.getBoundingClientRect().top)")
    assert max(tops) - min(tops) < 4


@pytest.mark.parametrize(("width", "height"), [(390, 844), (360, 740)])
def test_panel_and_tour_fit_a_phone(open_file, toured, width, height) -> None:
    page = open_file(toured, width, height)
    page.locator(".lane canvas").first.click(position={"x": 20, "y": 20})
    expect(page.locator(".token")).to_be_visible()
    assert wide(page) <= 0
    box = page.locator(".token").bounding_box()
    assert box["y"] + box["height"] <= height + 1
    page.locator(".token-close").click()
    page.locator(".tour").click()
    last = ROWS + 1  # a file has one race
    titles = [*TITLES[: ROWS - 1], *TITLES[TEST - 1 :]]
    for number, title in enumerate(titles, 1):
        chapter(page, number, title)
        assert wide(page) <= 0
        if number == 4:
            expect(page.locator(".chapter-text > :first-child")).to_have_class("draft-test")
        if number == last:
            break
        # the pictures and the words on one screen
        words, lanes = page.locator(".chapter-text p"), page.locator(".lane:not([hidden])")
        on = page.locator(".chapter-on")
        for part in (*lanes.locator("canvas").all(), words.first, words.last, on):
            expect(part).to_be_in_viewport(ratio=1)
        for stamp in lanes.locator(".stamp").all():
            assert stamp.evaluate("stamp => stamp.scrollWidth - stamp.clientWidth") <= 0
        page.locator(".chapter-on").click()


def test_a_race_of_ones_own_numbers_its_chapters_by_their_place(open_file, duel) -> None:
    """Two lanes have no example of most chapters, and the last one says of which."""
    page = open_file(duel, 1366, 768)
    page.locator(".tour").click()
    number, count = page.locator(".chapter-number"), page.locator(".chapter-count")
    missing = page.locator(".chapter-missing")
    for place in range(1, 8):
        expect(number).to_have_text(str(place))
        expect(count).to_have_text(f"{place} of 7")
        expect(missing).to_have_text(
            re.compile("^Left out, since their decoders do not race here: Guess in parallel; ")
            if place == 7
            else ""
        )
        key(page, "n")
