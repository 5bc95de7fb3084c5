"""The page for those who see little or use no pointer: what axe-core finds in every state that a
visitor meets (names, roles, labels, contrast; WCAG 2.2 A and AA), the focus, and the language that
a screen reader reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.acts import (
    INK_AND_GROUND,
    assert_legible,
    finished,
    key,
    open_share,
    prompted,
    race,
    set_lanes,
    show_options,
    unfold,
)
from tests.browser.servers import served
from tests.infill_toys import NeighbourToy

RULES: tuple[str, ...] = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
LAID_OUT = ("target-size", "scrollable-region-focusable", "aria-hidden-focus", "meta-viewport")
WIDE, PHONE = (1366, 768), (390, 844)


@pytest.fixture(scope="module")
def url(filling_folder: Path) -> Iterator[str]:
    """A page with all that there can be: recorded races, figures, parts to fill in."""
    with served(NeighbourToy(), filling_folder) as address:
        yield address


def idle(page: Page) -> None:
    prompted(page, "cactus on yellow sand")
    unfold(page, "decided")
    expect(page.locator("#decided .js-plotly-plot").first).to_be_visible()


def options(page: Page) -> None:
    set_lanes(page, "ar", "sjd", "gsd", "scd")


def tour(page: Page) -> None:
    key(page, "End")
    page.locator(".tour").click()
    expect(page.locator(".chapter").first).to_be_visible()


def token(page: Page) -> None:
    page.locator(".chapter-leave").click()
    page.locator(".lane canvas").last.click()
    expect(page.locator(".token")).to_be_visible()


def stage(page: Page) -> None:
    """With its controls, which have the focus and stay."""
    key(page, "Escape", "f")
    expect(page.locator(".board")).to_have_attribute("data-present", "1")
    page.locator(".strip .play").focus()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".strip")).to_have_css("opacity", "1")


def ask(page: Page) -> None:
    key(page, "f", "/")
    expect(page.get_by_role("dialog", name="Race a prompt")).to_be_visible()


def keys(page: Page) -> None:
    page.keyboard.press("Escape")
    key(page, "f", "?")
    expect(page.locator(".keys")).to_be_visible()


def mask(page: Page) -> None:
    page.keyboard.press("Escape")
    key(page, "f")
    expect(page.locator(".board")).not_to_have_attribute("data-present", "1")
    race(page)
    finished(page)
    page.locator(".lane .fill").first.click()
    page.get_by_role("button", name="Scatter", exact=True).click()
    expect(page.locator(".fill-count")).to_have_text("5 of 36 tokens to fill in.")


def filled_in(page: Page) -> None:
    page.locator(".fill-race").click()
    expect(page.locator(".board .meta")).to_contain_text("5 filled in")  # the race before is over
    finished(page)
    page.locator(".lane canvas").nth(1).click()
    expect(page.locator(".token")).to_be_visible()


PAGE, FORM, BOARD, DIALOG = ("html",), ("#settings",), (".board",), ("dialog[open]",)
MASK, FILLED, CHAPTER = ("#fill-in",), (".lanes", ".legend", ".token"), (".stage-panel",)
# Where each state differs from the one before it (the whole page takes axe ten times as long as a
# part), in which themes it has colours of its own, and whether a phone lays it out otherwise.
LIGHT, BOTH = False, True
State = tuple[Callable[[Page], None], Sequence[str], bool, bool]
SERVED: tuple[State, ...] = (
    *((idle, PAGE, BOTH, False), (options, FORM, LIGHT, True), (ask, DIALOG, LIGHT, False)),
    *((mask, MASK, BOTH, True), (filled_in, FILLED, LIGHT, False)),
)
# Those of the board alone, which takes axe a tenth of the page's time.
ALONE: tuple[State, ...] = (
    *((tour, CHAPTER, LIGHT, False), (token, BOARD, BOTH, True)),
    *((stage, BOARD, BOTH, False), (keys, DIALOG, BOTH, False)),
)


def violations(page: Page, within: Sequence[str], rules: Sequence[str]) -> list[str]:
    """A line for each element: rule, how bad, where, and what axe says of it. `rules`: their names
    or tags. Waits for what is still loading."""
    expect(page.locator(".loading:visible")).to_have_count(0)  # gradio's, of what has not come
    # gradio's placeholder of a figure that has not come has a label without a role
    context = {
        "include": [[each] for each in within],
        "exclude": [[".empty[aria-label='Empty value']"]],
    }
    options = {"runOnly": list(rules), "resultTypes": ["violations"]}
    found = Axe().run(page, context, options).response
    return sorted(
        f"{rule['id']} ({rule['impact']}) {node['target']}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    )


# A function: a page that stands alone allows no text to be evaluated in it.
SETTLED = """() => new Promise((done) => {
  const next = () => (document.getAnimations().length ? requestAnimationFrame(next) : done());
  next();
})"""


def size(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})


def test_axe_finds_nothing_in_the_states_that_a_visitor_meets(url, open_page) -> None:
    assert_nothing_found(open_page(url, *WIDE, query="?__theme=light"), SERVED)


def test_axe_finds_nothing_on_the_board(toured, open_file) -> None:
    assert_nothing_found(open_file(toured, *WIDE), ALONE)


def assert_nothing_found(page: Page, states: Sequence[State]) -> None:
    for act, within, dark, phone in states:
        act(page)
        assert violations(page, within, RULES) == [], act.__name__
        if phone:
            size(page, *PHONE)
            assert violations(page, within, LAID_OUT) == [], f"{act.__name__}, on a phone"
            size(page, *WIDE)
        if dark:
            page.evaluate("document.body.classList.add('dark')")  # as gradio has a dark page
            page.evaluate(SETTLED)  # colours change slowly
            assert violations(page, within, ["color-contrast"]) == [], f"{act.__name__}, dark"
        if act is idle:  # axe does not look at the text of a chart
            text = page.locator(".figure .xtick text").first
            assert_legible(text.evaluate(INK_AND_GROUND), "dark", "a chart")
        page.evaluate("document.body.classList.remove('dark')")


def test_a_dark_page_has_the_dark_class(recorded_url, open_page) -> None:
    page = open_page(recorded_url, *WIDE, query="?__theme=dark")
    expect(page.locator("body")).to_have_class(re.compile(r"\bdark\b"))
    assert_legible(page.locator(".board").evaluate(INK_AND_GROUND), "dark", "the board")


FOCUSED = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const seen = [one, one.closest("label")].some((element) => {
    const style = element && getComputedStyle(element);
    return style && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  });
  return { seen, name: one.outerHTML.slice(0, 120), text: one.textContent.trim() };
}"""
REACHED = {
    *("New seed", "Race", "Lanes and options", "Duplicate", "Remove", "+ Fixed point"),
    *("Picture", "Seconds", "Tour", "Open a trace", "Make the file"),
}


def stops(page: Page) -> Iterator[dict[str, Any]]:
    """What Tab reaches from the prompt on."""
    page.evaluate("scrollTo(0, 0)")
    page.locator("#prompt input, #prompt textarea").focus()
    for _ in range(400):
        if not (focused := page.evaluate(FOCUSED)):
            return
        yield focused
        page.keyboard.press("Tab")


def test_the_keyboard_reaches_every_control_and_the_pictures_soon(url, open_page) -> None:
    page = open_page(url, *WIDE)
    prompted(page, "cactus on yellow sand")
    before = list(takewhile(lambda stop: not stop["name"].startswith("<canvas"), stops(page)))
    assert 10 < len(before) <= 32
    # the first stop of all leads to them
    page.reload()
    page.wait_for_selector("html[data-opened]")
    page.keyboard.press("Tab")
    expect(page.locator(".skip:focus")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(".lane").first.locator(":focus")).to_have_count(1)
    # with all unfolded that unfolds; each shows that it has the focus
    idle(page)
    show_options(page)
    open_share(page)
    reached = list(stops(page))
    assert {stop["text"] for stop in reached} >= REACHED
    assert [stop["name"] for stop in reached if not stop["seen"]] == []
