"""A cluster of this machine: two racers of a toy and the page, for the whole module."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cluster.__main__ import LOCAL

os.environ.update(LOCAL)  # before ray is imported
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # none is left in the home folder

import pytest
import ray
from ray import serve
from ray.serve.handle import DeploymentHandle

from app.page.handlers import Races
from cluster import page, racer
from cluster.page import ClusterPool
from tests.app.conftest import NONE_RECORDED
from tests.cluster.toys import Ledger, pools


@dataclass(frozen=True)
class Cluster:
    url: str
    ledger: Ledger
    racer: DeploymentHandle

    def races(self, *, apart: bool = False) -> Races:
        """The page's handlers, over the racers."""
        # Ray waits in no thread that runs an event loop, as Playwright leaves this one after the
        # browser's tests.
        with ThreadPoolExecutor(1) as thread:
            models = thread.submit(self.racer.models.remote().result, timeout_s=60).result()
        return Races(ClusterPool(self.racer, models, 2, apart), NONE_RECORDED)

    def actors(self) -> list[str]:
        """Of every kind, without what is behind the last #, which is each replica's own."""
        named = ray.util.list_named_actors(all_namespaces=True)
        return sorted(each["name"].rpartition("#")[0] or each["name"] for each in named)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("ledger")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port, "request_timeout_s": None})
        racers = racer.deployment(2, 2, 0.5, 0).bind(pools(folder))
        serve.run(page.deployment().bind(racers, 2, False))
        handle = serve.get_deployment_handle("racer", "default")
        yield Cluster(f"http://127.0.0.1:{port}", Ledger(folder), handle)
    finally:
        serve.shutdown()
        ray.shutdown()
