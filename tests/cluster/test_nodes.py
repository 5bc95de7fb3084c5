"""`python -m cluster --address` on a cluster of two nodes that runs already, one of which is lost.
Each has a core, and so one of the two racers."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import ray
from gradio_client import Client
from gradio_client.exceptions import AppError
from ray.cluster_utils import Cluster

from cluster.page import LOST
from tests.app.conftest import wait_until
from tests.pages import ROOT

PROMPT = "red apple on sky clouds"


@dataclass(frozen=True)
class Site:
    cluster: Cluster
    node: Any  # the one beside the head
    url: str


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    options = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=options)
    try:
        node = cluster.add_node(num_cpus=1)
        command = [sys.executable, "-m", "cluster", "--address", cluster.address, "--port", port]
        with subprocess.Popen(
            [*command, "--racers", "2", "2"],
            cwd=ROOT,
            env=os.environ | {"PHOTO_FINISH_RACE_SECONDS": "600"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as serving:
            try:
                printed = ""
                for line in serving.stdout:
                    printed += line
                    if found := re.search(r"Photo Finish is on (http://\S+) ", line):
                        yield Site(cluster, node, found[1])
                        break
                else:
                    pytest.fail(f"it does not serve: {printed[-3000:]}")
            finally:
                serving.terminate()
                serving.communicate(timeout=120)
    finally:
        ray.shutdown()
        cluster.shutdown()


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
