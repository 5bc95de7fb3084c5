"""Races on ZeroGPU, with a stand-in for `spaces` that forks and pickles as it does."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest

import app.course
import app.zero
from app.garage import Garage, Offer
from app.handlers import Races
from app.model import Facts, Loader
from app.settings import AppSettings
from app.shelf import Shelf
from app.trouble import BUSY, LOST, OUT_OF_MEMORY, QUOTA
from engine.models.card import CARDS, ModelError
from tests.app.conftest import VISITOR, Watched
from tests.app.fake_spaces import Spaces
from tests.app.test_form import DEFAULTS
from tests.toy import Toy

NAME = "janus-pro-1b"


@pytest.fixture
def spaces(monkeypatch) -> Iterator[Spaces]:
    """ZeroGPU, whose workers find a toy where the model's files should be."""
    fake = Spaces()
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setitem(sys.modules, "spaces", fake)
    monkeypatch.setattr(app.course, "SETTINGS", AppSettings(updates=30))
    importlib.reload(app.zero)
    monkeypatch.setattr(app.zero, "load", lambda name, device, dtype: Watched())
    yield fake
    monkeypatch.undo()
    importlib.reload(app.zero)


@pytest.fixture
def races(spaces) -> Races:
    facts = Facts.of(Toy())
    offers = {NAME: Offer(Facts.on(CARDS[NAME]), CARDS[NAME])}
    loader = Loader(Toy)
    return Races(
        loader,
        facts,
        Shelf(Path("nowhere")),
        Garage(loader, facts, offers, lambda name, tell: CARDS[name]),
    )


def begun(races: Races, *lanes: str) -> Iterator[object]:
    return races.race(VISITOR, "red apple", 7, list(lanes or ("ar", "sjd")), *DEFAULTS[:-1], NAME)


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
    assert [shot["seq"] for shot in shots[-3:]] == sorted(shot["seq"] for shot in shots[-3:])
    assert shots[-1]["state"] == "finished"
    assert [lane["n"] for lane in shots[-1]["lanes"]] == [36, 36]
    assert len(spaces.workers) == 1
    kept = races.kept(VISITOR).recording
    assert (kept.trace.header.prompt, kept.pictures is not None) == ("red apple", True)
    assert gone(spaces)


def test_only_plain_data_crosses(spaces) -> None:
    values = ["red apple", 7, ["ar", "gsd", "lantern", "sjd-pac"], *DEFAULTS[:-1], NAME]
    pairs = list(app.zero.race(NAME, values))
    assert all(plain(pair) for pair in pairs)
    assert {kind for kind, _ in pairs} == {"board", "step", "recording"}
    assert json.loads(pairs[-1][1])["format"] == "photo-finish-trace"


def test_the_duration_is_the_models_and_the_lanes(spaces, monkeypatch) -> None:
    monkeypatch.setattr(app.zero, "SETTINGS", AppSettings(gpu_seconds=1200))
    entries = {lanes: ["x", 7, list(lanes)] for lanes in (("ar",), ("ar", "sjd"))}
    small, more = (app.zero.duration(NAME, entry) for entry in entries.values())
    assert (
        app.zero.STARTING < small < more < app.zero.duration("janus-pro-7b", entries["ar", "sjd"])
    )
    assert app.zero.duration("llamagen-256", entries["ar",]) < app.zero.duration(
        "llamagen-512", entries["ar",]
    )
    monkeypatch.setattr(app.zero, "SETTINGS", AppSettings(gpu_seconds=60))
    assert app.zero.duration("emu3", entries["ar",]) == 60


def test_the_race_stops_itself_before_the_deadline_and_says_so(races, spaces, monkeypatch) -> None:
    monkeypatch.setattr(app.zero, "MARGIN", 1e6)
    last = list(begun(races))[-1]
    assert last["state"] == "stopped"
    assert f"lends its GPU for {spaces.asked[0]:g} seconds" in last["note"]
    assert races.kept(VISITOR) is not None


def test_stop_gives_the_gpu_back(races, spaces) -> None:
    race = begun(races)
    while next(race)["state"] != "racing":
        pass
    races.stop(VISITOR)
    assert not any(shot["state"] == "finished" for shot in race)
    assert gone(spaces)


def test_a_closed_page_gives_the_gpu_back(races, spaces) -> None:
    race = begun(races)
    while next(race)["state"] != "racing":
        pass
    race.close()
    assert gone(spaces)


@pytest.mark.parametrize(
    ("title", "message", "words"),
    [
        ("ZeroGPU quota exceeded", "You have exceeded your free ZeroGPU quota <a href=x>", QUOTA),
        ("ZeroGPU illegal duration", "larger than the maximum allowed", QUOTA),
        ("ZeroGPU client error", "No GPU was available", BUSY),
        ("ZeroGPU worker error", "GPU task aborted", LOST),
        ("ZeroGPU worker error", "OutOfMemoryError", OUT_OF_MEMORY),
    ],
)
def test_what_zerogpu_refuses_is_told_and_the_page_goes_on(
    races, spaces, title, message, words
) -> None:
    spaces.refusal = gr.Error(message, title=title)
    with pytest.raises(gr.Error) as caught:
        list(begun(races))
    assert caught.value.message == words
    spaces.refusal = None
    assert list(begun(races))[-1]["state"] == "finished"


class Endless(Watched):
    """A toy whose eleventh forward pass does not end."""

    def forward(self, *window):
        if self.passes == 10:
            threading.Event().wait(60)
        return super().forward(*window)


def test_a_killed_worker_is_told_and_the_next_race_has_another(races, spaces, monkeypatch) -> None:
    with monkeypatch.context() as patched:  # or the worker might be done before it is killed
        patched.setattr(app.zero, "load", lambda name, device, dtype: Endless())
        race = begun(races)
        while next(race)["state"] != "racing":
            pass
    os.kill(spaces.workers[0].pid, signal.SIGKILL)
    with pytest.raises(gr.Error) as caught:
        list(race)
    assert caught.value.message == LOST
    assert list(begun(races))[-1]["state"] == "finished"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModelError("The disk is full: free some room."), "The disk is full"),
        (RuntimeError("CUDA error: unspecified launch failure"), LOST),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), OUT_OF_MEMORY),
        (RuntimeError("/secret/path"), "The race failed"),
    ],
)
def test_what_fails_in_the_worker_comes_back_in_words(
    races, spaces, monkeypatch, error, words
) -> None:
    def fails(*_: object) -> Toy:
        raise error

    monkeypatch.setattr(app.zero, "load", fails)
    with pytest.raises(gr.Error) as caught:
        list(begun(races))
    assert words in caught.value.message
    assert "secret" not in caught.value.message


def test_without_zerogpu_the_call_is_the_function_itself() -> None:
    assert app.zero.race.__module__ == "app.zero"
    assert app.zero.race.__name__ == "race"
