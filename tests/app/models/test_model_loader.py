"""The model behind the open page: loading it, and races that wait for it."""

from __future__ import annotations

import threading

import gradio as gr
import pytest

from app.models.model_loader import ModelLoader, load_embedded
from app.races.races import Races
from engine.models.supply.card import CARDS, ModelError
from tests.app.conftest import NONE_RECORDED, VISITOR, Watched, begun, toy_pool, wait_until
from tools.judge.toys import Toy


class Slow(Watched):
    """A toy that is loaded once `may_load` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.may_load = threading.Event()

    def load(self) -> Toy:
        assert self.may_load.wait(300)
        return self


def test_a_race_waits_for_the_model_says_so_and_goes_on() -> None:
    slow = Slow()
    race = begun(Races(toy_pool(slow, slow.load), NONE_RECORDED))
    waits = next(board for board in race if board.note)
    assert (waits.state, waits.note) == ("waiting", "Loading the model…")
    assert waits.prompt == "red apple"
    slow.may_load.set()
    last = list(race)[-1]
    assert (last.state, last.note) == ("finished", "")


def test_waiting_for_the_model_can_be_given_up() -> None:
    slow = Slow()
    races = Races(toy_pool(slow, slow.load), NONE_RECORDED)
    race = begun(races)
    waits = next(board for board in race if board.note)
    races.stop(waits.id, "", VISITOR.session_hash)
    last = list(race)[-1]
    assert (last.state, last.note) == ("stopped", "")
    slow.may_load.set()
    wait_until(lambda: races.pool.loader.done)
    assert slow.passes == 0
    assert list(begun(races))[-1].state == "finished"


def test_a_model_that_cannot_be_loaded_is_reported_without_details(caplog) -> None:
    def load() -> Toy:
        raise FileNotFoundError("/secret/path is missing")

    race = begun(Races(toy_pool(Toy(), load), NONE_RECORDED))
    with pytest.raises(gr.Error, match="could not be loaded") as caught:
        list(race)
    assert "secret" not in caught.value.message
    assert "secret" in caplog.text


def test_a_damaged_own_model_is_named_and_the_next_race_loads_it_again() -> None:
    tries = []

    def load() -> Toy:
        tries.append(1)
        if len(tries) == 1:
            raise ModelError("weights/vq/model.safetensors is damaged: check out the repository.")
        return Watched()

    races = Races(toy_pool(Watched(), load), NONE_RECORDED)
    with pytest.raises(gr.Error) as caught:
        list(begun(races))
    assert caught.value.message == (
        "toy: weights/vq/model.safetensors is damaged: check out the repository. Recorded races"
        " still play."
    )
    assert list(begun(races))[-1].state == "finished"
    assert len(tries) == 2


def test_the_embedded_models_card_is_what_is_loaded() -> None:
    card, model = CARDS["embedded"], load_embedded()
    assert (card.name, card.grid, card.codes) == (model.name, model.grid, model.vocab_size)
    assert card.sampling == model.sampling
    assert model.forced_ids.tolist() == [-1] * card.length


def test_a_model_is_loaded_once() -> None:
    loads = []
    loader = ModelLoader(lambda: loads.append(1) or Toy())
    assert loader.start() is loader.start()
    assert loader.wait(300) is loader.wait(300)
    assert loads == [1]
