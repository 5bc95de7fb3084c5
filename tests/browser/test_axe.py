"""The page for those who see little or use no pointer: what axe-core finds in every state that a
visitor meets (names, roles, labels, contrast; WCAG 2.2 A and AA), the focus, and the language that
a screen reader reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.acts import finished, key, race, set_lanes, show_options

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDE, PHONE = (1366, 768), (390, 844)


def idle(page: Page) -> None:
    expect(page.locator("#race")).to_be_visible()


def raced(page: Page) -> None:
    race(page)
    finished(page)
    expect(page.locator(".figure").first).to_be_visible()


def options(page: Page) -> None:
    set_lanes(page, "ar", "sjd", "gsd", "lantern")


def tour(page: Page) -> None:
    page.locator(".tour").click()
    expect(page.locator(".chapter").first).to_be_visible()


def token(page: Page) -> None:
    page.locator(".lane canvas").last.click()
    expect(page.locator(".token")).to_be_visible()


def stage(page: Page) -> None:
    key(page, "f")
    expect(page.locator(".board")).to_have_attribute("data-present", "1")


def strip(page: Page) -> None:
    """The stage with its controls, which have the focus and stay."""
    stage(page)
    page.locator(".strip .play").focus()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(".strip")).to_have_css("opacity", "1")


def keys(page: Page) -> None:
    key(page, "?")
    expect(page.locator(".keys")).to_be_visible()


def violations(page: Page) -> list[str]:
    """A line for each element: rule, how bad, where, and what axe says of it. Waits for what is
    still loading."""
    expect(page.locator(".loading:visible")).to_have_count(0)  # gradio's, of what has not come
    # gradio's placeholder of a figure that has not come has a label without a role
    context = {"exclude": [[".empty[aria-label='Empty value']"]]}
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    found = Axe().run(page, context, options).response
    return sorted(
        f"{rule['id']} ({rule['impact']}) {node['target']}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    )


@pytest.mark.parametrize(
    ("size", "theme"),
    [(WIDE, "light"), (WIDE, "dark"), (PHONE, "light")],
    ids=["wide", "dark", "phone"],
)
@pytest.mark.parametrize(
    "act", [idle, options, raced, tour, token, stage, strip, keys], ids=lambda act: act.__name__
)
def test_axe_finds_nothing(
    recorded_url: str,
    open_page: Callable[..., Page],
    act: Callable[[Page], None],
    size: tuple[int, int],
    theme: str,
) -> None:
    page = open_page(recorded_url, *size, query=f"?__theme={theme}")
    act(page)
    assert violations(page) == []


FOCUSED = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const seen = [one, one.closest("label")].some((element) => {
    const style = element && getComputedStyle(element);
    return style && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  });
  return { seen, name: one.outerHTML.slice(0, 120) };
}"""


def test_every_control_shows_that_it_has_the_keyboard(quick: str, open_page) -> None:
    page = open_page(quick, *WIDE)
    raced(page)
    show_options(page)
    page.evaluate("scrollTo(0, 0)")
    page.locator("#prompt input, #prompt textarea").focus()
    stops = []
    while (focused := page.evaluate(FOCUSED)) and len(stops) < 400:
        stops.append(focused)
        page.keyboard.press("Tab")
    assert len(stops) > 40
    assert [stop["name"] for stop in stops if not stop["seen"]] == []


def test_of_a_figures_own_bar_the_download_alone_is_a_stop(recorded_url: str, open_page) -> None:
    page = open_page(recorded_url, *WIDE)
    figure = page.locator(".figure").first
    expect(figure.locator(".js-plotly-plot")).to_be_visible()
    figure.hover()
    buttons = figure.locator(".modebar-btn:visible")
    expect(buttons).to_have_count(1)
    assert buttons.first.get_attribute("data-title").startswith("Download plot")
    expect(page.locator("h1")).to_have_text("Photo Finish")


def test_the_page_is_english_for_every_visitor(recorded_url: str, browser: Browser) -> None:
    for locale in ("de-DE", "zh-CN", "en-US"):
        context = browser.new_context(locale=locale)
        page = context.new_page()
        page.goto(recorded_url)
        page.wait_for_selector(".board .lane")
        assert page.evaluate("navigator.language") == locale
        show_options(page)
        race(page, lanes=("ar",))
        finished(page)
        assert page.locator("html").get_attribute("lang") == "en"
        context.close()
