"""The orders in which things can reach the board while the page opens, each forced by one answer
that is held back: whatever was asked for last is shown, and nothing that a visitor did is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gradio
import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.acts import finished, prompted, race
from tests.browser.servers import served
from tests.infill_toys import NeighbourToy

ASSETS = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"
# A page with the frame of a board, which does as the snippet of docs/embedding.md says.
AROUND = """<!doctype html><title>around</title><script>
window.heard = [];
addEventListener("message", ({ data, source }) => {
  if (!data.photoFinish) return;
  heard.push(data);
  if (data.photoFinish === "ready")
    source.postMessage({ photoFinish: "seek", t: 4, clock: "passes" }, "*");
});
</script><iframe width="900" height="600" src="%s"></iframe>"""


def chunk_of(component: str) -> str:
    """The address of the script of one of Gradio's components: the page submits its `load` event
    only once it has all of them."""
    pattern = re.compile(component + r":\{.*?component:.*?(Index-[\w-]+\.js)")
    found = [
        match[1] for file in ASSETS.glob("core-*.js") if (match := pattern.search(file.read_text()))
    ]
    assert len(found) == 1, found
    return f"**/{found[0]}"


@contextmanager
def held_back(page: Page, address: str) -> Iterator[None]:
    """Holds back what is asked for at an address while the block runs, and answers it afterwards.
    It must have been asked for by then."""
    routes: list[Route] = []
    is_held = True

    def handle(route: Route) -> None:
        if is_held:
            routes.append(route)
        else:
            route.continue_()

    page.route(address, handle)
    with page.expect_request(address):
        yield
    is_held = False
    for route in routes:
        route.continue_()


def is_press(request: Request) -> bool:
    """Whether a request takes a press of Race to the server."""
    return "/queue/join" in request.url and "octopus on sand" in (request.post_data or "")


def opened(page: Page) -> None:
    page.wait_for_selector("html[data-opened]")


@pytest.fixture(scope="module")
def url(filling_folder) -> Iterator[str]:
    """A page that opens on a duel, with the tour's races."""
    with served(NeighbourToy(), filling_folder) as url:
        yield url


@pytest.fixture
def blank(open_page, url) -> Page:
    """A visitor's first page, before it is opened; its console is watched."""
    return open_page(url, fresh=True, blank=True)


def test_a_frame_that_is_sought_when_it_is_ready_goes_there(blank, url) -> None:
    around = f"{url}around"
    frame = f"{url}?recorded=duel&embed=1&t=0"
    blank.route(around, lambda route: route.fulfill(body=AROUND % frame, content_type="text/html"))
    blank.goto(around)
    board = blank.frame_locator("iframe").locator(".board")
    expect(board).to_have_attribute("data-t", "4")
    expect(board).to_have_attribute("data-clock", "passes")
    assert blank.evaluate("heard.filter((each) => each.photoFinish === 'ready').length") == 1


def test_a_message_that_comes_before_the_race_is_answered_with_it(blank, url) -> None:
    around = f"{url}around"
    frame = f"{url}?recorded=duel&embed=1&t=0"
    blank.route(around, lambda route: route.fulfill(body=AROUND % frame, content_type="text/html"))
    with held_back(blank, "**/duel.json"):
        with blank.expect_request("**/duel.json"):  # the board's script is there, and hears
            blank.goto(around)
        ask = "frames[0].postMessage({ photoFinish: 'seek', t: 'end' }, '*')"
        blank.evaluate(ask)
        assert blank.evaluate("heard") == []
    blank.wait_for_function("heard.some(({ ended }) => ended)")


def test_a_link_to_a_chapter_opens_it_however_late_the_page_is(blank, url) -> None:
    with held_back(blank, chunk_of("uploadbutton")), held_back(blank, "**/part.json"):
        blank.goto(f"{url}?tour=14")
        expect(blank.locator(".stage-panel")).to_contain_text("Fetching the race")
    opened(blank)
    expect(blank.locator(".chapter-title")).to_have_text("Fill in a part")
    expect(blank.locator(".chapter-number")).to_have_text("14")


def test_a_race_that_begins_before_the_boards_script_is_there_comes_to_the_board(
    blank, url
) -> None:
    with held_back(blank, "**/files/*/page.js"):
        blank.goto(f"{url}?recorded=tour")
        with blank.expect_request_finished(is_press):
            race(blank, "octopus on sand")
    opened(blank)
    prompted(blank, "octopus on sand")
    finished(blank)


def test_a_race_takes_the_board_from_a_tour_that_is_still_to_come(blank, url) -> None:
    blank.goto(url)
    opened(blank)
    with held_back(blank, "**/tour.json"):
        blank.locator(".tour").click()
        expect(blank.locator(".stage-panel")).to_contain_text("Fetching the race")
        race(blank, "octopus on sand")
        prompted(blank, "octopus on sand")
    finished(blank)
    prompted(blank, "octopus on sand")


def test_what_a_visitor_does_before_the_page_has_opened_stays(blank, url) -> None:
    """A race, a hidden lane and a typed prompt: `load` is answered after them."""
    board, prompt = blank.locator(".board"), blank.locator("#prompt :is(input, textarea)")
    with held_back(blank, chunk_of("uploadbutton")):
        blank.goto(f"{url}?prompt=from+the+link&seed=8")
        expect(board).to_have_attribute("data-race", "duel")
        prompt.fill("octopus on sand")
        blank.locator("#race").dispatch_event("click")  # Gradio's mask lies over the page
        prompted(blank, "octopus on sand")
        finished(blank)
        all_lanes = board.get_attribute("data-shown")
        blank.locator(".lane .number").first.dispatch_event("click")
        expect(board).not_to_have_attribute("data-shown", all_lanes)
        hidden = board.get_attribute("data-shown")
        prompt.fill("typed next")
        assert blank.locator("html[data-opened]").count() == 0
    opened(blank)
    expect(prompt).to_have_value("typed next")
    expect(board).to_have_attribute("data-shown", hidden)
    prompted(blank, "octopus on sand")
