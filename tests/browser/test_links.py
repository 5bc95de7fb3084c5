"""A race as a link: copied, opened, started, rejected. What a link may say, and what is said of one
that is wrong, is tested in tests/app/races/test_link.py; what a moment is, in node."""

from __future__ import annotations

from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

from playwright.sync_api import Locator, Page, expect

from app.models.prompt_hints import EXAMPLES
from tests.browser.acts import (
    HOSTILE,
    by_passes,
    finished,
    key,
    open_share,
    prompted,
    set_lanes,
    show_options,
    unhurt,
)

TRACKING = "fbclid=abc&utm_source=mail&utm_medium=x&gclid=1"
WAITS = "Your link has filled in the form. Press Race to start."


def knob(page: Page, lane: int, name: str) -> Locator:
    """The field of a knob of a lane, counted from 1."""
    return page.locator(".lane-row").nth(lane - 1).get_by_label(name, exact=True)


def copy_link(page: Page) -> str:
    """Copies a link to this moment. Returns what the button says then."""
    open_share(page)
    button = page.get_by_role("button", name="Copy a link to this moment")
    button.click()
    words = button.get_by_role("status")
    expect(words).not_to_be_empty()
    said = words.inner_text()
    key(page, "Escape")
    return said


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


def test_a_link_waits_or_says_what_is_wrong_and_a_typed_prompt_outlives_a_reload(
    recorded_url, open_page
) -> None:
    page = open_page(recorded_url, query=f"?recorded=nothing&{TRACKING}")
    alert, notice = page.get_by_role("alert"), page.locator("#notice")
    field = page.locator("#prompt input, #prompt textarea")
    expect(alert).to_contain_text("no such recorded race")
    prompted(page, "cactus on yellow sand")
    field.fill("a typed prompt")
    page.reload()
    expect(alert).to_contain_text("no such recorded race")
    expect(field).to_have_value("a typed prompt")

    # A link that cannot be says why and changes nothing, whatever it holds.
    text = quote(HOSTILE, safe="")
    page.goto(f"{recorded_url}?prompt=octopus&{text}=1&seed={text}")
    expect(alert).to_contain_text("This link cannot be used")
    expect(field).to_have_value(EXAMPLES[0])
    prompted(page, "cactus on yellow sand")
    unhurt(page)

    # One that can be waits, and says so until its race.
    field.fill("a typed prompt")
    page.goto(f"{recorded_url}?prompt=a+linked+prompt&seed=5&lanes=ar&{TRACKING}")
    expect(notice).to_have_text(WAITS)
    expect(field).to_have_value("a linked prompt")
    field.fill("cactus")
    page.locator("#race").click()
    prompted(page, "cactus")
    finished(page)
    expect(notice).to_be_hidden()
    page.reload()  # what was raced is in the page's address
    finished(page)
    expect(field).to_have_value("cactus")
    assert page.evaluate("sessionStorage.getItem('photo-finish-typed')") == ""


def test_a_moment_of_a_recorded_race_is_copied_and_opened(recorded_url, open_page) -> None:
    page = open_page(recorded_url, query="?recorded=tour&utm_source=mail")
    prompted(page, "the tour")
    expect(page.locator("#notice")).to_be_hidden()
    by_passes(page)
    page.locator(".scrub").fill("5")
    key(page, "l", "1", "2")
    page.locator(".lane[data-lane='gsd'] canvas").click(position={"x": 5, "y": 5})
    assert copy_link(page) == "Copied"
    link = urlsplit(page.evaluate("navigator.clipboard.readText()"))
    assert link.query == "recorded=tour&clock=passes&t=5&layer=top1&cell=6,0&lane=3,4,5,6,7,8"
    other = open_page(recorded_url, query="?" + link.query)
    prompted(other, "the tour")
    shown = {"clock": "passes", "t": "5", "layer": "top1", "shown": "2,3,4,5,6,7"}
    for name, value in shown.items():
        expect(other.locator(".board")).to_have_attribute(f"data-{name}", value)
    expect(other.locator(".token-where")).to_have_text("GSD, row 1, column 1")


def test_a_race_that_a_link_starts_is_shared_embedded_and_raced_again_once_it_is_gone(
    quick, open_page
) -> None:
    settings = {"prompt": 'a & "b"', "seed": "5", "lanes": "ar,sjd", "model": "toy"}
    query = "?prompt=a+%26+%22b%22&seed=5&lanes=ar,sjd&model=toy&go=1&layer=tv"
    page = open_page(quick, query=f"{query}&{TRACKING}")
    board = page.locator(".board")
    prompted(page, settings["prompt"])
    finished(page)
    expect(page.locator(".board .meta")).to_contain_text("seed 5 ")
    expect(page.locator(".lane")).to_have_count(2)
    expect(board).to_have_attribute("data-layer", "tv")
    expect(page.locator("#notice")).to_be_hidden()
    race_id = board.get_attribute("data-race")

    # Its end is shared as its end: as it was, and raced again.
    assert copy_link(page) == "Copied"
    open_share(page)
    expect(page.locator(".share-links span")).to_have_text(["", "", ""])  # of this time alone
    expect(page.locator(".send")).to_be_hidden()  # the browser has nothing to send it with
    key(page, "Escape")
    link = page.evaluate("navigator.clipboard.readText()")
    other = open_page(link)
    for address in (link, link.replace(race_id, "gone")):
        if address != link:
            other.goto(address)
        finished(other)
        expect(other.locator(".board")).to_have_attribute("data-clock", "seconds")
        expect(other.locator(".board .pace")).to_have_class("pace outcome")

    # A moment of it is of that race, or races it again. Where nothing can be copied, it is the
    # page's address.
    by_passes(page)
    page.locator(".scrub").fill("3")
    page.evaluate(
        "() => { window.write = navigator.clipboard.writeText.bind(navigator.clipboard);"
        " navigator.clipboard.writeText = () => Promise.reject(); }"
    )
    assert copy_link(page) == "Not copied: the link is now in the address bar."
    assert dict(parse_qsl(urlsplit(page.url).query)) == {
        **settings,
        **{"go": "1", "clock": "passes", "t": "3", "layer": "tv", "race": race_id},
    }
    other.goto(page.url)
    expect(other.locator(".board")).to_have_attribute("data-t", "3")
    expect(other.locator(".board")).to_have_attribute("data-race", race_id)
    other.goto(page.url.replace(race_id, "gone"))
    expect(other.locator(".board")).to_have_attribute("data-t", "3")
    assert other.locator(".board").get_attribute("data-race") not in (race_id, "gone")

    # A frame of it shows the same moment, and starts no race.
    page.evaluate("() => { navigator.clipboard.writeText = window.write; }")
    open_share(page)
    page.get_by_role("button", name="Copy a link to this moment").click()
    said = page.locator(".share-links span")
    expect(said).to_have_text(["Copied", "", ""])
    page.get_by_role("button", name="Copy the code that embeds it").click()
    expect(said).to_have_text(["", "", "Copied"])  # the clipboard holds one thing
    key(page, "Escape")
    text = page.evaluate("navigator.clipboard.readText()")
    frame = page.evaluate(
        "text => { const { title, src } = new DOMParser().parseFromString(text, 'text/html')"
        ".querySelector('iframe'); return { title, src }; }",
        text,
    )
    assert frame["title"] == f"Photo Finish: {settings['prompt']}"
    fields = parse_qs(urlsplit(frame["src"]).query)
    assert (fields["race"], fields["embed"]) == ([race_id], ["1"])
    assert "go" not in fields
    other.goto(frame["src"])
    expect(other.locator(".board")).to_have_attribute("data-race", race_id)
    expect(other.locator(".board")).to_have_attribute("data-t", "3")
    expect(other.locator("#entry")).to_be_hidden()
