"""Races on ZeroGPU, with a stand-in for `spaces` that forks and pickles as it does."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from unittest.mock import patch

import gradio as gr
import pytest
import torch

import app.races.live_race
import app.workers.race_stream
from app.models.model_pool import Availability
from app.page.model_choice import describe
from app.races.races import Races
from app.settings import AppSettings
from app.workers import zerogpu
from app.workers.gpu_errors import BUSY, DEVICE_LOST, OUT_OF_MEMORY, QUOTA
from app.workers.race_stream import Idle, Recording
from engine.decoders import DEFAULT
from engine.models.supply.card import CARDS, ModelError
from engine.race import Lane, RaceRequest
from engine.settings import SettingError
from tests.app.conftest import NONE_RECORDED, VISITOR, NoPictures, Watched, toy_pool, wait_until
from tests.app.conftest import begun as begun_on
from tests.app.workers.fake_spaces import Spaces
from tools.judge.toys import Toy
from visualize.board.snapshot import Snapshot, Update

NAME = "janus-pro-1b"


@pytest.fixture
def spaces(monkeypatch) -> Iterator[Spaces]:
    """ZeroGPU, whose workers find a toy where the model's files should be."""
    fake = Spaces()
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setitem(sys.modules, "spaces", fake)
    monkeypatch.setattr(app.workers.race_stream, "SETTINGS", AppSettings(updates=30))
    importlib.reload(zerogpu)
    monkeypatch.setattr(
        zerogpu, "load", lambda name, device, dtype, drafter, graphs, torchscript: Watched()
    )
    yield fake
    monkeypatch.undo()
    importlib.reload(zerogpu)


@pytest.fixture
def races(spaces) -> Races:
    public = {CARDS[NAME]: Availability()}
    pool = toy_pool(Toy(), None, public, lambda name, report: CARDS[name])
    return Races(pool, NONE_RECORDED)


def begun(races: Races, *lanes: str) -> Iterator[object]:
    return begun_on(races, lanes=lanes or ("ar", "sjd"), model=NAME)


def request(*lanes: str, model: str = NAME) -> RaceRequest:
    lanes = tuple(Lane(name) for name in lanes)
    return RaceRequest("red apple", 7, lanes, CARDS[model].sampling, model)


def gone(spaces: Spaces) -> bool:
    return all(not worker.is_alive() for worker in spaces.workers)


def plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(type(name) is str and plain(each) for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return all(plain(each) for each in value)
    return value is None or type(value) in (str, int, float, bool)


def test_a_race_is_one_call_and_its_recording_comes_back(races, spaces) -> None:
    shots = list(begun(races))
    assert [shot.seq for shot in shots[-3:]] == sorted(shot.seq for shot in shots[-3:])
    assert shots[-1].state == "finished"
    assert [lane.n for lane in shots[-1].lanes] == [36, 36]
    assert len(spaces.workers) == 1
    kept = races.kept(shots[-1].id, VISITOR.session_hash).recording
    assert (kept.trace.header.prompt, kept.pictures is not None) == ("red apple", True)
    assert gone(spaces)


def test_a_race_without_memory_for_its_pictures_comes_back(races, spaces, monkeypatch) -> None:
    monkeypatch.setattr(zerogpu, "load", lambda *_, **__: NoPictures())
    shots = list(begun(races))
    assert shots[-1].state == "finished"
    kept = races.kept(shots[-1].id, VISITOR.session_hash).recording
    assert kept.pictures.lanes == (None, None)


def test_only_plain_data_crosses(spaces) -> None:
    events = list(zerogpu.run_race(request("ar", "gsd", "lantern", "sjd-pac")))
    for event in events:
        model = isinstance(event, Snapshot | Update)
        assert plain(event.model_dump(mode="json") if model else dataclasses.astuple(event))
    assert {type(event) for event in events} == {Snapshot, Update, Idle, Recording}
    assert json.loads(events[-1].text)["format"] == "photo-finish-trace"


def test_the_duration_is_the_models_and_the_lanes(spaces, monkeypatch) -> None:
    monkeypatch.setattr(zerogpu, "SETTINGS", AppSettings(gpu_seconds=1200))
    small, more = zerogpu.duration(request("ar")), zerogpu.duration(request("ar", "sjd"))
    large = zerogpu.duration(request("ar", "sjd", model="janus-pro-7b"))
    assert zerogpu.STARTUP_SECONDS < small < more < large
    llamagen = [zerogpu.duration(request("ar", model=f"llamagen-{side}")) for side in (256, 512)]
    assert llamagen == sorted(set(llamagen))
    monkeypatch.setattr(zerogpu, "SETTINGS", AppSettings(gpu_seconds=60))
    assert zerogpu.duration(request("ar", model="emu3")) == 60


def test_the_model_that_the_page_opens_with_is_on_the_gpu_when_a_race_begins(
    races, spaces, monkeypatch
) -> None:
    before = zerogpu.duration(request("ar"))
    zerogpu.place(NAME)
    assert zerogpu.duration(request("ar")) < before
    monkeypatch.setattr(zerogpu, "load", None)  # no worker reads it again
    shots = list(begun(races))
    assert shots[-1].state == "finished"
    lent = f"lend a GPU for {spaces.durations[0]:g} seconds"
    assert any(lent in (shot.note or "") for shot in shots)
    assert f"takes up to {zerogpu.cost(NAME, DEFAULT):g} seconds" in describe(races.pool, NAME)


def test_the_race_stops_itself_before_the_deadline_and_says_so(races, spaces, monkeypatch) -> None:
    monkeypatch.setattr(zerogpu, "MARGIN_SECONDS", 1e6)
    last = list(begun(races))[-1]
    assert last.state == "stopped"
    assert f"lends its GPU for {spaces.durations[0]:g} seconds" in last.note
    assert races.kept(last.id, VISITOR.session_hash)


def racing(races: Races) -> tuple[Iterator[object], str]:
    """A race that is on, and its id."""
    race = begun(races)
    while (board := next(race)).state != "racing":
        pass
    return race, board.id


def test_stop_and_a_closed_page_give_the_gpu_back(races, spaces, monkeypatch) -> None:
    race, race_id = racing(races)
    races.stop(race_id, "", VISITOR.session_hash)
    assert not any(shot.state == "finished" for shot in race)
    assert gone(spaces)
    race, _ = racing(races)
    monkeypatch.setattr(app.races.live_race, "UNWATCHED_SECONDS", 0.0)
    race.close()
    wait_until(lambda: gone(spaces))


def test_errors_of_zerogpu_are_reported_and_the_page_goes_on(races, spaces) -> None:
    for title, message, words in (
        ("ZeroGPU quota exceeded", "You have exceeded your free ZeroGPU quota <a href=x>", QUOTA),
        ("ZeroGPU illegal duration", "larger than the maximum allowed", QUOTA),
        ("ZeroGPU client error", "No GPU was available", BUSY),
        ("ZeroGPU worker error", "GPU task aborted", DEVICE_LOST),
        ("ZeroGPU worker error", "OutOfMemoryError", OUT_OF_MEMORY),
    ):
        spaces.error = gr.Error(message, title=title)
        with pytest.raises(gr.Error) as caught:
            list(begun(races))
        assert caught.value.message == words
    spaces.error = None
    assert list(begun(races))[-1].state == "finished"


class Endless(Watched):
    """A toy whose eleventh forward pass does not end."""

    def forward(self, *window):
        if self.passes == 10:
            threading.Event().wait(300)
        return super().forward(*window)


def test_a_killed_worker_is_reported_and_the_next_race_has_another(races, spaces) -> None:
    # Endless: it might be done before it is killed
    with patch.object(zerogpu, "load", lambda *_, **__: Endless()):
        race, _ = racing(races)
    os.kill(spaces.workers[0].pid, signal.SIGKILL)
    with pytest.raises(gr.Error) as caught:
        list(race)
    assert caught.value.message == DEVICE_LOST
    assert list(begun(races))[-1].state == "finished"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModelError("The disk is full: free some room."), "The disk is full"),
        (SettingError("The prompt has 600 tokens: make it shorter."), "make it shorter"),
        (torch.AcceleratorError("CUDA error: unspecified launch failure"), DEVICE_LOST),
        (RuntimeError("/secret/path"), "The race failed"),
    ],
)
def test_a_failure_in_the_worker_is_reported_with_a_message(
    races, spaces, monkeypatch, error, words
) -> None:
    def fails(*_: object, **__: bool) -> Toy:
        raise error

    monkeypatch.setattr(zerogpu, "load", fails)
    with pytest.raises(gr.Error) as caught:
        list(begun(races))
    assert words in caught.value.message
    assert "secret" not in caught.value.message


def test_without_zerogpu_the_call_is_the_function_itself() -> None:
    called = zerogpu.run_race
    assert (called.__module__, called.__name__) == ("app.workers.zerogpu", "run_race")
