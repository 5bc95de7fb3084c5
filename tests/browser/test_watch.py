"""A race that several watch by its link."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.acts import finished, hashes, race, running, state


def race_id(page: Page) -> str:
    return page.locator(".board").get_attribute("data-race")


def test_a_guest_watches_a_race_by_its_link_and_bets_on_it(open_page, held, model) -> None:
    """And cannot stop it; at the finish both see the same, and how the bets came out."""
    host = open_page(held)
    race(host, lanes=("ar", "sjd"))
    running(host)
    expect(host.locator(".bets")).to_be_hidden()
    guest = open_page(held, 390, 844, f"?race={race_id(host)}", fresh=True)
    running(guest)
    expect(guest.locator("#stop")).to_be_hidden()
    expect(guest.locator("#race")).to_be_visible()
    bets = guest.locator(".bets")
    expect(bets).to_contain_text("Who will be first?")
    bets.get_by_role("button", name="SJD").click()
    expect(bets.get_by_role("button", name="SJD")).to_have_attribute("aria-pressed", "true")
    expect(bets.get_by_role("button", name="Vanilla AR")).to_have_attribute("aria-pressed", "false")
    model.release()
    for page in (host, guest):
        finished(page)
        expect(page.locator(".bets")).to_be_hidden()
        expect(page.locator(".pace")).to_contain_text("Bets: 1 on SJD;")
    expect(guest.locator(".pace")).to_contain_text(re.compile(r"You bet on SJD: \w+ by passes"))
    expect(host.locator(".pace")).not_to_contain_text("You bet")
    assert hashes(guest) == hashes(host)


def test_a_guest_who_leaves_or_races_does_not_end_the_race(open_page, held, model) -> None:
    host = open_page(held)
    race(host, lanes=("ar", "sjd"))
    running(host)
    mine = race_id(host)
    guest = open_page(held, query=f"?race={mine}", fresh=True)
    running(guest)
    race(guest, "octopus on yellow sand")
    expect(guest.locator(".board")).not_to_have_attribute("data-race", mine)
    expect(guest.locator(".note")).to_contain_text("1 race comes before yours")
    guest.goto("about:blank")
    state(host, "racing")
    model.release()
    finished(host)
    assert race_id(host) == mine
