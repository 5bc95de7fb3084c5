"""The model behind the open page: what is known before it is there, and the wait for it."""

from __future__ import annotations

import threading
from pathlib import Path

import gradio as gr
import pytest

from app.handlers import Races
from app.model import LOADING, Facts, Loader, load_embedded
from app.shelf import Shelf
from tests.app.conftest import Watched, begun
from tests.toy import Toy


class Slow(Watched):
    """A toy that is ready when it is told to be."""

    def __init__(self) -> None:
        super().__init__()
        self.may_load = threading.Event()

    def load(self) -> Toy:
        assert self.may_load.wait(60)
        return self


def test_a_race_waits_for_the_model_says_so_and_goes_on() -> None:
    slow = Slow()
    race = begun(Races(Loader(slow.load), Facts.of(slow), Shelf(Path("nowhere"))))
    first = next(race)
    assert (first["state"], first["note"], first["prompt"]) == ("waiting", LOADING, "red apple")
    next(race)
    slow.may_load.set()
    last = list(race)[-1]
    assert (last["state"], last["note"]) == ("finished", "")


def test_waiting_for_the_model_can_be_given_up() -> None:
    slow = Slow()
    races = Races(Loader(slow.load), Facts.of(slow), Shelf(Path("nowhere")))
    race = begun(races)
    next(race), next(race)
    race.close()
    slow.may_load.set()
    races.loader.wait(60)
    assert slow.open == 0
    assert list(begun(races))[-1]["state"] == "finished"


def test_a_model_that_cannot_be_loaded_is_told_in_words(caplog) -> None:
    def load() -> Toy:
        raise FileNotFoundError("/secret/path is missing")

    loader = Loader(load)
    race = begun(Races(loader, Facts.of(Toy()), Shelf(Path("nowhere"))))
    with pytest.raises(gr.Error, match="could not be loaded") as caught:
        list(race)
    assert "secret" not in caught.value.message
    assert "secret" in caplog.text


def test_what_is_said_of_the_embedded_model_is_so() -> None:
    assert Facts.embedded() == Facts.of(load_embedded())


def test_a_model_is_loaded_once() -> None:
    loads = []
    loader = Loader(lambda: loads.append(1) or Toy())
    assert loader.start() is loader.start()
    assert loader.wait(60) is loader.wait(60)
    assert loads == [1]
