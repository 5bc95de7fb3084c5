"""Windows of every size, and a visitor's own colours: each shows how the race stands."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.acts import wide

# What tells one state of the board from another by a ground: the grounds of a pressed button and of
# one that is not, of the played part of the scrubber and of a lane's bar.
GROUNDS = """() => {
  const style = (selector) => getComputedStyle(document.querySelector(selector));
  return {
    pressed: style(".layers [aria-pressed='true']").backgroundColor,
    other: style(".layers [aria-pressed='false']").backgroundColor,
    scrub: style(".scrub").backgroundImage,
    done: style(".progress i").backgroundColor,
    left: style(".progress").backgroundColor,
  };
}"""


def shown(page: Page) -> float:
    """The share of the first picture that is in the window."""
    return page.locator(".lane:not([hidden]) canvas").first.evaluate(
        "picture => { const { top, bottom, height } = picture.getBoundingClientRect();"
        " return Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0)) / height; }"
    )


def test_forced_colours_keep_what_is_chosen_and_how_far_it_is(recorded_url, browser) -> None:
    context = browser.new_context(forced_colors="active", viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.goto(recorded_url)
    page.wait_for_selector(".board .lane")
    found = page.evaluate(GROUNDS)
    assert found["pressed"] != found["other"]
    assert found["scrub"].count("linear-gradient") == 2
    assert found["done"] != found["left"]
    for each in ("#seed label", "#race", "#roll", "#race-seeds", ".speed"):
        bordered = "it => getComputedStyle(it).borderTopWidth !== '0px'"
        assert page.locator(each).evaluate(bordered), each
    arrow = "it => getComputedStyle(it).appearance"  # its own, drawn by a ground, is not there
    assert page.locator(".speed").evaluate(arrow) == "auto"
    context.close()


@pytest.mark.parametrize(
    ("width", "height", "least"), [(320, 640, 1), (683, 384, 0.75), (390, 844, 1)]
)
def test_a_small_window_shows_a_picture_and_plays_it(
    recorded_url, open_page, width: int, height: int, least: float
) -> None:
    """683 x 384 is a laptop's window of 1366 x 768 at a zoom of 200%."""
    page = open_page(recorded_url, width, height)
    assert shown(page) >= least
    expect(page.locator(".board")).not_to_have_attribute("data-t", "0")
    assert wide(page) <= 0


def test_a_narrow_phone_has_its_form_in_two_rows_and_cuts_no_time(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 320, 640, "?recorded=tour&t=end")
    expect(page.locator(".board")).to_have_attribute("data-done", "1")
    rows = page.locator("#roll, #options button").evaluate_all(
        "buttons => buttons.map((button) => button.getBoundingClientRect().top)"
    )
    assert rows[0] == rows[1]
    page.locator(".fill").evaluate_all("buttons => buttons.forEach((it) => (it.hidden = false))")
    cut = page.locator(".lane :is(.stamp, .title, .badge, dd):visible").evaluate_all(
        "parts => parts.filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.innerText)"
    )
    assert cut == []
    clock, settings = (
        page.locator(".clock").bounding_box(),
        page.locator(".use-settings").bounding_box(),
    )
    assert clock["y"] + clock["height"] <= settings["y"]
    beyond = page.locator(".lane .post").evaluate_all(
        "flags => flags.map((flag) => flag.getBoundingClientRect().right"
        " - flag.closest('.lane').getBoundingClientRect().right)"
    )
    assert max(beyond) <= 0


def test_the_icons_of_links_stand_in_the_middle(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    middles = page.locator(".moment, .embed, .moment svg, .embed svg").evaluate_all(
        "parts => parts.map((part) => { const { top, bottom } = part.getBoundingClientRect();"
        " return (top + bottom) / 2; })"
    )
    assert max(middles) - min(middles) <= 1


@pytest.mark.parametrize("lanes", ["1", "1,2,3", "1,2,3,4", "1,2,3,4,5"])
def test_a_laptops_window_has_few_lanes_with_their_figures(recorded_url, open_page, lanes) -> None:
    page = open_page(recorded_url, 1366, 768, f"?recorded=tour&t=end&lane={lanes}")
    expect(page.locator(".board")).to_have_attribute("data-done", "1")
    expect(page.locator(".lane:not([hidden]) dl")).to_have_count(len(lanes.split(",")))
    foot = "parts => Math.max(...parts.map((part) => part.getBoundingClientRect().bottom))"
    assert page.locator(".lane:visible :is(.course, dl)").evaluate_all(foot) <= 768
    picture = page.locator(".lane:visible canvas").first.bounding_box()
    assert picture["width"] >= 200


@pytest.mark.parametrize("lanes", ["1,2", "1,2,3,4,5,6,7"])
def test_a_large_window_is_used_whatever_lanes_are_shown(recorded_url, open_page, lanes) -> None:
    page = open_page(recorded_url, 3840, 2160, f"?recorded=tour&t=end&lane={lanes}")
    expect(page.locator(".board")).to_have_attribute("data-done", "1")
    board = page.locator(".board").bounding_box()
    last = page.locator(".lane:visible").last.bounding_box()
    picture = page.locator(".lane:visible canvas").last.bounding_box()
    assert last["x"] + last["width"] == pytest.approx(board["x"] + board["width"], abs=2)
    assert picture["width"] > 0.6 * last["width"]
    assert picture["y"] + picture["height"] <= 2160


def test_a_large_window_is_used(recorded_url, open_page) -> None:
    page = open_page(recorded_url, 3840, 2160)
    assert page.locator(".board").bounding_box()["width"] > 3000
    assert shown(page) == 1
