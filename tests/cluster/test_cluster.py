"""Races of the page's handlers over two racers of a local Ray cluster."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import urllib.error
import urllib.request
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import httpx
import pytest
import ray  # which brings psutil

import psutil  # isort: skip

from app.races.races import Races
from app.settings import SETTINGS
from cluster.page import LOST
from engine.trace import StepTable
from engine.trace.seconds import PARTS
from tests.app.conftest import NONE_RECORDED, VISITOR, begin, begun, form, raced, wait_until
from tests.cluster.conftest import Cluster
from tests.cluster.toys import NEEDS, pools
from tests.engine.trace.reread import reread
from tests.mcp_client import tool
from visualize.pictures.recorded_race import RecordedRace

LANES = ("ar", "sjd", "gsd")


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


@pytest.fixture
def races(cluster: Cluster) -> Races:
    return cluster.races()


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


@pytest.mark.parametrize("stop", ["closed", "stopped"])
def test_a_race_that_ends_here_ends_there_within_two_steps(cluster, races, stop) -> None:
    visitor = VISITOR if stop == "stopped" else SimpleNamespace(session_hash="")  # a program
    boards = begin(races, visitor, prompt="slow")
    race_id = next(boards).id
    wait_until(lambda: [next(boards), cluster.ledger.racing()][1])
    passes = cluster.ledger.total()["."]
    if stop == "stopped":
        races.stop(race_id, "", VISITOR.session_hash)
        list(boards)
    boards.close()
    wait_until(lambda: not cluster.ledger.racing())
    assert cluster.ledger.total()["."] - passes <= 2
    assert list(begun(races))[-1].state == "finished"


def test_fifty_visitors_at_once(cluster, races) -> None:
    """While two races hold the racers: as many as the queue lets in wait, and then race."""
    list(begin(races))  # what is started once is there
    before, threads = cluster.actors(), set(threading.enumerate())
    holders = [begin(races, SimpleNamespace(session_hash=f"h{i}"), prompt="slow") for i in (1, 2)]
    held = [next(holder).id for holder in holders]
    watching = [threading.Thread(target=list, args=(holder,)) for holder in holders]
    for thread in watching:
        thread.start()
    wait_until(lambda: len(cluster.ledger.racing()) == 2)
    opened = cluster.ledger.total()
    ends, ids = dict[int, str](), dict[int, str]()

    def visit(i: int) -> None:
        values = form(seed=i, lanes=("ar",))
        try:
            live = races.start(str(i), f"10.0.0.{i}", races.read(values))
            last = list(filter(None, live.watch()))[-1]
            ends[i], ids[i] = last.state, last.id
        except gr.Error as error:
            ends[i] = error.message

    visits = [threading.Thread(target=visit, args=(i,)) for i in range(50)]
    for thread in visits:
        thread.start()
    wait_until(lambda: len(ends) == 50 - SETTINGS.queue_size)
    assert all("more are not let in" in end for end in ends.values())
    rejected = set(ends)
    for race_id in held:
        races.find(race_id).stop()
    for thread in (*watching, *visits):
        thread.join()
    assert {i for i in ends if ends[i] == "finished"} == set(range(50)) - rejected
    for i in range(50):
        stored = races.find(ids.get(i), str(i))
        assert (stored is None) == (i in rejected)
        assert stored is None or stored.recording.trace.header.seed == i
    wait_until(lambda: not cluster.ledger.racing())
    now, begun_before = cluster.ledger.total(), 2 * len(form()["lanes"])
    assert SETTINGS.queue_size <= now["+"] - opened["+"] <= SETTINGS.queue_size + begun_before
    wait_until(lambda: set(threading.enumerate()) <= threads)
    assert cluster.actors() == before


def test_metrics_are_on_rays_own_endpoint(cluster, races) -> None:
    with pytest.raises(gr.Error):
        next(begin(races, model="giant"))
    list(begin(races, lanes=("gsd",)))
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


def test_the_page_has_all_that_a_page_without_a_cluster_has(cluster) -> None:
    """MCP in JSON without a redirect, its board's script, and limits."""
    arguments = {"prompt": "red apple", "seed": 7, "lanes": ["ar", "sjd"]}
    tools, answer = tool(f"{cluster.url}/", **arguments)
    assert [each.name for each in tools] == ["race"]
    assert [lane["state"] for lane in answer.structuredContent["lanes"]] == ["finished"] * 2
    assert json.loads(answer.content[0].text) == answer.structuredContent
    with httpx.Client(base_url=cluster.url, timeout=300) as client:
        page = client.get("/")
        assert page.headers["x-content-type-options"] == "nosniff"
        (path,) = set(re.findall(r"/files/[0-9a-f]{16}/page\.js", page.text))
        assert client.get(path).text.endswith("export { mountPage };\n")
        assert client.post("/gradio_api/call/race", content=b"x" * 2**26).status_code == 413


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


# The last two, since they end replicas.


def test_a_killed_racer_ends_its_race_in_words_and_the_next_runs(cluster, races) -> None:
    events = begin(races, prompt="slow")
    wait_until(lambda: [next(events), cluster.ledger.racing()][1])
    (pid,) = cluster.ledger.racing()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(gr.Error, match=re.escape(LOST)):
        list(events)
    (cluster.ledger.folder / str(pid)).unlink()
    assert list(begun(races))[-1].state == "finished"


def test_a_page_that_is_killed_comes_back(cluster) -> None:
    named = ray.util.list_named_actors(all_namespaces=True)
    (page,) = (each for each in named if "#page#" in each["name"])
    ray.kill(ray.get_actor(**page), no_restart=False)

    def answers() -> bool:
        names = [each["name"] for each in ray.util.list_named_actors(all_namespaces=True)]
        if page["name"] in names:
            return False
        try:
            with urllib.request.urlopen(cluster.url, timeout=10) as answer:
                return b"Photo Finish" in answer.read()
        except (urllib.error.URLError, TimeoutError):
            return False

    wait_until(answers)
