"""The model behind the open page: loading it, and races that wait for it."""

from __future__ import annotations

import threading

import gradio as gr
import pytest

from app.page.handlers import Races
from app.serving.model_loader import ModelLoader, load_embedded
from app.serving.race_stream import Snapshot
from engine.models.card import CARDS
from tests.app.conftest import NONE_RECORDED, Watched, begin, begun, boards, toy_pool
from tests.toy import Toy


class Slow(Watched):
    """A toy that is loaded once `may_load` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.may_load = threading.Event()

    def load(self) -> Toy:
        assert self.may_load.wait(60)
        return self


def test_a_race_waits_for_the_model_says_so_and_goes_on() -> None:
    slow = Slow()
    race = begin(Races(toy_pool(slow, slow.load), NONE_RECORDED))
    first = next(race)
    assert isinstance(first, Snapshot)
    assert (first.board["state"], first.board["note"]) == ("waiting", "Loading the model…")
    assert first.board["prompt"] == "red apple"
    next(race)
    slow.may_load.set()
    last = list(boards(race))[-1]
    assert (last["state"], last["note"]) == ("finished", "")


def test_waiting_for_the_model_can_be_given_up() -> None:
    slow = Slow()
    races = Races(toy_pool(slow, slow.load), NONE_RECORDED)
    race = begin(races)
    next(race), next(race)
    race.close()
    slow.may_load.set()
    races.pool.loader.wait(60)
    assert slow.open == 0
    assert list(begun(races))[-1]["state"] == "finished"


def test_a_model_that_cannot_be_loaded_is_reported_without_details(caplog) -> None:
    def load() -> Toy:
        raise FileNotFoundError("/secret/path is missing")

    race = begun(Races(toy_pool(Toy(), load), NONE_RECORDED))
    with pytest.raises(gr.Error, match="could not be loaded") as caught:
        list(race)
    assert "secret" not in caught.value.message
    assert "secret" in caplog.text


def test_the_embedded_models_card_is_what_is_loaded() -> None:
    card, model = CARDS["embedded"], load_embedded()
    assert (card.name, card.grid, card.codes) == (model.name, model.grid, model.vocab_size)
    assert card.sampling == model.sampling
    assert model.forced_ids.tolist() == [-1] * card.length


def test_a_model_is_loaded_once() -> None:
    loads = []
    loader = ModelLoader(lambda: loads.append(1) or Toy())
    assert loader.start() is loader.start()
    assert loader.wait(60) is loader.wait(60)
    assert loads == [1]
