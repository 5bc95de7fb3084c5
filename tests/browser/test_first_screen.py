"""What a newcomer sees first, and the way to all controls and back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.acts import PATIENCE, prompted, show_layer, wide
from visualize.film.layers import Layer

MOST = 25  # controls
# Buttons, fields, links and pictures that are seen in the window.
CONTROLS = """() => [
  ...document.querySelectorAll("button, a[href], input, select, textarea, [tabindex='0']"),
].filter((one) => {
  const { width, height, top, bottom } = one.getBoundingClientRect();
  const inside = width > 0 && height > 0 && top < innerHeight && bottom > 0;
  return inside && one.checkVisibility({ visibilityProperty: true });
}).length"""
SHORT = [
    "One token at a time",
    "Guess with a distribution",
    "What p and q share",
    "Accept a group",
    "When does speculation lose?",
    "Your turn",
]

# Whether Race stands beside the prompt.
BESIDE = """() => {
  const [prompt, race] = ["#prompt", "#race"].map((part) =>
    document.querySelector(part).getBoundingClientRect());
  return race.right <= innerWidth && Math.abs(prompt.top - race.top) < 2;
}"""


@pytest.fixture
def newcomer(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


def opened(context: BrowserContext, url: str, query: str = "") -> Page:
    """A page with the race of eight lanes."""
    page = context.pages[0] if context.pages else context.new_page()
    page.goto(f"{url}?recorded=tour{query}")
    page.wait_for_selector("html[data-opened]")
    prompted(page, "the tour")
    return page


def titles(page: Page) -> list[str]:
    return page.locator(".lane:not([hidden]) .title").all_inner_texts()


def test_a_newcomer_sees_three_lanes_and_a_bar_for_each(newcomer, recorded_url) -> None:
    page = opened(newcomer, recorded_url)
    assert page.evaluate(CONTROLS) <= MOST
    assert titles(page) == ["Vanilla AR", "SCD", "GSD"]
    bars, places = page.locator(".bar-lane"), page.locator(".bar-place")
    expect(bars).to_have_count(8)
    page.keyboard.press("End")
    expect(places.first).to_have_text("8th")  # of all lanes, whether they have their pictures here
    expect(page.locator(".outcome")).to_contain_text("Fewest passes: SCD")
    # a bar brings its lane's picture, and all can be seen
    bars.filter(has_text="LANTERN").click()
    expect(page.locator(".lane[data-lane='lantern']")).to_be_visible()
    page.locator(".lane[data-lane='ar'] canvas").hover()  # it stays while others are pointed at
    expect(page.locator(".pointed-at")).to_have_count(1)
    assert titles(page) == ["Vanilla AR", "SCD", "LANTERN k=8"]
    page.locator(".bars-all").click()
    expect(page.locator(".lane:visible")).to_have_count(8)
    page.locator(".bars-all").click()
    expect(page.locator(".lane:visible")).to_have_count(3)
    # the way inside, which the page remembers
    page.locator(".look-inside").click()
    expect(page.locator(".lane:visible")).to_have_count(8)
    opened(newcomer, recorded_url)
    for control in (".layers", ".clocks", "#seed", "#options", "#seeds"):
        expect(page.locator(control)).to_be_visible()
    expect(page.locator(".bars")).to_be_hidden()
    # and back, without what the first screen has no controls for
    show_layer(page, Layer.TV)
    page.keyboard.press("1")
    expect(page.locator(".lane[data-lane='ar']")).to_be_hidden()
    page.locator(".fewer").click()
    expect(page.locator(".look-inside")).to_be_focused()
    assert titles(page) == ["Vanilla AR", "SCD", "GSD"]
    expect(page.locator(".board")).to_have_attribute("data-layer", "picture")
    opened(newcomer, recorded_url)
    expect(page.locator(".lane:visible")).to_have_count(3)
    # a link to a layer shows what it names
    opened(newcomer, recorded_url, "&layer=tv&t=5&clock=passes")
    expect(page.locator(".layers")).to_be_visible()
    expect(page.locator(".board")).to_have_attribute("data-layer", "tv")


def test_a_phone_has_two_pictures_all_bars_and_then_its_controls(newcomer, recorded_url) -> None:
    page = newcomer.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    opened(newcomer, recorded_url)
    assert titles(page) == ["Vanilla AR", "SCD"]
    expect(page.locator(".masthead p")).to_be_visible()
    picture = page.locator(".lane .frame").first
    page.keyboard.press("Home")
    expect(page.locator(".outcome")).to_have_count(0)
    start = picture.bounding_box()["y"]
    page.keyboard.press("End")
    expect(page.locator(".outcome")).to_be_visible()
    parts = (".lane .frame", ".bars", ".outcome", ".transport")
    tops = [page.locator(part).first.bounding_box()["y"] for part in parts]
    assert tops == sorted(tops)
    assert tops[0] == start, "what is said at the end moves no picture"
    expect(picture).to_be_in_viewport(ratio=1)
    expect(page.locator(".bars")).to_be_in_viewport(ratio=1)
    assert wide(page) <= 0
    for width, height in ((320, 640), (820, 1180)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(BESIDE)


def test_why_it_is_allowed_is_told_in_five_chapters(newcomer, recorded_url) -> None:
    page = opened(newcomer, recorded_url)
    page.locator(".why-allowed").click()
    title, count = page.locator(".chapter-title"), page.locator(".chapter-count")
    for number, name in enumerate(SHORT, 1):
        expect(title).to_have_text(name)
        expect(count).to_have_text(f"{number} of {len(SHORT)}")
        if name == "When does speculation lose?":
            expect(page.locator(".lane:visible")).to_have_count(4)
        page.locator(".chapter-on").click(force=True)
    page.keyboard.press("Escape")
    expect(page.locator(".look-inside")).to_be_visible()
    assert titles(page) == ["Vanilla AR", "SCD", "GSD"]
    # a speaker's own choice and order of chapters is in a link
    opened(newcomer, recorded_url, "&present=1&tour=8&chapters=8,4,99")
    for name in ("Accept a group", "Guess with a distribution", "Your turn"):
        expect(title).to_have_text(name)
        page.keyboard.press("n")
    # its last page asks for a prompt where the hall sees it
    page.get_by_role("button", name="Race a prompt of your own").click()
    expect(page.get_by_role("dialog", name="Race a prompt")).to_be_visible()
    expect(page.locator(".board")).to_have_attribute("data-present", "1")
