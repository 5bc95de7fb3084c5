"""The real page in Debian's Chromium: servers over toy models in this process, and `python app.py`
in its own."""

from __future__ import annotations

import math
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from app.page.layout import LAUNCH, build
from app.serving.sessions import RecordedRaces
from engine.decoders.lantern import LanternSettings
from engine.models.base import ImageModel
from engine.race import Lane, Race
from tests.app.conftest import Watched, toy_pool
from tests.clocks import set_clocks
from visualize.recorded_race import RecordedRace, record

ROOT = Path(__file__).parent.parent.parent
TOURED = ("ar", "jacobi", "fpi", "sjd", "scd", "gsd", "lantern", "sjd-pac")
# a shared machine may be slow; nothing waits longer than it must
expect.set_options(timeout=20_000)
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Held(Watched):
    """A toy whose race can be held in the middle: `hold` lets six more passes through, `release`
    all."""

    def __init__(self) -> None:
        super().__init__()
        self._open, self._limit = threading.Event(), math.inf

    def hold(self) -> None:
        self._open.clear()
        self._limit = self.passes + 6

    def release(self) -> None:
        self._limit = math.inf
        self._open.set()

    def forward(self, *window):
        if self.passes >= self._limit:
            self._open.wait(60)
        return super().forward(*window)


@contextmanager
def served(
    model: ImageModel, races_folder: Path = Path("nowhere"), may_load: threading.Event | None = None
) -> Iterator[str]:
    """A page over a model that is ready, or will be when it may; with the recorded races of a
    folder."""
    pool = toy_pool(model, lambda: model if may_load is None or may_load.wait(60) else None)
    if may_load is None:
        pool.loader.wait(60)
    demo = build(pool, RecordedRaces(races_folder))
    demo.launch(**LAUNCH, prevent_thread_lock=True, quiet=True)
    try:
        yield demo.local_url
    finally:
        demo.close()


def _lane(name: str) -> Lane:
    """A toy has few codes: of its paper's share of them LANTERN would have no neighbour."""
    return Lane(name, LanternSettings(k=8)) if name == "lantern" else Lane(name)


@set_clocks()
def recorded(prompt: str, lanes: Sequence[str]) -> RecordedRace:
    """A race over a toy, run here and now; the clocks are set, so that it lasts as long on any
    machine."""
    race = Race(model := Watched(), [_lane(name) for name in lanes], prompt, 7)
    return record(race.trace(list(race)), model)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        pytest.fail("These tests need Debian's Chromium: sudo apt-get install --yes chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=binary, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def quick_model() -> Watched:
    return Watched()


@pytest.fixture(scope="module")
def quick(quick_model: Watched) -> Iterator[str]:
    """A page whose races take a moment."""
    with served(quick_model) as url:
        yield url


@pytest.fixture(scope="session")
def races_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded races over a toy: a duel, and one of many lanes for the tour."""
    folder = tmp_path_factory.mktemp("races")
    for name, prompt, lanes in (
        ("duel", "cactus on yellow sand", ("ar", "sjd")),
        ("tour", "the tour", TOURED),
    ):
        (folder / f"{name}.json").write_text(recorded(prompt, lanes).dumps())
    return folder


@pytest.fixture(scope="module")
def recorded_url(races_folder: Path, quick_model: Watched) -> Iterator[str]:
    """A page that opens on a recorded race."""
    with served(quick_model, races_folder) as url:
        yield url


@pytest.fixture(scope="module")
def held_model() -> Held:
    return Held()


@pytest.fixture
def held(held_page: str, held_model: Held) -> Iterator[str]:
    """A page whose next race is held in the middle."""
    held_model.hold()
    yield held_page
    held_model.release()


@pytest.fixture(scope="module")
def held_page(held_model: Held) -> Iterator[str]:
    with served(held_model) as url:
        yield url


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[Race]:
    """The races that were asked to stop."""
    asked: list[Race] = []
    stop = Race.stop
    monkeypatch.setattr(Race, "stop", lambda race: asked.append(race) or stop(race))
    return asked


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`python app.py`, with the model that came with the repository."""
    start = ["app.py"]
    if "TEST_CLOCK_SEED" in os.environ:  # its lanes' clocks are scaled as the tests' are
        code = "import runpy, tests.conftest; runpy.run_path('app.py', run_name='__main__')"
        start = ["-c", code]
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    output = tmp_path_factory.mktemp("app") / "output.txt"
    url = f"http://127.0.0.1:{port}/"
    with output.open("w") as file:
        app = subprocess.Popen(
            [sys.executable, *start],
            cwd=ROOT,
            env={**os.environ, "GRADIO_SERVER_PORT": str(port)},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: answers(url) or app.poll() is not None, 300)
        assert app.poll() is None, output.read_text()
        yield url
    finally:
        app.terminate()
        app.wait(30)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page. Afterwards nothing may have gone wrong in its console, and no request have left
    the machine."""
    complaints: list[str] = []
    contexts = []

    def asked(url: str) -> None:
        if urlsplit(url).scheme in ("http", "https") and urlsplit(url).hostname != "127.0.0.1":
            complaints.append(f"asked for {url}")

    def opened(url: str, width: int = 1400, height: int = 1000, query: str = "") -> Page:
        contexts.append(browser.new_context(viewport={"width": width, "height": height}))
        page = contexts[-1].new_page()
        page.on(
            "console", lambda message: message.type == "error" and complaints.append(message.text)
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked(request.url))
        page.goto(url + query)
        page.wait_for_selector(".board .lane:not([hidden])")  # a link may hide the first
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    """Waits for something that the server does. Fails when it never does it."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
