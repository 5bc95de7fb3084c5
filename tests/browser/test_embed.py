"""The board alone in the frame of another page: what it shows, what it answers to messages, and the
example's slides."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.browser.acts import OVER, PATIENCE, key
from tests.browser.conftest import LEFT
from visualize.export.standalone import standalone

ROOT = Path(__file__).parent.parent.parent
REVEAL = ROOT / "node_modules" / "reveal.js"
SHOWN = (
    "[...document.querySelectorAll('.gradio-container :is(h1, #entry, #bet, #options, #export,"
    " footer, .use-settings)')].filter((part) => part.checkVisibility())"
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

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(LEFT):
            said.append(message.text)

    page.on("console", heard)
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


def test_a_board_in_a_frame_is_alone_and_is_played_by_the_page_around_it(
    recorded_url, quick, page, browser
) -> None:
    moment = "lane=sjd,6&clock=passes&t=5&layer=tv"
    go_around(page, recorded_url, f"{recorded_url}?recorded=tour&embed=1&{moment}")
    heard(page, "data.photoFinish === 'ready'")
    frame = page.frames[1]
    board = frame.locator(".board")
    expect(board.locator(".prompt")).to_have_text("the tour")
    for name, value in {"clock": "passes", "t": "5", "layer": "tv", "shown": "3,5"}.items():
        expect(board).to_have_attribute(f"data-{name}", value)
    assert frame.evaluate(SHOWN) == []
    sides = board.locator(".lane:visible .frame").evaluate_all(
        "all => all.map((it) => it.clientWidth)"
    )
    assert min(sides) > 300, "two pictures fill the frame"
    assert frame.evaluate("document.querySelector('.board').getBoundingClientRect().y") < 20
    assert frame.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert parse_qs(urlsplit(frame.url).query)["embed"] == ["1"]
    frame.locator(".share").click()
    expect(frame.locator(".moment")).to_be_visible()
    expect(frame.locator("#export")).to_be_hidden()
    page.keyboard.press("Escape")
    board.locator(".clock").click()
    page.keyboard.press("r")  # there is no form
    page.keyboard.press("/")
    page.keyboard.press("ArrowRight")
    expect(board).to_have_attribute("data-t", "6")
    expect(board).to_have_attribute("data-state", "replay")
    assert frame.locator("dialog").count() == 0
    assert page.evaluate("heard.length") == 1  # no more, until the page asks

    send(page, photoFinish="seek", t=4, clock="passes")
    state = heard(page, "data.t === 4")
    assert (state["clock"], state["playing"], state["ended"]) == ("passes", False, False)
    assert [(lane["decoder"], lane["passes"]) for lane in state["lanes"]] == [
        ("sjd", 4),
        ("gsd", 4),
    ]
    send(page, photoFinish="play")
    heard(page, "data.playing")
    send(page, photoFinish="seek", t=state["length"] - 1, clock="passes")
    send(page, photoFinish="play")
    assert heard(page, "data.ended")["t"] == state["length"]
    send(page, photoFinish="seek", t=-1)
    assert "photoFinish" in heard(page, "data.photoFinish === 'error'")["error"]
    send(page, photoFinish="state")
    assert heard(page, "data.photoFinish === 'state'")["ended"]

    # Without the name of a race it is of the one that the page opens on; where a race is gone it
    # says so and shows no other.
    page.goto(f"{recorded_url}?embed=1&lane=2&t=end&layer=tv")
    for name, value in {"done": "1", "layer": "tv", "shown": "1"}.items():
        expect(page.locator(".board")).to_have_attribute(f"data-{name}", value)
    page.goto(f"{recorded_url}?embed=1&race=gone&prompt=octopus")
    expect(page.locator("#notice")).to_contain_text("no longer has the race")
    expect(page.locator(".board")).to_be_hidden()
    expect(page.locator("#entry")).to_be_hidden()

    # A page of another site cannot show it.
    other = browser.new_page()  # its console may complain
    go_around(other, quick, f"{recorded_url}?embed=1")
    assert other.frames[1].url == "chrome-error://chromewebdata/"
    other.close()


# The parts of a stage that are cut off or stand where others are.
CUT = f"""() => {{
  const head = document.querySelector(".head").getBoundingClientRect().bottom;
  const lanes = [...document.querySelectorAll(".lane:not([hidden])")];
  const over = lanes.filter((lane) => lane.getBoundingClientRect().top < head);
  return [...over.map((lane) => lane.className), ...({OVER})()];
}}"""


def test_a_file_in_a_frame_takes_the_same_parameters_and_messages(page, toured, tmp_path) -> None:
    (tmp_path / "race.html").write_text(standalone(toured), "utf-8")
    query = "race.html?embed=1&present=1&lane=sjd&clock=passes&t=3&layer=tv"
    (tmp_path / "around.html").write_text(AROUND % query, "utf-8")
    page.goto((tmp_path / "around.html").as_uri())
    board = page.frame_locator("iframe").locator(".board")
    for name, value in {"clock": "passes", "t": "3", "layer": "tv", "shown": "3"}.items():
        expect(board).to_have_attribute(f"data-{name}", value)
    send(page, photoFinish="seek", t=6)
    assert heard(page, "data.t === 6")["lanes"][0]["passes"] == 6
    send(page, photoFinish="seek", t="end")
    heard(page, "data.ended")

    # A stage as low as a slide's frame is not cut, whatever lanes it shows.
    page.set_viewport_size({"width": 902, "height": 470})
    page.goto((tmp_path / "race.html").as_uri() + "#embed=1&present=1&t=end&lane=sjd")
    board = page.locator(".board")
    expect(board).to_have_attribute("data-done", "1")
    for pressed, shown in ("", "3"), ("1", "0,3"), ("23567", "0,1,2,3,4,5,6"):
        key(page, *pressed)
        expect(board).to_have_attribute("data-shown", shown)
        page.wait_for_function(f"() => ({CUT})().length === 0")


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
