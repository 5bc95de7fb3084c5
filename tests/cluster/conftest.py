"""A cluster of this machine: two racers of a toy and the page, for the whole module. It is the
tests' own, whatever other clusters run beside them."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.connection import LOCAL, ray_folder

os.environ.update(LOCAL)  # before ray is imported
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # none is left in the home folder

import pytest
import ray
from ray import serve
from ray.serve.handle import DeploymentHandle

from app.races.races import Races
from cluster import page, racer
from cluster.page import ClusterPool
from tests.app.conftest import NONE_RECORDED
from tests.cluster.toys import Ledger, pools
from tests.ports import free_port


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
            models = thread.submit(self.racer.models.remote().result, timeout_s=300).result()
        return Races(ClusterPool(self.racer, models, 2, apart), NONE_RECORDED)

    def actors(self) -> list[str]:
        """Of every kind, without what is behind the last #, which is each replica's own."""
        named = ray.util.list_named_actors(all_namespaces=True)
        return sorted(each["name"].rpartition("#")[0] or each["name"] for each in named)


def patiently(start: Callable[[], Any]) -> Any:
    """Starts a node of Ray, which gives it half a minute and has no setting for that: too little
    for a machine on which two suites run."""
    for _ in range(5):
        try:
            return start()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return start()


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A home folder, and the usual umask, for a program that changes what is in the one and the
    other."""
    monkeypatch.setenv("HOME", str(tmp_path))
    umask = os.umask(0o022)
    yield tmp_path
    os.umask(umask)


@pytest.fixture(scope="module")
def usual_folder() -> Iterator[Path]:
    """Where Ray starts a cluster if it gets no other folder, and finds one to join: the tests'
    alone."""
    with ray_folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        yield Path(folder) / "ray"


@pytest.fixture(scope="module")
def cluster(usual_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("ledger")
    options = {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False}
    with free_port() as port, ExitStack() as ends:
        ends.callback(ray.shutdown, wait_for_processes=True)
        patiently(lambda: ray.init("local", **options, logging_level=logging.ERROR))
        ends.callback(serve.shutdown)  # without a connection it would look for a cluster
        serve.start(http_options={"host": "127.0.0.1", "port": port, "request_timeout_s": None})
        racers = racer.deployment(2, 2, 0.5, 0).bind(pools(folder))
        serve.run(page.deployment().bind(racers, 2, False))
        handle = serve.get_deployment_handle("racer", "default")
        yield Cluster(f"http://127.0.0.1:{port}", Ledger(folder), handle)
