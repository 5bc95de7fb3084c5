"""A race as a link: copied, opened, started, rejected."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.acts import INJECTIONS, finished, prompted, show_options, unhurt


def knob(page: Page, group: str, name: str) -> Locator:
    """A knob's field, in sight."""
    show_options(page)
    if not page.locator("#knobs").get_by_text("Sampling, the same for every lane").is_visible():
        page.locator("#knobs > button").click()
    section = page.locator("#knobs button", has_text=group).locator("xpath=..")
    field = section.get_by_label(name, exact=True).first
    if not field.is_visible():
        section.locator("button").first.click()
    return field


def turn(field: Locator, value: str) -> None:
    """Types into a knob. One that has just been unfolded is given its first value a moment later,
    faster than people type."""
    for _ in range(10):
        field.fill(value)
        field.page.wait_for_timeout(400)
        if field.input_value() == value:
            return
    pytest.fail(f"the knob does not keep {value}")


def fill(page: Page) -> None:
    page.locator("#prompt input, #prompt textarea").fill("a & b = ü + 😀")
    page.locator("#seed input").fill("123")
    show_options(page)
    for name in ("GSD", "LANTERN", "SJD-PAC"):
        page.get_by_role("checkbox", name=name, exact=True).set_checked(False)
    turn(knob(page, "Sampling", "guidance"), "2.5")
    turn(knob(page, "SJD", "window"), "8")


def test_a_link_brings_every_field_back_and_waits(quick, open_page) -> None:
    page = open_page(quick)
    fill(page)
    page.locator("#copy").click()
    field = page.locator("#link input, #link textarea")
    expect(field).not_to_have_value("")
    link = urlsplit(field.input_value())
    assert dict(parse_qsl(link.query)) == {
        "prompt": "a & b = ü + 😀",
        "seed": "123",
        "model": "toy",
        "lanes": "ar,sjd",
        "sampling.guidance": "2.5",
        "sjd.window": "8",
    }
    other = open_page(quick, query="?" + link.query)
    expect(other.locator("#seed input")).to_have_value("123")
    show_options(other)
    expect(other.locator("#prompt input, #prompt textarea")).to_have_value("a & b = ü + 😀")
    expect(other.get_by_role("checkbox", name="GSD", exact=True)).not_to_be_checked()
    expect(other.get_by_role("checkbox", name="SJD", exact=True)).to_be_checked()
    expect(knob(other, "Sampling", "guidance")).to_have_value("2.5")
    expect(knob(other, "SJD", "window")).to_have_value("8")
    expect(other.locator(".board")).to_have_attribute("data-state", "waiting")
    other.locator("#copy").click()
    expect(other.locator("#link input, #link textarea")).to_have_value(field.input_value())


def test_a_link_that_says_go_starts_its_race(quick, open_page) -> None:
    page = open_page(quick, query="?prompt=octopus&seed=5&lanes=sjd&go=1")
    prompted(page, "octopus")
    finished(page)
    expect(page.locator(".board .meta")).to_contain_text("seed 5 ")
    expect(page.locator(".lane")).to_have_count(1)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?seed=-1&go=1", "seed is a whole number"),
        ("?lanes=gsd&gsd.G=101&go=1", "GSD: G is a whole number from 1 to 100, not 101"),
        ("?lanes=everything&go=1", "lanes can be any of ar"),
        ("?model=other&go=1", "model can be toy"),
        ("?sjd.colour=red&go=1", "none of this page's"),
        ("?prompt=" + "x" * 1001, "at most 1000"),
    ],
)
def test_a_link_that_cannot_be_says_why_and_changes_nothing(quick, open_page, query, words) -> None:
    page = open_page(quick, query=query)
    expect(page.get_by_role("alert")).to_contain_text(words)
    expect(page.locator("#prompt input, #prompt textarea")).to_have_value("red apple on sky clouds")
    expect(page.locator(".board")).to_have_attribute("data-state", "waiting")


def test_links_are_shown_as_text_whatever_they_hold(quick, open_page) -> None:
    for text in INJECTIONS[::3]:
        page = open_page(quick, query=f"?{quote(text, safe='')}=1&seed={quote(text, safe='')}")
        expect(page.get_by_role("alert")).to_contain_text("This link cannot be used")
        unhurt(page)
        page.close()
