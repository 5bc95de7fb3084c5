"""The page of a cluster without Ray: its racers are threads of this process."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn
from fastapi import FastAPI

from app.api.request_guard import MAX_BODY
from app.models.model_loader import ModelLoader
from app.models.model_pool import Device, ModelPool
from app.workers.race_stream import WorkerEvents
from cluster.page import Page, mount
from engine.race import RaceRequest
from tests.app.conftest import Watched, wait_until
from tests.cluster.toys import Handle, Ledger, Racing, card, request
from tests.coroutines import run
from tests.mcp_client import tool
from tests.ports import free_port

RACERS = 45  # more than the 28 calls that one device has at a time, and than Gradio's 40
PATIENCE = 300  # seconds


class Racers(ModelPool):
    """Racers of one and the same race, which goes on for none before each of them has it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ModelLoader(Watched), card("toy"))
        self.at_once = {Device.CLUSTER: RACERS}
        self.racing = threading.Barrier(RACERS)
        self.events = list(Racing(Ledger(folder), request("ar")))

    def device(self, name: str) -> Device:
        return Device.CLUSTER

    def wait(self, name: str, seconds: float) -> bool:
        return True

    def run(self, _: RaceRequest) -> WorkerEvents:
        self.racing.wait(PATIENCE)
        yield from self.events


@contextmanager
def served(app: FastAPI) -> Iterator[httpx.Client]:
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    with free_port() as port:
        server.config.port = port
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            wait_until(lambda: server.started)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


def test_calls_of_programs_fill_every_racer(tmp_path: Path) -> None:
    with served(mount(Racers(tmp_path))) as client, ThreadPoolExecutor(RACERS) as calls:

        def race(seed: int) -> str:
            values = {"data": ["a prompt", seed, ["ar"]]}
            event = client.post("/gradio_api/call/race", json=values).json()["event_id"]
            *_, last = client.get(f"/gradio_api/call/race/{event}").text.strip().split("data: ")
            return json.loads(last)[0]["state"]

        assert list(calls.map(race, range(RACERS))) == ["finished"] * RACERS


def test_it_has_all_that_a_page_without_a_cluster_has(tmp_path: Path) -> None:
    """MCP in JSON without a redirect, its board's script, and limits."""
    page = Page.__new__(Page)
    run(page.__init__(Handle(Ledger(tmp_path)), 2, False))  # as Serve awaits it
    with served(page.__serve_build_asgi_app__()) as client:
        arguments = {"prompt": "red apple", "seed": 7, "lanes": ["ar", "sjd"]}
        tools, answer = tool(f"{client.base_url}/", **arguments)
        assert [each.name for each in tools] == ["race"]
        assert [lane["state"] for lane in answer.structuredContent["lanes"]] == ["finished"] * 2
        assert json.loads(answer.content[0].text) == answer.structuredContent
        opened = client.get("/")
        assert opened.headers["x-content-type-options"] == "nosniff"
        (path,) = set(re.findall(r"/files/[0-9a-f]{16}/page\.js", opened.text))
        assert client.get(path).text.endswith("export { mountPage };\n")
        body = b"x" * (MAX_BODY + 1)
        assert client.post("/gradio_api/call/race", content=body).status_code == 413
