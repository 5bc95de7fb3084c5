"""The page of a cluster without Ray: its racers are threads of this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import uvicorn

from app.models.model_loader import ModelLoader
from app.models.model_pool import Device, ModelPool
from app.workers.race_stream import RaceStream, Recording, WorkerEvents
from cluster.page import mount
from engine.race import Race, RaceRequest
from tests.app.conftest import Watched, toy_card, wait_until
from tests.ports import free_port

RACERS = 45  # more than the 28 calls that one device has at a time, and than Gradio's 40
PATIENCE = 300  # seconds


class Racers(ModelPool):
    """Races over a toy, of which none goes on before every racer has one."""

    def __init__(self) -> None:
        super().__init__(ModelLoader(Watched), toy_card(Watched()))
        self.at_once = {Device.CLUSTER: RACERS}
        self.racing = threading.Barrier(RACERS)

    def device(self, name: str) -> Device:
        return Device.CLUSTER

    def wait(self, name: str, seconds: float) -> bool:
        return True

    def run(self, request: RaceRequest) -> WorkerEvents:
        self.racing.wait(PATIENCE)
        stream = RaceStream(Race(Watched(), request), "", PATIENCE)
        yield from stream.events()
        yield Recording(stream.recording().dumps())


@contextmanager
def served(pool: ModelPool) -> Iterator[httpx.Client]:
    server = uvicorn.Server(uvicorn.Config(mount(pool), log_config=None))
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


def test_calls_of_programs_fill_every_racer() -> None:
    with served(Racers()) as client, ThreadPoolExecutor(RACERS) as calls:

        def race(seed: int) -> str:
            values = {"data": ["a prompt", seed, ["ar"]]}
            event = client.post("/gradio_api/call/race", json=values).json()["event_id"]
            *_, last = client.get(f"/gradio_api/call/race/{event}").text.strip().split("data: ")
            return json.loads(last)[0]["state"]

        assert list(calls.map(race, range(RACERS))) == ["finished"] * RACERS
