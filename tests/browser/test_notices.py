"""What the page says above the board of a link that filled in the form."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.acts import finished, prompted

TRACKING = "fbclid=abc&utm_source=mail&utm_medium=x&gclid=1"
WORDS = "The form is filled in from your link: press Race."


def test_a_link_that_waits_says_so_until_its_race(recorded_url, open_page) -> None:
    page = open_page(recorded_url, query=f"?prompt=octopus&seed=5&lanes=ar&{TRACKING}")
    expect(page.locator("#prompt input, #prompt textarea")).to_have_value("octopus")
    expect(page.locator("#notice")).to_have_text(WORDS)
    page.locator("#race").click()
    prompted(page, "octopus")
    finished(page)
    expect(page.locator("#notice")).to_be_hidden()


def test_a_link_that_goes_and_an_address_without_a_race_say_nothing(quick, open_page) -> None:
    page = open_page(quick, query=f"?prompt=octopus&lanes=ar&go=1&{TRACKING}")
    prompted(page, "octopus")
    finished(page)
    expect(page.locator("#notice")).to_be_hidden()
    page = open_page(quick, query=f"?{TRACKING}")
    expect(page.locator("#prompt input, #prompt textarea")).to_have_value("red apple on sky clouds")
    expect(page.locator("#notice")).to_be_hidden()
