"""`python -m cluster --address` on a cluster of two nodes that runs already, one of which is lost.
Each has a core, and so one of the two racers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import ray
from gradio_client import Client
from gradio_client.exceptions import AppError
from ray.cluster_utils import Cluster

from cluster.__main__ import connection
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
        command = [sys.executable, "-m", "cluster", "--address", cluster.address]
        serving = subprocess.Popen(
            [*command, "--port", str(port), "--racers", "2", "2"],
            cwd=ROOT,
            env=os.environ | {"PHOTO_FINISH_RACE_SECONDS": "600"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        ends.enter_context(serving)
        ends.callback(serving.terminate)
        printed = ""
        for line in serving.stdout:
            printed += line
            if found := re.search(r"Photo Finish is on (http://\S+) ", line):
                break
        else:
            pytest.fail(f"it does not serve: {printed[-3000:]}")
        yield Site(cluster, node, found[1])
        serving.terminate()
        serving.communicate(timeout=PATIENCE)
        assert serving.returncode == 0, "it ends at SIGTERM as at Ctrl-C"


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
