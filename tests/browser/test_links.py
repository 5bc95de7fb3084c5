"""A race as a link: copied, opened, started, rejected."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlsplit

from playwright.sync_api import Locator, Page, expect

from app.models.prompt_hints import EXAMPLES
from tests.browser.acts import (
    HOSTILE,
    by_passes,
    finished,
    key,
    prompted,
    set_lanes,
    show_options,
    unhurt,
)

# The first words on the button that copies a link; they are gone after two seconds.
COPIED = """() => new Promise(resolve => {
  const button = document.querySelector(".moment");
  const read = () => resolve(button.textContent);
  new MutationObserver(read).observe(button, { childList: true, subtree: true });
  button.click();
})"""
TRACKING = "fbclid=abc&utm_source=mail&utm_medium=x&gclid=1"
WAITS = "The form is filled in from your link: press Race."


def knob(page: Page, lane: int, name: str) -> Locator:
    """The field of a knob of a lane, counted from 1."""
    return page.locator(".lane-row").nth(lane - 1).get_by_label(name, exact=True)


def fill(page: Page) -> None:
    page.locator("#prompt input, #prompt textarea").fill("a & b = ü + 😀")
    page.locator("#seed input").fill("123")
    set_lanes(page, "ar", "sjd", "gsd", "sjd")
    page.locator("#sampling").get_by_label("guidance").fill("2.5")
    knob(page, 2, "window").fill("8")
    page.get_by_role("button", name="Duplicate lane 3").click()
    knob(page, 4, "G").fill("50")
    knob(page, 4, "init").select_option("vertical repeat")
    page.get_by_role("button", name="Remove lane 5").click()


# What the field of the link held when the page asked to write to the clipboard: Safari allows it
# while a click is handled, but not after the server's answer.
SPIED = """() => {
  const write = navigator.clipboard.write.bind(navigator.clipboard);
  navigator.clipboard.write = (items) => {
    window.linkThen = document.querySelector("#link :is(input, textarea)")?.value ?? "";
    return write(items);
  };
}"""

# What gradio has a screen reader say.
HEARD = """() => {
  window.heard = [];
  new MutationObserver(() => {
    for (const { textContent } of document.querySelectorAll(".sr-only[role=status]"))
      if (textContent.trim()) window.heard.push(textContent.trim());
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def test_a_link_brings_every_field_back_and_waits(quick, open_page) -> None:
    page = open_page(quick)
    page.evaluate(SPIED)
    page.evaluate(HEARD)
    fill(page)
    page.locator("#copy").click()
    field = page.locator("#link input, #link textarea")
    expect(field).not_to_have_value("")
    link = urlsplit(field.input_value())
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == field.input_value()
    assert page.evaluate("window.linkThen") == ""
    page.wait_for_function("window.heard.at(-1) === 'Done'")
    assert dict(parse_qsl(link.query)) == {
        **{"prompt": "a & b = ü + 😀", "seed": "123", "model": "toy", "sampling.guidance": "2.5"},
        "lanes": "ar,sjd:window=8,gsd,gsd:init=vertical repeat;G=50",
    }
    other = open_page(quick, query="?" + link.query)
    expect(other.locator("#seed input")).to_have_value("123")
    show_options(other)
    expect(other.locator("#prompt input, #prompt textarea")).to_have_value("a & b = ü + 😀")
    expect(other.locator(".lane-row")).to_have_count(4)
    expect(other.locator("#sampling").get_by_label("guidance")).to_have_value("2.5")
    expect(knob(other, 2, "window")).to_have_value("8")
    assert [knob(other, i, "G").input_value() for i in (3, 4)] == ["10", "50"]
    expect(knob(other, 4, "init")).to_have_value("vertical repeat")
    expect(other.locator(".board")).to_have_attribute("data-state", "waiting")
    other.locator("#copy").click()
    expect(other.locator("#link input, #link textarea")).to_have_value(field.input_value())


def test_a_link_that_says_go_starts_its_race_and_no_notice_is_left(quick, open_page) -> None:
    page = open_page(quick, query=f"?prompt=octopus&seed=5&lanes=sjd&go=1&{TRACKING}")
    prompted(page, "octopus")
    finished(page)
    expect(page.locator(".board .meta")).to_contain_text("seed 5 ")
    expect(page.locator(".lane")).to_have_count(1)
    expect(page.locator("#notice")).to_be_hidden()


def test_a_link_that_waits_says_so_until_its_race(recorded_url, open_page) -> None:
    page = open_page(recorded_url, query=f"?prompt=octopus&seed=5&lanes=ar&{TRACKING}")
    expect(page.locator("#prompt input, #prompt textarea")).to_have_value("octopus")
    expect(page.locator("#notice")).to_have_text(WAITS)
    page.locator("#race").click()
    prompted(page, "octopus")
    finished(page)
    expect(page.locator("#notice")).to_be_hidden()


def test_a_link_of_one_value_per_decoder_fills_the_lanes(quick, open_page) -> None:
    page = open_page(quick, query="?lanes=gsd,gsd:G=50&gsd.G=4&gsd.d=0.3")
    show_options(page)
    expect(knob(page, 2, "d")).to_have_value("0.3")
    assert [knob(page, i, "G").input_value() for i in (1, 2)] == ["4", "50"]


def test_an_address_without_a_race_says_nothing(quick, open_page) -> None:
    page = open_page(quick, query=f"?{TRACKING}")
    expect(page.locator("#prompt input, #prompt textarea")).to_have_value(EXAMPLES[0])
    expect(page.locator("#notice")).to_be_hidden()


def test_a_link_that_cannot_be_says_why_and_changes_nothing(quick, open_page) -> None:
    """What is wrong with others: tests/app/page/test_link.py."""
    page = open_page(quick, query="?prompt=octopus&lanes=gsd&gsd.G=101&go=1")
    words = "GSD: G is a whole number from 1 to 100, not 101"
    expect(page.get_by_role("alert")).to_contain_text(words)
    expect(page.locator("#prompt input, #prompt textarea")).to_have_value(EXAMPLES[0])
    expect(page.locator(".board")).to_have_attribute("data-state", "waiting")


def test_links_are_shown_as_text_whatever_they_hold(quick, open_page) -> None:
    text = quote(HOSTILE, safe="")
    page = open_page(quick, query=f"?{text}=1&seed={text}")
    expect(page.get_by_role("alert")).to_contain_text("This link cannot be used")
    unhurt(page)


def test_a_moment_is_copied_and_opened(recorded_url, open_page) -> None:
    page = open_page(recorded_url, query="?recorded=tour&utm_source=mail")
    prompted(page, "the tour")
    by_passes(page)
    page.locator(".scrub").fill("5")
    key(page, "l", "1", "2")
    page.locator(".lane[data-lane='gsd'] canvas").click(position={"x": 5, "y": 5})
    assert page.evaluate(COPIED) == "Copied"
    link = urlsplit(page.evaluate("navigator.clipboard.readText()"))
    assert link.query == "recorded=tour&clock=passes&t=5&layer=top1&cell=6,0&lane=3,4,5,6,7,8"
    other = open_page(recorded_url, query="?" + link.query)
    prompted(other, "the tour")
    shown = {"clock": "passes", "t": "5", "layer": "top1", "shown": "2,3,4,5,6,7"}
    for name, value in shown.items():
        expect(other.locator(".board")).to_have_attribute(f"data-{name}", value)
    expect(other.locator(".token-where")).to_have_text("GSD, row 1, column 1")
    expect(other.locator("#recorded input")).to_have_value("the tour")


def test_a_moment_of_a_race_run_here_is_of_that_race_or_races_it_again(quick, open_page) -> None:
    page = open_page(quick, query="?prompt=octopus&seed=5&lanes=ar,sjd&model=toy&go=1&layer=tv")
    finished(page)
    expect(page.locator(".board")).to_have_attribute("data-layer", "tv")
    race_id = page.locator(".board").get_attribute("data-race")
    by_passes(page)
    page.locator(".scrub").fill("3")
    page.evaluate("() => void (navigator.clipboard.writeText = () => Promise.reject())")
    assert page.evaluate(COPIED) == "It is the page's address now"
    assert dict(parse_qsl(urlsplit(page.url).query)) == {
        **{"prompt": "octopus", "seed": "5", "model": "toy", "lanes": "ar,sjd", "go": "1"},
        **{"clock": "passes", "t": "3", "layer": "tv", "race": race_id},
    }
    other = open_page(page.url)
    expect(other.locator(".board")).to_have_attribute("data-t", "3")
    expect(other.locator(".board")).to_have_attribute("data-race", race_id)
    other.goto(page.url.replace(race_id, "gone"))  # it is raced again
    expect(other.locator(".board")).to_have_attribute("data-t", "3")
    assert other.locator(".board").get_attribute("data-race") not in (race_id, "gone")


def test_the_end_of_a_race_is_copied_as_its_end_and_opened_with_its_verdict(
    quick, open_page
) -> None:
    page = open_page(quick, query="?prompt=octopus&seed=5&lanes=ar,sjd&model=toy&go=1")
    finished(page)
    share = page.get_by_role("button", name="Share")  # the browser has nothing to share with
    share.click()
    expect(share).to_have_text("ShareCopied")
    link = page.evaluate("navigator.clipboard.readText()")
    race_id = page.locator(".board").get_attribute("data-race")
    for address in (link, link.replace(race_id, "gone")):  # as it was, and raced again
        other = open_page(address, fresh=True)
        finished(other)
        expect(other.locator(".board")).to_have_attribute("data-clock", "seconds")
        expect(other.locator(".board .pace")).to_have_class("pace outcome")


def test_a_link_to_a_race_that_was_not_recorded_says_so(recorded_url, open_page) -> None:
    page = open_page(recorded_url, query="?recorded=nothing")
    expect(page.get_by_role("alert")).to_contain_text("no such recorded race")
    prompted(page, "cactus on yellow sand")


def test_a_typed_prompt_outlives_a_reload_and_gives_way_to_a_link(recorded_url, open_page) -> None:
    page = open_page(recorded_url)
    field = page.locator("#prompt input, #prompt textarea")
    field.fill("a typed prompt")
    page.reload()
    expect(field).to_have_value("a typed prompt")
    page.goto(recorded_url + "?prompt=a+linked+prompt")
    expect(page.locator("#notice")).to_contain_text(WAITS)
    expect(field).to_have_value("a linked prompt")
    field.fill("cactus")
    page.locator("#race").click()
    finished(page)
    page.reload()  # what was raced is in the page's address
    finished(page)
    expect(field).to_have_value("cactus")
    assert page.evaluate("sessionStorage.getItem('photo-finish-typed')") == ""
