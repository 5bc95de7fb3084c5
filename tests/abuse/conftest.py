"""The running page as an attacker meets it: HTTP without a browser, and a look inside the server to
see what was left behind."""

from __future__ import annotations

import gc
import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import pytest

import app.races.races
from app.page.layout import build
from app.settings import AppSettings
from engine.trace import LaneState
from tests.app.conftest import NONE_RECORDED, Watched, ready_pool, wait_until
from tests.browser.servers import launched

KEPT = 8  # visitors whom the page remembers, so that few show what it would not forget
PAGE_SIZE = 4096
SECRETS = (b"root:x:0:0", b"from app.page.launch import", b"emoji>=2.16", b"PATH=", b"PRIVATE KEY")
TARGETS = (
    *("/etc/passwd", "/proc/self/environ", "app.py", "requirements.txt", "~/.ssh/id_rsa"),
    *(str(Path(__file__).parents[2] / name) for name in ("app.py", ".git/config")),
)
CHECKOUT = str(Path(__file__).parents[2])  # a message that names it leaks where the page lies


@dataclass
class Site:
    """A page over a toy: its address, what serves it, and the fields of a race as the page itself
    would send them."""

    url: str
    demo: gr.Blocks
    model: Watched
    client: httpx.Client
    fields: list[Any] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # of every event, by its name

    def __post_init__(self) -> None:
        config = self.client.get("/config").json()
        values = {each["id"]: each["props"] for each in config["components"]}
        self.numbers = {each["api_name"]: each["id"] for each in config["dependencies"]}
        board = next(each for each in config["dependencies"] if each["api_name"] == "board")
        inputs = board["inputs"]
        self.fields = [values[number].get("value") for number in inputs]
        self.labels = [values[number].get("label") or "" for number in inputs]

    def race_values(
        self, prompt: object = "red apple", seed: object = 7, lanes: object = ("ar", "sjd")
    ) -> list[Any]:
        return [prompt, seed, list(lanes) if isinstance(lanes, tuple) else lanes, *self.fields[3:]]

    def post(self, values: list[Any], name: str = "board") -> httpx.Response:
        body, kind = json.dumps({"data": values}), {"content-type": "application/json"}
        return self.client.post(f"/gradio_api/call/{name}", content=body, headers=kind)

    def call(self, values: list[Any], name: str = "board") -> tuple[str, Any]:
        """The last event of a call and its data; ("rejected", the server's words) where it was not
        let in."""
        answer = self.post(values, name)
        if answer.status_code != 200:
            return "rejected", answer.text
        events = self.client.get(f"/gradio_api/call/{name}/{answer.json()['event_id']}").text
        lines = events.replace("event: heartbeat", "").splitlines()
        last = max(i for i, line in enumerate(lines) if line.startswith("event: "))
        event, data = lines[last][7:], json.loads(lines[last + 1][6:])
        watched = event == "complete" and name == "board" and isinstance(data[0], dict)
        return self._watch(data[0]["race"]) if watched else (event, data)

    def _watch(self, race: str) -> tuple[str, Any]:
        """A race from its stream, to its end: how it is kept; ("error", its message) where it is
        not."""
        *_, last = map(json.loads, self.events(race))
        kept = self.events(race)
        return ("complete", [json.loads(kept[0])]) if kept else ("error", {"error": last["note"]})

    def events(self, race: str) -> list[str]:
        """The data of all events of a race's stream."""
        text = self.client.get(f"/races/{race}/events").text
        return [line[6:] for line in text.splitlines() if line.startswith("data: ")]

    def rejection(self, values: list[Any], name: str = "board") -> str:
        """The message of a rejected race. Fails if it races, or without a message."""
        event, data = self.call(values, name)
        assert event == "error", (event, values)
        return words(data, name)

    def races(self) -> None:
        """The page still does what it is for."""
        event, data = self.call(self.race_values())
        assert event == "complete", data
        assert [lane["state"] for lane in data[0]["lanes"]] == [LaneState.FINISHED.value] * 2

    def idle(self) -> bool:
        """Nothing races, waits or is held."""
        queue = self.demo._queue
        return not (
            self.model.open
            or any(thread.name.startswith("race ") for thread in threading.enumerate())
            or self.demo.app.iterators
            or len(queue)
            or any(filter(None, queue.active_jobs))
        )


class Trap(threading.Thread):
    """A server of somebody else's, which counts who calls it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/secret.json"
        self.calls = 0

    def run(self) -> None:
        while True:
            try:
                caller, _ = self.socket.accept()
            except OSError:
                return
            self.calls += 1
            caller.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nroot:x:0:0")
            caller.close()


@pytest.fixture
def trap() -> Iterator[Trap]:
    trap = Trap()
    trap.start()
    yield trap
    trap.socket.close()


def words(data: Any, name: str = "board") -> str:
    """The words of an error, which the page shows as HTML and a program as text. It says nothing of
    an exception that nobody meant for a visitor."""
    assert isinstance(data, dict), f"an exception that nobody caught: {data}"
    assert data.get("error"), f"an exception that nobody caught: {data}"
    text = data["error"]
    assert 10 < len(text) < 1000
    assert not any(each in text for each in ("Traceback", " at 0x", CHECKOUT, ".py", "Errno"))
    assert "&lt;" not in text if name in ("race", "fill_in") else "<" not in text
    return text


@contextmanager
def open_site(model: Watched, kept: int = KEPT) -> Iterator[Site]:
    """Afterwards it still races, whatever was done to it, and then nothing is left of any race.
    `kept`: visitors whom the page remembers."""
    limits = httpx.Limits(max_connections=100)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # its own: other pages on the machine clean the usual one
        patch.setenv("GRADIO_TEMP_DIR", folder)
        patch.setattr(app.races.races, "SETTINGS", AppSettings(kept_races=kept))
        demo = build(ready_pool(model), NONE_RECORDED)
        with (
            launched(demo, state_session_capacity=kept) as url,
            httpx.Client(base_url=url, timeout=300, limits=limits) as client,
        ):
            site = Site(url, demo, model, client)
            yield site
            site.races()
            wait_until(site.idle)


@pytest.fixture(scope="package")
def site() -> Iterator[Site]:
    with open_site(Watched()) as site:
        yield site


def resident() -> float:
    """The MiB that this process, which is the server too, has in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_SIZE / 2**20
