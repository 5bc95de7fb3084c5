"""`python -m cluster --address` on a cluster of two nodes that runs already, one of which is lost.
Each has a core, and so one of the two racers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import ray
from gradio_client import Client
from gradio_client.exceptions import AppError
from ray.cluster_utils import Cluster

from cluster.connection import connection
from cluster.page import LOST
from tests.app.conftest import wait_until
from tests.cluster.conftest import patiently
from tests.pages import ROOT
from tests.ports import free_port

PROMPT = "red apple on sky clouds"
PATIENCE = 300  # seconds


@dataclass(frozen=True)
class Site:
    cluster: Cluster
    node: Any  # the one beside the head
    url: str
    port: int


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
def site(usual_folder: Path) -> Iterator[Site]:
    with free_port() as port, ExitStack() as ends:
        cluster, node = patiently(two_nodes)
        ends.callback(cluster.shutdown)
        cluster.wait_for_nodes(PATIENCE)
        racers = ("--racers", "2", "2")
        page = serving(cluster, port, *racers, PHOTO_FINISH_RACE_SECONDS="600")
        yield Site(cluster, node, ends.enter_context(page), port)


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
        assert f"listens on 127.0.0.1:{site.port} alone, not on" in refused(site.cluster, other)
    taken = 'Prefix / is being used by application "photo-finish-'
    assert taken in refused(site.cluster, site.port)
    options = ("--route", "/class", "--racers", "1", "1", "--cpus", "0")
    with serving(site.cluster, site.port, *options) as url:
        assert url == f"{site.url}/class"
        race = Client(url, verbose=False).submit(PROMPT, 7, ["sjd"], api_name="/race")
        assert race.result(PATIENCE)["state"] == "finished"
    assert httpx.get(f"{url}/", timeout=PATIENCE).status_code == 404
    assert httpx.get(site.url, timeout=PATIENCE).status_code == 200


@pytest.mark.parametrize("mine", ["another", "none", "disabled"])
def test_a_wrong_token_is_said_in_words(site: Site, tmp_path: Path, mine: str) -> None:
    variables = {"RAY_AUTH_TOKEN": "0" * 64 if mine == "another" else "", "HOME": str(tmp_path)}
    if mine == "disabled":
        variables["RAY_AUTH_MODE"] = mine
    said = refused(site.cluster, site.port, **variables)
    assert "asks for a token, and this program has none or another" in said


def test_races_go_on_after_a_node_is_lost(site: Site) -> None:
    def submit(lanes: list[str]) -> Any:
        # A client gives up its other calls when one of them fails.
        return Client(site.url, verbose=False).submit(PROMPT, 7, lanes, api_name="/race")

    def racing(job: Any) -> bool:
        shown = job.outputs()
        return bool(shown) and shown[-1]["state"] == "racing"

    jobs = [submit(["ar"] * 4) for _ in range(2)]  # one on each node
    wait_until(lambda: all(map(racing, jobs)))
    site.cluster.remove_node(site.node, allow_graceful=False)
    ends = []
    for job in jobs:
        try:
            ends.append(job.result(300)["state"])
        except AppError as error:
            ends.append(str(error))
    assert sorted(ends) == sorted([LOST, "finished"])
    assert submit(["sjd"]).result(300)["state"] == "finished"
