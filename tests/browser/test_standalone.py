"""The file on its own, opened from disk: no server, and no request but for the file itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.acts import INJECTIONS, by_passes, hashes, key, prompted, wide
from tests.browser.conftest import recorded
from visualize.board import token_hash
from visualize.layers import LaneReplay, Layer
from visualize.recorded_race import RecordedRace
from visualize.standalone import standalone

LANES = ("ar", "sjd", "gsd")


@pytest.fixture(scope="module")
def recording() -> RecordedRace:
    return recorded("cactus on yellow sand", LANES)


@pytest.fixture
def open_file(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens a recording's file. Afterwards nothing else was asked for, and nothing went wrong in
    the console."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts = []
    file = tmp_path / "race.html"

    def opened(recording: RecordedRace, width: int = 1400, dark: bool = False) -> Page:
        file.write_text(standalone(recording), "utf-8")
        scheme = "dark" if dark else "light"
        contexts.append(
            browser.new_context(
                viewport={"width": width, "height": 1000}, color_scheme=scheme, offline=True
            )
        )
        page = contexts[-1].new_page()
        page.on(
            "console",
            lambda message: (
                message.type in ("error", "warning") and complaints.append(message.text)
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: request.url.startswith(("data:", "blob:")) or asked.append(request.url),
        )
        page.goto(file.as_uri())
        page.wait_for_selector(".board .lane")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints
    assert set(asked) == {file.as_uri()}
    assert len(asked) == len(contexts)


def shown(lane: LaneReplay, k: int) -> list[int]:
    """The tokens on the board after the lane's k-th step."""
    return lane.table.positions["token"][lane.at(k).rows].tolist()


def test_it_plays_to_the_finish_that_was(open_file, recording) -> None:
    page = open_file(recording)
    prompted(page, "cactus on yellow sand")
    expect(page.locator(".board")).to_have_attribute("data-state", "finished", timeout=60_000)
    finals = [LaneReplay(recording.trace, i) for i in range(len(LANES))]
    expected = [token_hash(shown(lane, len(lane.table))) for lane in finals]
    page.wait_for_function(
        "hash => document.querySelector('.lane').dataset.hash === hash", arg=expected[0]
    )
    assert hashes(page) == expected
    expect(page.locator(".finish")).to_be_visible()
    painted = (
        "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width,"
        " canvas.height).data).size > 4"
    )
    assert page.locator(".lane canvas").first.evaluate(painted)


def test_it_scrubs_to_any_step(open_file, recording) -> None:
    page = open_file(recording)
    by_passes(page)
    for t in (5, 2, 9):
        page.locator(".scrub").fill(str(t))
        expect(page.locator(".lane[data-lane='ar']")).to_have_attribute("data-step", str(t))
        expected = []
        for i in range(len(LANES)):
            lane = LaneReplay(recording.trace, i)
            expected.append(token_hash(shown(lane, lane.step_at("passes", t))))
        assert hashes(page) == expected
    key(page, "ArrowLeft")
    page.wait_for_function("() => Number(document.querySelector('.board').dataset.t) < 9")


def test_it_says_why(open_file, recording) -> None:
    """The panel of a token, whose swatches are images made by the script."""
    page = open_file(recording)
    key(page, "End")
    page.locator(".lane[data-lane='gsd'] canvas").click(position={"x": 40, "y": 12})
    expect(page.locator(".token")).to_contain_text("Why token")
    page.wait_for_timeout(200)  # for an image that the policy would block


@pytest.mark.parametrize("layer", Layer, ids=lambda layer: layer.value)
def test_it_shows_every_layer(open_file, recording, layer) -> None:
    page = open_file(recording)
    page.locator(".layers button").nth(list(Layer).index(layer)).click()
    expect(page.locator(".board")).to_have_attribute("data-layer", layer.value)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_follows_the_system_and_fits_a_phone(open_file, recording, dark) -> None:
    page = open_file(recording, width=390, dark=dark)
    ground, ink = page.evaluate(
        "[document.body, document.querySelector('.prompt')].map((e, i) => getComputedStyle(e)[i ?"
        " 'color' : 'backgroundColor'])"
    )
    light = [
        sum(map(int, colour[colour.index("(") + 1 : -1].split(",")[:3])) / 3
        for colour in (ground, ink)
    ]
    assert (light[0] < 60 and light[1] > 200) if dark else (light[0] > 240 and light[1] < 60)
    assert wide(page) <= 0
    page.emulate_media(color_scheme="light" if dark else "dark")
    page.wait_for_function(
        "dark => document.body.classList.contains('dark') === dark", arg=not dark
    )


@pytest.mark.parametrize(
    "prompt",
    [*INJECTIONS, "</script><script>window.hit=1</script>", "--><b onclick=x>", "</title><b>b</b>"],
)
def test_what_a_visitor_wrote_is_plain_text(open_file, recording, prompt) -> None:
    header = replace(recording.trace.header, prompt=prompt, machine=prompt)
    page = open_file(replace(recording, trace=replace(recording.trace, header=header)))
    prompted(page, prompt)
    assert page.title() == " ".join(f"{prompt} · Photo Finish".split())
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert (
        page.locator(
            ".board img, .board .head svg, .board script, .board iframe, body > b, title ~ b"
        ).count()
        == 0
    )


def test_its_policy_stops_what_is_not_its_own(browser, recording, tmp_path) -> None:
    file = tmp_path / "race.html"
    file.write_text(standalone(recording), "utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    page.evaluate("""() => {
      window.stopped = [];
      const stop = (event) => window.stopped.push(event.effectiveDirective);
      document.addEventListener("securitypolicyviolation", stop);
      const script = document.createElement("script");
      script.textContent = "window.hit = 1";
      const image = new Image();
      image.src = "http://127.0.0.1:9/x.png";
      document.body.append(script, image);
    }""")
    page.wait_for_function("() => window.stopped.length > 1")
    assert page.evaluate("window.hit") is None
    assert sorted(page.evaluate("window.stopped")) == ["img-src", "script-src-elem"]
    page.close()
