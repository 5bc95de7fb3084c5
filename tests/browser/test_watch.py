"""A race that several watch by its link, and the line of those who wait to race."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.acts import finished, hashes, prompted, race, running, state


def race_id(page: Page) -> str:
    return page.locator(".board").get_attribute("data-race")


def test_guests_watch_a_race_by_its_link_bet_on_it_and_queue(open_page, held, model) -> None:
    """And do not end it; at the finish all see the same, and how the bets came out."""
    host = open_page(held)
    race(host, lanes=("ar", "sjd", "gsd:G=16;d=1"))
    running(host)
    mine = race_id(host)
    expect(host.locator(".bets")).to_be_hidden()

    guest = open_page(held, 390, 844, f"?race={mine}", fresh=True)
    running(guest)
    expect(guest.locator("#stop")).to_be_hidden()
    expect(guest.locator("#race")).to_be_visible()
    bets = guest.locator(".bets")
    expect(bets).to_contain_text("Who will be first?")
    bets.get_by_role("button", name="SJD").click()
    expect(bets.get_by_role("button", name="SJD")).to_have_attribute("aria-pressed", "true")
    expect(bets.get_by_role("button", name="Vanilla AR")).to_have_attribute("aria-pressed", "false")

    # One who races of their own waits: the board is emptied, and Stop clears the line.
    other = open_page(held, query=f"?race={mine}")
    running(other)
    note = other.locator(".board .note")
    race(other, prompt="rocket", lanes=("sjd",))
    prompted(other, "rocket")
    expect(note).to_have_text(re.compile("In the queue: 1 race comes before yours"))
    assert race_id(other) != mine
    assert hashes(other, "state") == ["waiting"]
    other.locator("#stop").click()
    state(other, "stopped")
    expect(note).to_be_hidden()
    expect(other.locator(".pace")).to_have_text("Stopped before it began.")
    race(other, prompt="rocket", lanes=("sjd",))
    expect(note).to_be_visible()

    model.release()
    for page in (host, guest):
        finished(page)
        expect(page.locator(".bets")).to_be_hidden()
        expect(page.locator(".pace")).to_contain_text("Bets: 1 on SJD. By seconds, ")
    came = re.compile(r"You bet on SJD: it came \w+ by passes")
    expect(guest.locator(".pace")).to_contain_text(came)
    expect(host.locator(".pace")).not_to_contain_text("You bet")
    assert hashes(guest) == hashes(host)
    assert race_id(host) == race_id(guest) == mine

    # Who looks at the pictures without names says once which is changed; the host sees how many.
    told = guest.get_by_role("dialog", name="Could you tell?")
    for page in (host, guest):
        page.get_by_role("button", name="Could you tell?").click()
        expect(page.locator(".tell canvas")).to_have_count(2)
        expect(page.locator(".tell")).not_to_contain_text("GSD")
    host.get_by_role("button", name="Show the answer").click()
    expect(host.locator(".tell-words")).to_have_text("Nobody has answered yet.")
    captions = host.locator(".tell figcaption")
    changed = host.locator(".tell figure.changed")
    expect(changed).to_contain_text(re.compile("GSD.*: changed distribution, shift"))
    letter = "AB"[["GSD" in text for text in captions.all_inner_texts()].index(True)]
    told.get_by_role("button", name=f"{letter} is changed").click()
    expect(guest.locator(".tell-words")).to_contain_text(
        "You told it. Right so far: 1 of 1 answer."
    )
    expect(host.locator(".tell-words")).to_contain_text("Right so far: 1 of 1 answer.")
    guest.get_by_role("button", name="Close").click()
    guest.get_by_role("button", name="Could you tell?").click()
    expect(guest.locator(".tell-words")).to_contain_text("You told it.")
    expect(guest.get_by_role("button", name="is changed")).to_have_count(0)
    guest.get_by_role("button", name="Close").click()
    host.keyboard.press("Escape")
    expect(told).to_have_count(0)
    finished(other)
    prompted(other, "rocket")
    expect(note).to_be_hidden()
