"""The list of races: each is shown again, and two of them side by side."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.acts import OVER, finished, key, prompted, race, state, wide


def listed(page: Page) -> Locator:
    """Opens the list, and returns its rows."""
    key(page, "e")
    group = page.get_by_role("rowgroup", name="In this window")
    expect(page.get_by_role("dialog", name="Races")).to_be_visible()
    return group.locator("tr:has(td)")


def test_races_are_shown_again_and_side_by_side_on_one_clock(quick, open_page) -> None:
    page = open_page(quick, 1280, 720)
    expect(page.locator(".races")).to_be_visible()
    expect(listed(page)).to_have_count(0)
    page.locator(".races-close").click()
    race(page, "first of two", 7)
    prompted(page, "first of two")
    finished(page)
    address = page.url
    race(page, "second of two", 8)
    prompted(page, "second of two")
    finished(page)

    # The list fits a phone and a laptop.
    rows = listed(page)
    expect(rows).to_have_count(2)
    over = "() => document.querySelector('.races-list').scrollWidth"
    for width, height in ((390, 844), (1366, 768)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(f"{over} <= document.querySelector('.races-list').clientWidth")
        assert wide(page) <= 0
    key(page, "Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.set_viewport_size({"width": 1280, "height": 720})

    # On the stage a race is shown again.
    key(page, "f")
    rows = listed(page)
    cells = rows.locator("td").all_inner_texts()
    assert (cells[0], cells[1], cells[4], cells[5]) == ("second of two", "8", "first of two", "7")
    assert cells[2].startswith("Fewest passes: ")
    expect(rows.nth(0)).to_contain_text("On the board")
    page.get_by_role("button", name="first of two").click()
    prompted(page, "first of two")
    state(page, "finished")
    assert page.url == address

    # Two stand side by side, and are no race of their own.
    listed(page).nth(0).get_by_role("button", name="Beside").click()
    prompted(page, "A: first of two, seed 7. B: second of two, seed 8.")
    titles = ["A Vanilla AR", "A SJD", "B Vanilla AR", "B SJD"]
    expect(page.locator(".lane .title")).to_have_text(titles)
    hidden = page.locator(".share, .fill, .finish, .outcome")
    expect(hidden.filter(visible=True)).to_have_count(0)
    key(page, "c", "Home", "ArrowRight")
    expect(page.locator(".lane[data-step='1']")).to_have_count(4)
    page.wait_for_function(f"() => ({OVER})().length === 0")
    assert page.url == address  # which shows the first race again
    key(page, "f")
    expect(page.locator(".board .meta")).not_to_contain_text("seed")
    expect(page.locator("#export")).to_have_js_property("inert", True)
    assert page.locator(".fill:visible").count() == 0
    rows = listed(page)
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="second of two").click()
    prompted(page, "second of two")
    expect(page.locator("#export")).to_have_js_property("inert", False)
