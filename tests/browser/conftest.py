"""The real page in Debian's Chromium: servers over toy models in this process, `python app.py` in
its own, and the board alone in a file. One browser and one page of it serve a worker's tests, one
after the other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright import sync_api
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from app.races.live_race import LiveRace
from app.workers import between_steps
from engine.infilling import Infilling
from tests.app.conftest import wait_until
from tests.app.page.test_fill_in import CODES, MASK
from tests.browser.acts import INSIDE, LASTING, PATIENCE, prompted
from tests.browser.servers import TOURED, Held, recorded, served
from tests.clocks import set_clocks
from tests.infill_toys import NeighbourToy
from tests.ports import answers, free_port
from tests.races import race_of
from visualize.export.standalone import standalone
from visualize.pictures.recorded_race import RecordedRace, record

ROOT = Path(__file__).parent.parent.parent
CLIPBOARD = ["clipboard-read", "clipboard-write"]
# What gradio says on a page that is left. It closes its stream, and the server forgets the page's
# calls. The answer to a call may come after that: gradio then opens a stream that finds no call.
LEFT = (
    "AbortError: signal is aborted",
    "Unexpected error Connection errored out",
    "Unexpected error 404: Not Found",
)
expect.set_options(timeout=PATIENCE)
QUIET = [
    *("--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-quic", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    # Chromium without what is around a page, which takes a third of its processor time
    binary = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if binary is None:
        pytest.fail("These tests need Chromium: sudo apt-get install chromium-headless-shell")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=binary, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def model() -> Held:
    """Of the pages that are served to all tests."""
    return Held()


@pytest.fixture(scope="session")
def quick(model: Held) -> Iterator[str]:
    """A page whose races take a moment, and that opens on none."""
    with served(model) as url:
        yield url


@pytest.fixture
def held(quick: str, model: Held, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A page whose next race is held in the middle, which keeps other work waiting for a moment."""
    monkeypatch.setattr(between_steps, "PATIENCE", 0.1)
    model.hold()
    yield quick
    model.release()


@pytest.fixture(scope="session")
def duel() -> RecordedRace:
    return recorded("cactus on yellow sand", ("ar", "sjd"))


@pytest.fixture(scope="session")
def toured() -> RecordedRace:
    """A race of many lanes, for the tour."""
    return recorded("the tour", TOURED)


@pytest.fixture(scope="session")
def races_folder(
    tmp_path_factory: pytest.TempPathFactory, duel: RecordedRace, toured: RecordedRace
) -> Path:
    folder = tmp_path_factory.mktemp("races")
    rows = recorded("rows at once", ("ar", "zipar", "rows"))
    for name, race in (("duel", duel), ("rows", rows), ("tour", toured)):
        (folder / f"{name}.json").write_text(race.dumps())
    return folder


@pytest.fixture(scope="session")
def filling_folder(tmp_path_factory: pytest.TempPathFactory, toured: RecordedRace) -> Path:
    """The tour's race, one of whole pictures, and one that fills in a part, over a toy that can."""
    folder, model = tmp_path_factory.mktemp("infillings"), NeighbourToy()
    (folder / "tour.json").write_text(toured.dumps())
    part = Infilling.of_mask(CODES, MASK)
    for name, lanes, infilling in (
        ("duel", ("ar", "sjd"), None),
        ("part", ("ar", "assd", "parallel"), part),
    ):
        prompt = "cactus on yellow sand"
        race = race_of(model, lanes, prompt, 7, infilling=infilling)
        with set_clocks():
            text = record(race.trace(list(race)), race.model).dumps()
        (folder / f"{name}.json").write_text(text)
    return folder


@pytest.fixture(scope="session")
def recorded_url(races_folder: Path, model: Held) -> Iterator[str]:
    """A page that opens on a recorded race."""
    with served(model, races_folder) as url:
        yield url


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[LiveRace]:
    """The races that were asked to stop."""
    asked: list[LiveRace] = []
    stop = LiveRace.stop
    monkeypatch.setattr(LiveRace, "stop", lambda race: [stop(race), asked.append(race)])
    return asked


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`python app.py`, with the model that came with the repository."""
    start = ["app.py"]
    if os.environ.keys() & {"TEST_CLOCK_SEED", "SOAK_SEED"}:  # it is as slow as the others are
        code = "import runpy, tests.conftest, tests.browser.delays; "
        start = ["-c", code + "runpy.run_path('app.py', run_name='__main__')"]
    output = tmp_path_factory.mktemp("app") / "output.txt"
    with free_port() as port, output.open("w") as file:
        url = f"http://127.0.0.1:{port}/"
        app = subprocess.Popen(
            [sys.executable, *start],
            cwd=ROOT,
            env={**os.environ, "GRADIO_SERVER_PORT": str(port)},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until(lambda: answers(url) or app.poll() is not None)
            assert app.poll() is None, output.read_text()
            yield url
        finally:
            app.terminate()
            app.wait(300)


@pytest.fixture(scope="session")
def warm(browser: Browser) -> BrowserContext:
    """What is opened again and again in it has been compiled."""
    context = browser.new_context(permissions=CLIPBOARD)
    context.add_init_script(INSIDE + LASTING)
    return context


@pytest.fixture
def open_page(browser: Browser, warm: BrowserContext) -> Iterator[Callable[..., Page]]:
    """Opens a page: the worker's own, or another beside it if the test has opened that; `fresh` is
    in a context of its own, as a new visitor's, with touch; a `blank` one goes nowhere yet.
    Afterwards nothing may have gone wrong in their consoles, but on a page that was left then, and
    nothing have been requested but of the servers and files opened."""
    complaints: list[str] = []
    leaving: list[str] = []
    origins: list[str] = ["data:", "blob:"]
    pages: list[Page] = []

    def heard(message: ConsoleMessage) -> None:
        alone = message.page is not None and message.page.url.startswith("file:")
        if message.text.startswith(LEFT):
            leaving.append(message.text)
        elif message.type == "error" or (alone and message.type == "warning"):
            complaints.append(message.text)

    def requested(url: str) -> None:
        if not url.startswith(tuple(origins)):
            complaints.append(f"requested {url}")

    listeners = {
        "console": heard,
        "framenavigated": lambda _: leaving.clear(),
        "pageerror": lambda error: complaints.append(str(error)),
        "request": lambda request: requested(request.url),
    }

    def opened(
        url: str,
        width: int = 1400,
        height: int = 1000,
        query: str = "",
        *,
        dark: bool = False,
        still: bool = False,
        fresh: bool = False,
        blank: bool = False,
    ) -> Page:
        parts = urlsplit(url)
        origins.append(url if parts.scheme == "file" else f"{parts.scheme}://{parts.netloc}/")
        if fresh:
            page = browser.new_context(permissions=CLIPBOARD, has_touch=True).new_page()
            page.add_init_script(INSIDE + LASTING)
        else:
            page = warm.new_page() if pages or not warm.pages else warm.pages[0]
        pages.append(page)
        for event, listener in listeners.items():
            page.on(event, listener)
        page.set_default_timeout(PATIENCE)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if still else "no-preference",
        )
        if not blank:
            page.goto(url + query)
            page.wait_for_selector("html[data-opened]")
        return page

    yield opened
    for page in pages:
        if page.is_closed():
            continue
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        if page.context is not warm:
            page.context.close()
        elif page is not warm.pages[0]:
            page.close()
        else:
            page.evaluate("localStorage.clear(), sessionStorage.clear()")
            page.mouse.move(0, 0)
            page.goto("about:blank")
    assert not complaints + leaving


@pytest.fixture
def open_file(open_page: Callable[..., Page], tmp_path: Path) -> Callable[..., Page]:
    """Opens the file of a race: the board alone, which needs no server."""

    def opened(race: RecordedRace, *size: int, **options: object) -> Page:
        file = tmp_path / "race.html"
        file.write_text(standalone(race), "utf-8")
        page = open_page(file.as_uri(), *size, **options)
        prompted(page, race.trace.header.prompt)
        return page

    return opened
