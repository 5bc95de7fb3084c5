"""`python -m cluster --address` on a cluster of two nodes that runs already, one of which is lost.
Each has a core, and so one of the two racers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import ray  # which brings psutil
from gradio_client import Client
from gradio_client.exceptions import AppError
from ray.cluster_utils import Cluster

import psutil  # isort: skip

from cluster.connection import connection
from cluster.page import LOST
from tests.app.conftest import wait_until
from tests.cluster.conftest import patiently
from tests.pages import ROOT
from tests.ports import free_port

PROMPT = "red apple on sky clouds"
PATIENCE = 300  # seconds
# A decoder of the cluster's own; a racer tries the first steps of each before it races.
HELD = """
import time
from pathlib import Path

from engine.decoders.ar import VanillaAR
from engine.decoders.base import Badge


class Held(VanillaAR):
    name, title, default = "held", "Held", False
    idea, paper, badge = "Waits after ten steps.", "none", Badge.SAME_DISTRIBUTION

    def steps(self, *request):
        for i, step in enumerate(super().steps(*request)):
            while i == 10 and not Path(__file__).with_name("go on").exists():
                time.sleep(0.1)
            yield step
"""

pytestmark = pytest.mark.cluster


@dataclass(frozen=True)
class Site:
    cluster: Cluster
    node: Any  # the one beside the head
    url: str
    port: int
    go_on: Path  # a race of the lane "held" waits for this file


def start(cluster: Cluster, port: int, *options: str, **variables: str) -> subprocess.Popen[str]:
    """The command on the cluster, with these environment variables besides."""
    command = [sys.executable, "-m", "cluster", "--address", cluster.address, "--port", str(port)]
    return subprocess.Popen(
        [*command, *options],
        cwd=ROOT,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@contextmanager
def serving(cluster: Cluster, port: int, *options: str, **variables: str) -> Iterator[str]:
    """The page's address."""
    with start(cluster, port, *options, **variables) as process:
        printed = ""
        for line in process.stdout:
            printed += line
            if found := re.search(r"Photo Finish is on (http://\S+) ", line):
                break
        else:
            pytest.fail(f"it does not serve: {printed[-3000:]}")
        try:
            yield found[1]
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, "it ends at SIGTERM as at Ctrl-C"


def refused(cluster: Cluster, port: int, *options: str, **variables: str) -> str:
    """What it says where it cannot start: its last line."""
    with start(cluster, port, *options, **variables) as process:
        printed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, printed
    assert "Traceback" not in printed
    return printed.splitlines()[-1]


def two_nodes() -> tuple[Cluster, Any]:
    """A cluster of a head and a node beside it. Raises an exception where one of them takes too
    long, and leaves none then."""
    options = {"num_cpus": 1, "include_dashboard": False, "wait": False}
    # Ray would take the usual ones, and do without where somebody else has them.
    options |= {"dashboard_port": None, "dashboard_agent_listen_port": 0}
    cluster = Cluster(initialize_head=True, head_node_args=options)
    try:
        return cluster, cluster.add_node(num_cpus=1, wait=False)
    except Exception:
        cluster.shutdown()
        raise


@pytest.fixture(scope="module")
def site(usual_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    (file := tmp_path_factory.mktemp("decoders") / "held.py").write_text(HELD, "utf-8")
    settings = {"PHOTO_FINISH_RACE_SECONDS": "600", "PHOTO_FINISH_DECODERS": str(file)}
    with free_port() as port, ExitStack() as ends:
        cluster, node = patiently(two_nodes)
        ends.callback(cluster.shutdown)
        cluster.wait_for_nodes(PATIENCE)
        page = serving(cluster, port, "--racers", "2", "2", **settings)
        yield Site(cluster, node, ends.enter_context(page), port, file.with_name("go on"))


@pytest.mark.usefixtures("home")
def test_a_cluster_of_its_own_is_started_beside_this_one(
    site: Site, usual_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though Ray finds this one in its usual folder and in the environment, and would join it."""
    assert (usual_folder / "ray_current_cluster").read_text() == site.cluster.address
    monkeypatch.setenv("RAY_ADDRESS", site.cluster.address)
    with ExitStack() as ends:
        patiently(lambda: ends.enter_context(connection(None)))
        assert len(ray.nodes()) == 1
        context = ray.get_runtime_context()
        assert context.gcs_address != site.cluster.address
        folder = Path(context.get_temp_dir()).parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert not folder.is_relative_to(usual_folder.parent)
    assert not folder.exists()
    assert (usual_folder / "ray_current_cluster").read_text() == site.cluster.address
    assert httpx.get(site.url, timeout=PATIENCE).status_code == 200


def test_a_second_page_leaves_the_first_alone(site: Site) -> None:
    """Serve listens on one address, and would replace an application of the same name."""
    with free_port() as other:
        assert f"listens only on 127.0.0.1:{site.port}, not on" in refused(site.cluster, other)
    taken = 'Prefix / is being used by application "photo-finish-'
    assert taken in refused(site.cluster, site.port)
    options = ("--route", "/class", "--racers", "1", "1", "--cpus", "0")
    with serving(site.cluster, site.port, *options) as url:
        assert url == f"{site.url}/class"
        race = Client(url, verbose=False).submit(PROMPT, 7, ["sjd"], api_name="/race")
        assert race.result(PATIENCE)["state"] == "finished"
    assert httpx.get(f"{url}/", timeout=PATIENCE).status_code == 404
    assert httpx.get(site.url, timeout=PATIENCE).status_code == 200


def test_a_wrong_token_is_said_in_words(site: Site, tmp_path: Path) -> None:
    another, none = {"RAY_AUTH_TOKEN": "0" * 64}, {"RAY_AUTH_TOKEN": "", "HOME": str(tmp_path)}

    def said(variables: dict[str, str]) -> str:
        return refused(site.cluster, site.port, **variables)

    with ThreadPoolExecutor(3) as starts:
        tokens = (another, none, none | {"RAY_AUTH_MODE": "disabled"})
        for words in starts.map(said, tokens):
            assert "asks for a token, and this program has no token or a wrong one" in words


def test_a_page_that_is_killed_comes_back(site: Site) -> None:
    processes = psutil.Process().children(recursive=True)
    replica = re.compile("ServeReplica:[^:]+:page")
    (page,) = (each for each in processes if replica.search("".join(each.cmdline())))
    page.kill()
    page.wait(PATIENCE)

    def answers() -> bool:
        try:
            return b"Photo Finish" in httpx.get(site.url, timeout=10).content
        except httpx.TransportError:
            return False

    wait_until(answers)


def test_races_go_on_after_a_node_is_lost(site: Site) -> None:
    # A client gives up its other calls when one of them fails.
    clients = [Client(site.url, verbose=False) for _ in range(3)]
    # One on each node; they do not end before one of these is lost.
    held = [each.submit(PROMPT, 7, ["held"], api_name="/race") for each in clients[:2]]

    def racing(job: Any) -> bool:
        assert not job.done()
        shown = job.outputs()
        return bool(shown) and shown[-1]["state"] == "racing"

    wait_until(lambda: all(map(racing, held)))
    site.cluster.remove_node(site.node, allow_graceful=False)
    wait_until(lambda: any(job.done() for job in held))
    site.go_on.touch()
    ends = []
    for job in held:
        try:
            ends.append(job.result(PATIENCE)["state"])
        except AppError as error:
            ends.append(str(error))
    assert sorted(ends) == sorted([LOST, "finished"])
    race = clients[2].submit(PROMPT, 7, ["sjd"], api_name="/race")
    assert race.result(PATIENCE)["state"] == "finished"
