"""Races of the page's handlers over two racers of a local Ray cluster: the one cluster of `make
test`, which starts with this file and ends with it. What needs no Ray is in test_pool.py,
test_racer.py and test_page.py, what needs several nodes in test_nodes.py."""

from __future__ import annotations

import logging
import os
import re
import signal
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
import ray  # which brings psutil
from ray import serve
from ray.serve.handle import DeploymentHandle

import psutil  # isort: skip

from app.races.races import Races
from cluster import page, racer
from cluster.page import LOST, ClusterPool
from engine.trace import StepTable
from engine.trace.seconds import PARTS
from tests.app.conftest import NONE_RECORDED, VISITOR, begin, begun, raced, wait_until
from tests.cluster.conftest import patiently
from tests.cluster.toys import NEEDS, Ledger, pools, until_threads_end
from tests.engine.trace.reread import reread
from tests.mcp_client import tool
from tests.ports import free_port
from visualize.pictures.recorded_race import RecordedRace

pytestmark = pytest.mark.cluster
LANES = ("ar", "sjd", "gsd")


@dataclass(frozen=True)
class Cluster:
    """Two racers of a toy, and the page."""

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


@pytest.fixture(scope="module")
def cluster(usual_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("ledger")
    options = {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False}
    with free_port() as port, ExitStack() as ends:
        ends.callback(ray.shutdown, wait_for_processes=True)
        patiently(lambda: ray.init("local", **options, logging_level=logging.ERROR))
        serve.start(http_options={"host": "127.0.0.1", "port": port, "request_timeout_s": None})
        racers = racer.deployment(2, 2, 0.5, 0).bind(pools(folder))
        serve.run(page.deployment().bind(racers, 2, False))
        handle = serve.get_deployment_handle("racer", "default")
        yield Cluster(f"http://127.0.0.1:{port}", Ledger(folder), handle)


@pytest.fixture
def races(cluster: Cluster) -> Races:
    return cluster.races()


def facts(race: RecordedRace) -> object:
    """Of each lane its steps but for their times, and its picture; of the race all but the prompt,
    which a toy does not read."""
    assert race.pictures is not None
    lanes = range(len(race.trace.header.lanes))
    header = replace(race.trace.header, prompt="")
    return header, race.pictures, [without_times(race.trace.table(i)) for i in lanes]


def without_times(table: StepTable) -> list[bytes]:
    steps = table.steps.copy()
    for part in PARTS:
        steps[part] = 0
    return [(table.arrays() | {"steps": steps})[name].tobytes() for name in table.arrays()]


def here(folder: Path, lanes: tuple[str, ...]) -> RecordedRace:
    """The race in this process, as a file brings it."""
    recording = raced(Races(pools(folder)(), NONE_RECORDED), lanes=lanes).recording
    return replace(recording, trace=reread(recording.trace))


def test_a_race_on_the_cluster_is_the_race_in_the_process(races, tmp_path) -> None:
    boards = list(begun(races, lanes=LANES))
    kept = races.kept(boards[-1].id, VISITOR.session_hash).recording
    assert facts(kept) == facts(here(tmp_path, LANES))
    assert boards[-1].state == "finished"
    assert not any(board.apart for board in boards)


def test_lanes_on_racers_of_their_own_run_the_same_race(cluster, tmp_path) -> None:
    races, before = cluster.races(apart=True), cluster.ledger.read()
    board = list(begun(races, lanes=LANES[:2], prompt="at once"))[-1]
    kept = races.kept(board.id, VISITOR.session_hash).recording
    assert facts(kept) == facts(here(tmp_path, LANES[:2]))
    assert (board.apart, board.state) == (True, "finished")
    raced = [pid for pid, now in cluster.ledger.read().items() if now != before.get(pid)]
    assert len(raced) == 2


def test_a_model_that_does_not_fit_is_rejected_before_anything_is_loaded(cluster, races) -> None:
    with pytest.raises(gr.Error, match=NEEDS):
        next(begin(races, model="giant"))
    assert cluster.ledger.total()["g"] == 0


def test_a_race_goes_where_its_model_is_loaded(cluster, races) -> None:
    for seed in range(6):
        assert list(begun(races, seed=seed, model="other"))[-1].state == "finished"
    assert cluster.ledger.total()["o"] == 1


def test_two_races_have_a_racer_each_and_end_there_with_the_step_when_they_are_stopped(
    cluster, races
) -> None:
    list(begun(races))  # what is started once is there
    before, passes = cluster.actors(), cluster.ledger.total()["."]
    visitors = [SimpleNamespace(session_hash=f"visitor {i}") for i in range(2)]
    boards = [begin(races, each, prompt="held", lanes=("ar",)) for each in visitors]
    ids = [next(each).id for each in boards]
    wait_until(lambda: [*map(next, boards), len(cluster.ledger.racing()) == 2][-1])
    for race_id, visitor in zip(ids, visitors, strict=True):
        races.stop(race_id, "", visitor.session_hash)
    assert [list(each)[-1].state for each in boards] == ["stopped"] * 2
    wait_until(lambda: not cluster.ledger.racing())
    assert cluster.ledger.total()["."] - passes == 2
    assert list(begun(races))[-1].state == "finished"
    until_threads_end()
    assert cluster.actors() == before


def test_metrics_are_on_rays_own_endpoint(races) -> None:
    list(begun(races, lanes=("gsd",)))
    (node,) = ray.nodes()
    url = f"http://127.0.0.1:{node['MetricsExportPort']}/metrics"

    patterns = (
        r'photo_finish_races_total{.*end="finished".*model="toy".*} [1-9]',
        r"photo_finish_queue{.*} 0",
        r'photo_finish_lanes_total{.*decoder="gsd",end="finished".*} [1-9]',
        r'photo_finish_lane_seconds_total{.*decoder="gsd".*} [0-9.e-]*[1-9]',
    )

    def shown() -> bool:
        text = urllib.request.urlopen(url, timeout=300).read().decode()
        return all(re.search(pattern, text) for pattern in patterns)

    wait_until(shown)


def test_a_program_races_over_the_page_that_serve_serves(cluster) -> None:
    arguments = {"prompt": "red apple", "seed": 7, "lanes": ["ar", "sjd"]}
    _, answer = tool(f"{cluster.url}/", **arguments)
    assert [lane["state"] for lane in answer.structuredContent["lanes"]] == ["finished"] * 2


def test_nothing_but_a_replicas_own_port_listens_beyond_this_machine(cluster) -> None:
    """Ray binds that one, guarded by its token, to every address, and has no setting for it."""
    beyond, replicas = Counter[int](), set[int]()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # a worker that Ray needed no more
            if "ServeReplica" in "".join(process.cmdline()):
                replicas.add(process.pid)
            beyond[process.pid] += sum(
                each.status == psutil.CONN_LISTEN
                and each.laddr.ip.removeprefix("::ffff:") not in ("127.0.0.1", "::1")
                for each in process.net_connections("tcp")
            )
    assert +beyond == Counter(replicas)
    assert len(replicas) == 3


# The last one, since it ends a replica.


def test_a_killed_racer_ends_its_race_in_words_and_the_next_runs(cluster, races) -> None:
    events = begin(races, prompt="held")
    wait_until(lambda: [next(events), cluster.ledger.racing()][1])
    (pid,) = cluster.ledger.racing()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(gr.Error, match=re.escape(LOST)):
        list(events)
    (cluster.ledger.folder / str(pid)).unlink()
    assert list(begun(races))[-1].state == "finished"
