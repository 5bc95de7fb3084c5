"""The page's races over two racers that are threads of this process, without Ray."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from ray.exceptions import RayActorError
from ray.serve.exceptions import DeploymentUnavailableError

import app.races.race_runner
from app.races.races import Races
from app.settings import SETTINGS
from cluster.page import LOST, ClusterPool
from tests.app.conftest import NONE_RECORDED, begin, begun, form, wait_until
from tests.cluster.toys import NEEDS, Handle, Ledger, Racing, until_threads_end
from tests.coroutines import run

RACERS = 2


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def races_of(handle: Handle, *, apart: bool = False) -> Races:
    return Races(ClusterPool(handle, run(handle.models.remote()), RACERS, apart), NONE_RECORDED)


@pytest.fixture
def handle(ledger: Ledger) -> Handle:
    return Handle(ledger)


@pytest.fixture
def races(handle: Handle) -> Races:
    return races_of(handle)


def last(races: Races, **values: object) -> Any:
    """A race's last board."""
    return list(begun(races, **values))[-1]


def test_a_race_asks_for_a_racer_that_has_its_model(handle, races) -> None:
    assert last(races, model="other").state == "finished"
    assert handle.asked == [("other", ("ar", "sjd"))]


def test_lanes_apart_ask_for_no_warm_racer_and_for_one_where_they_are_too_many(handle) -> None:
    races = races_of(handle, apart=True)
    assert last(races).apart
    assert handle.asked == [("", ("ar",)), ("", ("sjd",))]
    handle.asked.clear()
    for lanes in (("ar", "sjd", "gsd"), ("ar",)):
        assert not last(races, lanes=lanes).apart
    assert handle.asked == [("toy", ("ar", "sjd", "gsd")), ("toy", ("ar",))]


def test_a_model_that_does_not_fit_is_rejected_and_no_racer_is_asked(handle, races) -> None:
    with pytest.raises(gr.Error, match=NEEDS):
        next(begin(races, model="giant"))
    assert not handle.asked


@pytest.mark.parametrize("error", [RayActorError(), DeploymentUnavailableError("racer")])
def test_a_race_that_is_lost_ends_in_words_and_the_next_runs(ledger, error) -> None:
    errors = iter([error])
    races = races_of(Handle(ledger, lambda race: Racing(ledger, race, next(errors, None))))
    with pytest.raises(gr.Error) as caught:
        list(begin(races))
    assert caught.value.message == LOST
    assert last(races).state == "finished"


def test_fifty_visitors_at_once(races, ledger, monkeypatch) -> None:
    """While two races hold the racers: as many as the queue lets in wait, and then race."""
    monkeypatch.setattr(app.races.race_runner, "POLL_SECONDS", 0.05)
    values = races.read(form(prompt="held", lanes=("ar",)))
    holders = [races.start(f"holder {i}", f"10.0.1.{i}", values) for i in range(RACERS)]
    watching = [threading.Thread(target=list, args=(each.watch(),)) for each in holders]
    for thread in watching:
        thread.start()
    wait_until(lambda: ledger.total()["+"] == RACERS)
    ends, ids = dict[int, str](), dict[int, str]()

    def visit(i: int) -> None:
        try:
            live = races.start(str(i), f"10.0.0.{i}", races.read(form(seed=i, lanes=("ar",))))
            board = list(filter(None, live.watch()))[-1]
            ends[i], ids[i] = board.state, board.id
        except gr.Error as error:
            ends[i] = error.message

    visits = [threading.Thread(target=visit, args=(i,)) for i in range(50)]
    for thread in visits:
        thread.start()
    wait_until(lambda: len(ends) == 50 - SETTINGS.queue_size)
    assert all("races are waiting" in end for end in ends.values())
    rejected = set(ends)
    for holder in holders:
        holder.stop()
    for thread in (*watching, *visits):
        thread.join()
    assert {i for i in ends if ends[i] == "finished"} == set(range(50)) - rejected
    for i in range(50):
        stored = races.find(ids.get(i), str(i))
        assert (stored is None) == (i in rejected)
        assert stored is None or stored.recording.trace.header.seed == i
    until_threads_end()
    assert ledger.total()["+"] == RACERS + SETTINGS.queue_size
    assert not ledger.racing()
