"""The races since the page was opened: each is shown again, and two of them side by side."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.acts import OVER, finished, frames, key, prompted, race, state, wide


def listed(page: Page) -> Locator:
    """Opens the list, and returns its rows."""
    key(page, "e")
    return page.get_by_role("dialog", name="Races since the page was opened").locator("tbody tr")


def test_races_are_shown_again_and_side_by_side_on_one_clock(quick, open_page) -> None:
    page = open_page(quick, 1280, 720)
    expect(page.locator(".earlier")).to_be_visible()
    assert listed(page).count() == 0
    expect(page.locator(".earlier-none")).to_be_visible()
    page.locator(".earlier-close").click()
    race(page, "first of two", 7)
    prompted(page, "first of two")
    finished(page)
    address = page.url
    race(page, "second of two", 8)
    prompted(page, "second of two")
    finished(page)
    key(page, "f")
    rows = listed(page)
    cells = rows.locator("td").all_inner_texts()
    assert (cells[0], cells[1], cells[4], cells[5]) == ("second of two", "8", "first of two", "7")
    assert cells[2].startswith("Fewest passes: ")
    expect(rows.nth(0).get_by_role("button", name="Beside")).to_be_disabled()
    page.get_by_role("button", name="first of two").click()
    prompted(page, "first of two")
    state(page, "finished")
    assert page.url == address

    listed(page).nth(0).get_by_role("button", name="Beside").click()
    prompted(page, "A: first of two, seed 7. B: second of two, seed 8.")
    titles = page.locator(".lane .title").all_inner_texts()
    assert titles == ["A Vanilla AR", "A SJD", "B Vanilla AR", "B SJD"]
    hidden = ".share, .film, .fill, .moment, .finish, .outcome"
    assert not any(part.is_visible() for part in page.locator(hidden).all())
    key(page, "c", "Home", "ArrowRight")
    expect(page.locator(".lane[data-step='1']")).to_have_count(4)
    frames(page)
    page.wait_for_function(f"() => ({OVER})().length === 0")
    assert page.url == address  # which shows the first race again
    key(page, "f")
    expect(page.locator(".board .meta")).not_to_contain_text("seed")
    assert page.locator("#race-seeds").evaluate("part => part.inert")
    assert page.locator(".fill:visible").count() == 0
    rows = listed(page)
    expect(rows).to_have_count(2)  # two side by side are no race of their own
    page.get_by_role("button", name="second of two").click()
    prompted(page, "second of two")
    assert not page.locator("#race-seeds").evaluate("part => part.inert")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1366, 768)])
def test_the_list_of_races_fits(recorded_url, open_page, width: int, height: int) -> None:
    page = open_page(recorded_url, width, height)
    prompted(page, "cactus on yellow sand")
    rows = listed(page)
    expect(rows).to_have_count(1)
    assert wide(page) <= 0
    over = "dialog => dialog.scrollWidth - dialog.clientWidth"
    assert page.locator(".earlier-races").evaluate(over) <= 0
    key(page, "Escape")
    expect(page.locator("dialog")).to_have_count(0)
