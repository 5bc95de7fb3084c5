"""On a stage: the board alone, the guided tour, the life of a token and the help."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.acts import at, finished, key, prompted, wide
from tests.browser.conftest import TOURED

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
# Parts that reach over the edge of the stage or of their lane, or whose lines are cut off by their
# own; figures that reach into the next lane.
PARTS = (
    ".board, .board :is(.lanes, .lane, .stage-panel, .modelled-panel, .token, .legend, .chapter,"
    " dl > div)"
)
OVER = f"""() => [...document.querySelectorAll('{PARTS}')]
  .filter((part) => part.checkVisibility())
  .filter((part) => {{
    const box = part.getBoundingClientRect();
    const cut = part.scrollHeight > part.clientHeight + 1;
    const lane = part.closest(".lane")?.getBoundingClientRect() ?? {{ right: innerWidth }};
    return cut || box.right > lane.right + 1 || box.bottom > innerHeight + 1;
  }})
  .map((part) => part.className)"""

# Each part of a pass that is replayed, in words: they follow each other by the clock.
PHASES = """() => {
  const phase = document.querySelector(".chapter-phase");
  window.phases = [];
  const note = () => phases.push(phase.textContent);
  new MutationObserver(note).observe(phase, { childList: true, subtree: true });
}"""


@pytest.fixture
def stage(recorded_url, open_page) -> Page:
    page = open_page(recorded_url, 1920, 1080, "?present=1")
    expect(page.locator("body")).to_have_class("present")
    return page


def chapter(page: Page, number: int, title: str) -> None:
    expect(page.locator(".chapter-number")).to_have_text(str(number))
    expect(page.locator(".chapter h3")).to_have_text(title)


# The words of the page that a newcomer need not know.
WORDS = (
    *("autoregressive", "token, code", "pass", "draft", "window", "committed", "frontier"),
    *("acceptance", "rejected, resampled", "refined", "fresh", "forced", "lossless", "group"),
    *("neighbourhood", "EAGLE", "top-1", "TV", "modelled", "shift"),
)
TITLES = [
    "One token at a time",
    "Guess in parallel",
    "The same noise",
    "Guess with a distribution",
    "Redraw with the same noise",
    "Why image tokens are hard",
    "Accept a group",
    "Accept a neighbour",
    "Do not stop at a rejection, and draft a tree",
    "When does speculation lose?",
    "Your turn",
]
LAST = len(TITLES)
NO_LIFE = {3: ".chapter", 10: ".modelled-panel", LAST: ".chapter-tries"}  # which show no token


def test_the_stage_leaves_the_board_alone_on_the_screen(stage) -> None:
    for part in (".masthead", "#entry", "#race", "footer"):
        for found in stage.locator(part).all():
            assert not found.evaluate(
                "element => element.checkVisibility({ visibilityProperty: true })"
            ), part
    expect(stage.locator(".board .strip")).to_have_css("opacity", "0")
    expect(stage.locator(".board .strip")).to_have_css("pointer-events", "none")
    expect(stage.locator(".clock-value")).to_be_visible()
    expect(stage.locator(".stage-line")).to_contain_text("Picture · by seconds")
    key(stage, "l")
    expect(stage.locator(".stage-line")).to_contain_text("Top-1 p")
    box = stage.locator(".board").bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 1920, 1080)


@pytest.mark.parametrize(("width", "height", "least"), [(1920, 1080, 23.9), (1280, 720, 15.9)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_stage_is_read_from_the_back_and_never_scrolls(
    recorded_url, open_page, width, height, least, theme
) -> None:
    page = open_page(recorded_url, width, height, f"?present=1&__theme={theme}")
    prompted(page, "cactus on yellow sand")
    tops = {page.locator(".lane").nth(i).bounding_box()["y"] for i in range(2)}
    assert len(tops) == 1
    key(page, "PageDown")
    for number, title in enumerate(TITLES, 1):
        chapter(page, number, title)
        expect(page.locator(NO_LIFE.get(number, ".token"))).to_be_visible()
        page.wait_for_function(f"({OVER})().length === 0")
        size, text = page.evaluate(SMALLEST)
        assert size >= least, (number, text)
        key(page, "PageDown")


def test_the_tour_fetches_its_race_moves_the_board_and_gives_it_back(
    recorded_url, open_page
) -> None:
    page = open_page(recorded_url, 1400, 1000)
    prompted(page, "cactus on yellow sand")
    page.locator(".tour").click()
    prompted(page, "the tour")
    expect(page.locator(".tour")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#recorded input")).to_have_value("the tour")
    shown = []
    for number, title in enumerate(TITLES, 1):
        chapter(page, number, title)
        expect(page.locator(".board")).to_have_attribute(
            "data-layer", "tv" if number == 6 else "picture"
        )
        expect(page.locator(".board")).to_have_attribute(
            "data-clock", "modelled" if number == 10 else "passes"
        )
        shown.append(
            [lane.get_attribute("data-lane") for lane in page.locator(".lane:not([hidden])").all()]
        )
        expect(page.locator(".chapter-text p").first).not_to_be_empty()
        if number < LAST:
            page.locator(".chapter-on").click()
    assert shown == [
        ["ar"],
        ["ar", "jacobi"],
        ["ar", "fpi"],
        ["ar", "sjd"],
        ["sjd", "scd"],
        ["sjd"],
        ["sjd", "gsd"],
        ["sjd", "lantern"],
        ["sjd", "sjd-pac"],
        ["ar", "sjd", "scd", "sjd-pac"],
        list(TOURED),
    ]
    expect(page.locator(".chapter-on")).to_be_disabled()
    key(page, "p")
    chapter(page, 10, TITLES[9])
    key(page, "p")
    chapter(page, 9, TITLES[8])
    key(page, "n", "PageUp", "PageUp")
    chapter(page, 8, TITLES[7])
    key(page, "Escape")
    expect(page.locator(".stage-panel")).to_be_hidden()
    expect(page.locator(".lane[hidden]")).to_have_count(0)
    expect(page.locator(".token")).to_be_hidden()
    expect(page.locator(".board")).to_have_attribute("data-layer", "picture")
    prompted(page, "cactus on yellow sand")  # the race that was there
    expect(page.locator("#recorded input")).to_have_value("cactus on yellow sand")
    page.locator(".tour").click()
    chapter(page, 1, TITLES[0])
    page.locator(".chapter-leave").click()
    expect(page.locator(".stage-panel")).to_be_hidden()


def test_a_pass_is_replayed_in_three_parts(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 1366, 768)
    page.emulate_media(reduced_motion="reduce")  # each press shows the next part
    page.locator(".tour").click()
    prompted(page, "the tour")
    key(page, "n", "n", "n")
    chapter(page, 4, TITLES[3])
    here, phase, board = at(page), page.locator(".chapter-phase"), page.locator(".board")
    parts = (
        ("Before pass ", -1, "picture"),
        ("Its test: ", 0, "status"),
        ("After: ", 0, "picture"),
    )
    for words, passes, layer in parts:
        page.locator(".chapter-again").click()
        expect(phase).to_contain_text(words)
        expect(board).to_have_attribute("data-t", f"{here + passes:g}")
        expect(board).to_have_attribute("data-layer", layer)
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate(PHASES)
    key(page, "t")
    page.wait_for_function("phases.at(-1)?.startsWith('After: ')")
    assert [words.split()[0] for words in page.evaluate("phases")] == ["Before", "Its", "After:"]
    key(page, "n")
    expect(phase).to_be_empty()


def test_lanes_and_what_they_show_stand_side_by_side_in_the_page(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 1366, 768)
    page.locator(".tour").click()
    prompted(page, "the tour")
    for number, title in enumerate(TITLES[:-1], 1):
        chapter(page, number, title)
        lanes, panel = (page.locator(part).bounding_box() for part in (".lanes", ".chapter"))
        assert panel["x"] > lanes["x"] + lanes["width"]
        key(page, "n")
    chapter(page, LAST, TITLES[-1])
    panel = page.locator(".chapter").bounding_box()
    assert panel["width"] > 1200


def test_the_tours_end_has_things_to_try(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 1366, 768)
    prompted(page, "cactus on yellow sand")
    page.locator(".tour").click()
    prompted(page, "the tour")
    key(page, *["n"] * (LAST - 1))
    tries = page.locator(".chapter-tries button")
    expect(tries).to_have_count(3)
    tries.nth(1).click()
    expect(page.locator(".board")).to_have_attribute("data-clock", "modelled")
    chapter(page, LAST, TITLES[-1])
    tries.nth(0).click()
    prompted(page, "cactus on yellow sand")
    expect(page.locator("#prompt :is(input, textarea)")).to_be_focused()
    page.locator(".tour").click()
    prompted(page, "the tour")
    key(page, *["n"] * (LAST - 1))
    tries.nth(2).click()
    expect(page.locator(".lane")).to_have_count(2)
    finished(page)
    titles = page.locator(".lane .title").all_inner_texts()
    assert all("GSD" in title for title in titles)
    expect(page.locator(".stage-panel")).to_be_hidden()


def test_escape_leaves_the_tour_first_and_the_stage_after_that(stage) -> None:
    key(stage, "PageDown")
    chapter(stage, 1, TITLES[0])
    key(stage, "Escape")
    expect(stage.locator(".chapter")).to_have_count(0)
    expect(stage.locator("body")).to_have_class("present")
    key(stage, "Escape")
    expect(stage.locator("body")).not_to_have_class("present")
    expect(stage.locator(".stage-panel")).to_be_hidden()


def test_letters_typed_into_a_field_are_no_keys_of_the_tour(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    page.locator(".tour").click()
    chapter(page, 1, TITLES[0])
    field = page.locator("#prompt input, #prompt textarea")
    field.fill("")
    field.press_sequentially("pen")
    expect(field).to_have_value("pen")
    chapter(page, 1, TITLES[0])


def test_help_keeps_the_focus_and_the_boards_keys_rest(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    prompted(page, "cactus on yellow sand")
    key(page, "?")
    dialog = page.locator("dialog.keys")
    expect(dialog).to_be_visible()
    expect(dialog.locator("tr", has_text="Hide a lane")).to_be_visible()
    for word in WORDS:
        expect(dialog.locator("th", has_text=word).first).to_be_visible()
    dialog.locator("caption").first.click()
    expect(dialog).to_be_visible()
    for pressed in ("Tab", "Tab", "l", "1"):
        page.keyboard.press(pressed)
        assert page.evaluate(
            "document.activeElement.closest('dialog') !== null"
            " || document.activeElement === document.body"
        )
    expect(page.locator(".board")).to_have_attribute("data-layer", "picture")
    expect(page.locator(".lane[hidden]")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.locator(".help").click()
    expect(dialog).to_be_visible()
    page.mouse.click(5, 5)
    expect(dialog).to_have_count(0)
    key(page, "?", "?")
    expect(dialog).to_have_count(0)


def test_token_panel_tells_a_life_and_shows_the_distributions_of_the_step_that_is_chosen(
    recorded_url, open_page
) -> None:
    page = open_page(recorded_url, 1480, 1000)
    page.locator(".tour").click()
    prompted(page, "the tour")
    key(page, "Escape")
    prompted(page, "cactus on yellow sand")
    key(page, *["Shift+ArrowRight"] * 5)
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


@pytest.mark.parametrize("lane", ["gsd", "lantern", "sjd-pac"])
def test_token_panel_shows_the_group_or_the_candidates(recorded_url, open_page, lane) -> None:
    page = open_page(recorded_url, 1480, 1000)
    page.locator(".tour").click()
    prompted(page, "the tour")
    number = {"gsd": 7, "lantern": 8, "sjd-pac": 9}[lane]
    for _ in range(number - 1):
        key(page, "n")
    chapter(page, number, TITLES[number - 1])
    who = page.locator(".token .candidate" if lane == "sjd-pac" else ".token .group .swatch")
    expect(who.first).to_be_visible()


def test_panel_and_tour_fit_a_phone(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 390, 844)
    prompted(page, "cactus on yellow sand")
    page.locator(".lane canvas").first.click(position={"x": 20, "y": 20})
    expect(page.locator(".token")).to_be_visible()
    assert wide(page) <= 0
    box = page.locator(".token").bounding_box()
    assert box["y"] + box["height"] <= 845
    page.locator(".token-close").click()
    page.locator(".tour").click()
    chapter(page, 1, TITLES[0])
    for number in range(2, LAST + 1):
        page.locator(".chapter-on").click()
        chapter(page, number, TITLES[number - 1])
        assert wide(page) <= 0
