"""The board alone in the frame of another page: what it shows, what it answers to messages, and the
example's slides."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.acts import OVER, PATIENCE, finished, key, prompted, wide
from visualize.export.standalone import standalone

ROOT = Path(__file__).parent.parent.parent
REVEAL = ROOT / "node_modules" / "reveal.js"
SHOWN = (
    "[...document.querySelectorAll('.gradio-container :is(h1, #entry, #bet, #options, #export,"
    " footer, .film, .use-settings)')].filter((part) => part.checkVisibility())"
    ".map((part) => part.id)"
)
# A page that shows a board in a frame and keeps what it hears from it.
AROUND = """<!doctype html><title>around</title>
<script>
  window.heard = [];
  addEventListener("message", ({ data }) => data.photoFinish && heard.push(data));
</script>
<iframe width="900" height="600" src="%s"></iframe>"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose console says nothing wrong."""
    page, said = browser.new_page(), []
    page.on("console", lambda each: said.append(each.text) if each.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()
    assert not said


def go_around(page: Page, site: str, board: str) -> None:
    """Opens a page of a site that shows a board in a frame."""
    text = AROUND % board
    page.route(f"{site}around", lambda route: route.fulfill(body=text, content_type="text/html"))
    page.goto(f"{site}around")


def send(page: Page, **message: object) -> None:
    frame = "document.querySelector('iframe').contentWindow"
    page.evaluate(f"message => {frame}.postMessage(message, '*')", message)


def heard(page: Page, condition: str) -> dict[str, object]:
    """The last message that the page has heard, once there is one such as `data` is to be."""
    page.wait_for_function(f"heard.length && ((data) => {condition})(heard.at(-1))")
    return page.evaluate("heard.at(-1)")


def test_an_embedded_board_is_alone_at_its_moment(recorded_url, open_page) -> None:
    query = "?recorded=tour&embed=1&lane=sjd,6&clock=passes&t=5&layer=tv"
    page = open_page(recorded_url, 900, 600, query)
    prompted(page, "the tour")
    board = page.locator(".board")
    for name, value in {"clock": "passes", "t": "5", "layer": "tv", "shown": "3,5"}.items():
        expect(board).to_have_attribute(f"data-{name}", value)
    assert page.evaluate(SHOWN) == []
    assert board.bounding_box()["y"] < 20
    assert wide(page) <= 0
    assert parse_qs(urlsplit(page.url).query)["embed"] == ["1"]
    key(page, "r", "/")  # there is no form
    expect(board).to_have_attribute("data-state", "replay")
    assert page.locator("dialog").count() == 0


def test_an_embedded_board_without_a_race_is_of_the_one_the_page_opens_on(
    recorded_url, open_page
) -> None:
    page = open_page(recorded_url, query="?embed=1&lane=2&t=end&layer=tv")
    for name, value in {"done": "1", "layer": "tv", "shown": "1"}.items():
        expect(page.locator(".board")).to_have_attribute(f"data-{name}", value)


@pytest.mark.parametrize("lanes", ["sjd", "ar,sjd", "1,2,3,4,5,6,7"])
def test_a_stage_as_low_as_a_slides_frame_is_not_cut(open_file, toured, lanes) -> None:
    page = open_file(toured, 902, 470, f"#embed=1&present=1&t=end&lane={lanes}")
    expect(page.locator(".board")).to_have_attribute("data-done", "1")
    head = page.locator(".head").bounding_box()
    lanes = page.locator(".lane:visible").evaluate_all(
        "all => all.map((lane) => lane.getBoundingClientRect().top)"
    )
    assert min(lanes) >= head["y"] + head["height"]
    assert page.evaluate(OVER) == []


def test_a_frame_whose_race_is_gone_says_so_and_shows_no_other(recorded_url, page) -> None:
    page.goto(f"{recorded_url}?embed=1&race=gone&prompt=octopus")
    expect(page.locator("#notice")).to_contain_text("does not have the race")
    expect(page.locator(".board")).to_be_hidden()
    expect(page.locator("#entry")).to_be_hidden()


def test_a_copied_frame_shows_the_same_moment_and_starts_no_race(quick, open_page) -> None:
    page = open_page(quick, query="?prompt=a+%26+%22b%22&seed=5&lanes=ar,sjd&model=toy&go=1")
    finished(page)
    race_id = page.locator(".board").get_attribute("data-race")
    page.locator(".scrub").fill("0")
    copy = page.get_by_role("button", name="Copy embed")
    copy.click()
    expect(copy).to_have_text("Copied")
    text = page.evaluate("navigator.clipboard.readText()")
    frame = page.evaluate(
        "text => { const { title, src } = new DOMParser().parseFromString(text, 'text/html')"
        ".querySelector('iframe'); return { title, src }; }",
        text,
    )
    assert frame["title"] == 'Photo Finish: a & "b"'
    fields = parse_qs(urlsplit(frame["src"]).query)
    assert fields["race"] == [race_id]
    assert fields["embed"] == ["1"]
    assert "go" not in fields
    other = open_page(frame["src"])
    expect(other.locator(".board")).to_have_attribute("data-race", race_id)
    expect(other.locator(".board")).to_have_attribute("data-t", "0")
    assert other.evaluate(SHOWN) == []


def test_a_page_of_its_own_site_plays_it_and_hears_of_it(recorded_url, page) -> None:
    go_around(page, recorded_url, f"{recorded_url}?recorded=duel&embed=1&t=0")
    heard(page, "data.photoFinish === 'ready'")
    assert page.evaluate("heard.length") == 1  # no more, until the page asks
    send(page, photoFinish="seek", t=4, clock="passes")
    state = heard(page, "data.t === 4")
    assert (state["clock"], state["playing"], state["ended"]) == ("passes", False, False)
    assert [(lane["decoder"], lane["passes"]) for lane in state["lanes"]] == [("ar", 4), ("sjd", 4)]
    send(page, photoFinish="play")
    heard(page, "data.playing")
    assert heard(page, "data.ended")["t"] == state["length"]
    send(page, photoFinish="seek", t=-1)
    assert "photoFinish" in heard(page, "data.photoFinish === 'error'")["error"]
    send(page, photoFinish="state")
    assert heard(page, "data.photoFinish === 'state'")["ended"]


def test_a_page_of_another_site_cannot_show_it(recorded_url, quick, browser) -> None:
    page = browser.new_page()  # its console may complain
    go_around(page, quick, f"{recorded_url}?embed=1")
    assert page.frames[1].url == "chrome-error://chromewebdata/"
    page.close()


@pytest.mark.parametrize("sign", ["?", "#"])
def test_the_file_takes_the_same_parameters_and_messages(page, duel, tmp_path, sign) -> None:
    (tmp_path / "race.html").write_text(standalone(duel), "utf-8")
    query = f"race.html{sign}embed=1&lane=sjd&clock=passes&t=3&layer=tv"
    (tmp_path / "around.html").write_text(AROUND % query, "utf-8")
    page.goto((tmp_path / "around.html").as_uri())
    board = page.frame_locator("iframe").locator(".board")
    for name, value in {"clock": "passes", "t": "3", "layer": "tv", "shown": "1"}.items():
        expect(board).to_have_attribute(f"data-{name}", value)
    send(page, photoFinish="seek", t=6)
    assert heard(page, "data.t === 6")["lanes"][0]["passes"] == 6
    send(page, photoFinish="seek", t="end")
    heard(page, "data.ended")


@pytest.mark.skipif(not REVEAL.exists(), reason="reveal.js is not here: npm ci")
def test_the_slides_seek_and_play_the_race(page, duel, tmp_path) -> None:
    folder = tmp_path / "examples" / "slides"
    shutil.copytree(ROOT / "examples" / "slides", folder)
    (tmp_path / "node_modules").symlink_to(REVEAL.parent)
    (folder / "race.html").write_text(standalone(duel), "utf-8")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((folder / "index.html").as_uri())
    board = page.frame_locator("iframe").locator(".board")
    expect(board).to_have_attribute("data-t", "0")
    expect(board).to_have_attribute("data-shown", "0,1")
    page.keyboard.press("ArrowRight")
    expect(board).to_have_attribute("data-t", "10")
    page.keyboard.press("ArrowRight")
    expect(board).to_have_attribute("data-playing", "1")
    page.keyboard.press("ArrowRight")
    expect(board).to_have_attribute("data-done", "1")
    expect(page.locator("output")).to_contain_text("in 36 passes")
    page.keyboard.press("ArrowLeft")  # plays on from the end, which is from the start
    expect(board).to_have_attribute("data-playing", "1")
    page.keyboard.press("ArrowLeft")
    expect(board).to_have_attribute("data-t", "10")
    expect(board).to_have_attribute("data-playing", "0")
    assert all(re.match("file:|data:|blob:", url) for url in asked)
