"""The page in two more engines, a smoke test: Firefox by WebDriver BiDi, WebKit by WebDriver.

`make test-browsers` names this file; `make test` does not collect it, since it is not called
test_*.py: two more browsers are not needed to work on the page, and take minutes.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
from websockets.sync.client import connect

from tests.app.conftest import wait_until
from tests.browser.acts import INK_AND_GROUND, assert_legible
from tests.ports import answers, free_port

WIDTH, HEIGHT = 1400, 1000
PATIENCE = 600  # seconds that an answer may take: without a GPU an engine draws by the processor
CONTROL = "\ue009"


class Engine(Protocol):
    def open(self, url: str) -> None: ...

    def text(self, expression: str) -> str:
        """The value of an expression in the page that is a text."""

    def perform(self, actions: list[dict[str, Any]]) -> None:
        """Input actions, which BiDi has from WebDriver."""


def program(name: str) -> str:
    found = shutil.which(name)
    assert found, f"These tests need {name}: make test-browsers installs it"
    return found


@contextmanager
def started(*command: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(list(map(str, command)), text=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


class Firefox:
    """Over a connection to its WebDriver BiDi server."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._numbers = connection, itertools.count(1)
        self._command("session.new", capabilities={})
        (context,) = self._command("browsingContext.getTree")["contexts"]
        self._context = {"context": context["context"]}
        size = {"width": WIDTH, "height": HEIGHT}
        self._command("browsingContext.setViewport", **self._context, viewport=size)

    def _command(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(self._connection.recv(PATIENCE))).get("id") != number:
            pass  # an event
        assert answer["type"] == "success", answer
        return answer["result"]

    def open(self, url: str) -> None:
        self._command("browsingContext.navigate", **self._context, url=url, wait="complete")

    def text(self, expression: str) -> str:
        options = {"target": self._context, "awaitPromise": False}
        answer = self._command("script.evaluate", expression=expression, **options)
        assert answer["type"] == "success", answer
        return answer["result"]["value"]

    def perform(self, actions: list[dict[str, Any]]) -> None:
        self._command("input.performActions", **self._context, actions=actions)


@contextmanager
def firefox(folder: Path) -> Iterator[Engine]:
    profile = ("--profile", folder)
    command = (program("firefox-esr"), "--headless", "--remote-debugging-port=0", *profile)
    with started(*command, stderr=subprocess.PIPE) as process:
        words = "WebDriver BiDi listening on "
        line = next(line for line in process.stderr if line.startswith(words))
        with connect(f"{line.removeprefix(words).strip()}/session", max_size=None) as connection:
            yield Firefox(connection)


class WebKit:
    """A session of WebKitGTK's driver."""

    def __init__(self, driver: str) -> None:
        self._session = f"{driver}/session"
        session = self._post("", capabilities={})
        self._session += f"/{session['sessionId']}"
        self._post("/window/rect", width=WIDTH, height=HEIGHT)

    def _post(self, path: str, **body: Any) -> Any:
        answer = httpx.post(f"{self._session}{path}", json=body, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    def open(self, url: str) -> None:
        self._post("/url", url=url)

    def text(self, expression: str) -> str:
        return self._post("/execute/sync", script=f"return {expression}", args=[])

    def perform(self, actions: list[dict[str, Any]]) -> None:
        self._post("/actions", actions=actions)

    def close(self) -> None:
        httpx.delete(self._session, timeout=PATIENCE)


@contextmanager
def webkit(folder: Path) -> Iterator[Engine]:
    screen = f"{WIDTH + 100}x{HEIGHT + 100}x24"
    display = (program("Xvfb"), "-displayfd", 1, "-screen", 0, screen, "-nolisten", "tcp")
    with (
        free_port() as port,
        started(*display, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server,
    ):
        number, driver = server.stdout.readline().strip(), f"http://127.0.0.1:{port}"
        screen_only = {"DISPLAY": f":{number}", "WEBKIT_DISABLE_COMPOSITING_MODE": "1"}
        env = {**os.environ, **screen_only, "HOME": str(folder)}
        with started(program("WebKitWebDriver"), f"--port={port}", env=env):
            wait_until(lambda: answers(f"{driver}/status"))
            with closing(WebKit(driver)) as engine:
                yield engine


@pytest.fixture(params=[firefox, webkit], ids=lambda start: start.__name__)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    start: Callable[[Path], Any] = request.param
    with start(tmp_path) as engine:
        yield engine


def shows(engine: Engine, condition: str) -> None:
    """Waits until a condition on `board`, the board's element, is true in the page."""
    test = f"String(((board) => Boolean(board && ({condition})))(document.querySelector('.board')))"
    wait_until(lambda: engine.text(test) == "true", PATIENCE)


def click(engine: Engine, selector: str) -> None:
    """A click into the middle of an element."""
    place = f"""((element) => {{
      element.scrollIntoView({{ block: "center" }});
      const {{ left, top, width, height }} = element.getBoundingClientRect();
      return JSON.stringify([Math.round(left + width / 2), Math.round(top + height / 2)]);
    }})(document.querySelector("{selector}"))"""
    x, y = json.loads(engine.text(place))
    moves = [{"type": "pointerMove", "x": x, "y": y}]
    presses = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
    engine.perform([{"type": "pointer", "id": "mouse", "actions": moves + presses}])


def write(engine: Engine, text: str) -> None:
    """Types over what the field that has the focus holds."""
    strokes = [(CONTROL, "a"), *((letter,) for letter in text)]
    keys = [
        {"type": kind, "value": value}
        for stroke in strokes
        for kind in ("keyDown", "keyUp")
        for value in stroke
    ]
    engine.perform([{"type": "key", "id": "keyboard", "actions": keys}])


def test_the_page_replays_races_explains_a_token_and_is_dark(engine: Engine, real: str) -> None:
    engine.open(f"{real}?lanes=ar,sjd")
    recorded = "board.querySelector('.meta').textContent.includes('recorded')"
    shows(engine, f"{recorded} && board.dataset.playing === '1' && Number(board.dataset.t) > 0")
    shows(engine, "board.dataset.state === 'finished'")  # the replay
    click(engine, "#prompt :is(input, textarea)")
    write(engine, "octopus on blue water")
    click(engine, "#race")
    shows(engine, "board.querySelector('.prompt').textContent === 'octopus on blue water'")
    finished = "board.dataset.state === 'finished' && board.dataset.done === '1'"
    shows(engine, f"!{recorded} && {finished}")
    shows(engine, "board.querySelectorAll('.lane[data-state=finished]').length === 2")
    pixels = "getContext('2d').getImageData(0, 0, 64, 64).data"
    shows(engine, f"new Set(board.querySelector('.lane canvas').{pixels}).size > 4")
    click(engine, ".lane canvas")
    panel = "board.querySelector('.token')"
    shows(engine, f"!{panel}.hidden && {panel}.textContent.includes('Why token')")
    for theme in ("light", "dark"):
        engine.open(f"{real}?__theme={theme}")
        shows(engine, "board.querySelector('.lane')")
        for part in (".board", ".masthead p"):
            element = f"document.querySelector('{part}')"
            found = engine.text(f"JSON.stringify(({INK_AND_GROUND})({element}))")
            assert_legible(json.loads(found), theme, part)
