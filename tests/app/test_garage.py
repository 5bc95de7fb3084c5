"""Models on the page: which can race and why others cannot, one public one warm at a time, and what
happens when one fails."""

from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest
import torch
from huggingface_hub import constants

import app.garage
from app.garage import GPU, OWN, Garage, Offer, public, reason, told
from app.handlers import Races
from app.model import Facts, Loader
from app.settings import AppSettings
from app.shelf import Shelf
from app.trouble import LOST, OUT_OF_MEMORY
from engine.models.card import CARDS, ModelError
from engine.models.device import required_bytes
from tests.app.conftest import VISITOR, Watched
from tests.app.test_form import DEFAULTS
from tests.toy import Toy

JANUS, LLAMAGEN = "janus-pro-1b", "llamagen-256"
OFFERS = {name: Offer(Facts.on(CARDS[name]), CARDS[name]) for name in (JANUS, LLAMAGEN)}
OFF = {
    "anole": Offer(
        Facts.on(CARDS["anole"]), CARDS["anole"], "it is <b>research</b>.", "research only"
    )
}


def over(load, own: Toy | None = None) -> Races:
    """Races over a toy, and public models that `load` reads."""
    own = own or Watched()
    loader = Loader(lambda: own)
    return Races(
        loader,
        Facts.of(own),
        Shelf(Path("nowhere")),
        Garage(loader, Facts.of(own), OFFERS | OFF, load),
    )


def begun(
    races: Races,
    name: str | None = JANUS,
    lanes: tuple[str, ...] = ("ar", "sjd"),
    visitor: object = VISITOR,
):
    return races.race(visitor, "red apple", 7, list(lanes), *DEFAULTS[:-1], name)


def boards(race) -> list[dict]:
    return [shot for shot in race if "lanes" in shot]


def named(name: str) -> Watched:
    model = Watched()
    model.name = name
    return model


def test_a_race_on_a_public_model_loads_it_with_progress_on_the_board() -> None:
    goes_on = threading.Event()

    def load(name, tell):
        tell(0.43, "Downloading deepseek-community/Janus-Pro-1B: 1.8 of 4.2 GB")
        assert goes_on.wait(60)
        return named(name)

    race, notes = begun(over(load)), []
    while "43%" not in "".join(notes):
        shown = next(race)
        notes += [shown["note"]] if "note" in shown else []
    assert notes[-1] == "Downloading Janus-Pro 1B, 43% (1.8 of 4.2 GB)"
    goes_on.set()
    last = boards(race)[-1]
    assert (last["state"], last["model"], last["note"]) == ("finished", JANUS, "")


def test_progress_is_told_in_the_boards_words() -> None:
    assert told("Emu3-Gen", 0.8, "Loading Emu3-Gen") == "Loading Emu3-Gen, 80%"
    assert told("Emu3-Gen", 0, "Looking for BAAI/Emu3-Gen-hf") == "Looking for Emu3-Gen, 0%"
    assert told("Emu3-Gen", 7, "Downloading x") == "Downloading Emu3-Gen, 100%"


def test_a_model_stays_warm_until_another_is_asked_for_and_is_freed_first() -> None:
    loads, alive, models = [], [], []

    def load(name, tell):
        gc.collect()
        alive.append([each().name for each in models if each() is not None])
        loads.append(name)
        model = named(name)
        models.append(weakref.ref(model))
        return model

    races = over(load)
    for name in (JANUS, JANUS, None, JANUS, LLAMAGEN, JANUS):
        assert boards(begun(races, name, ("ar", "sjd", "lantern")))[-1]["state"] == "finished"
    assert loads == [JANUS, LLAMAGEN, JANUS]
    assert alive == [[], [], []], "at no load is another public model in memory"


def test_a_model_that_cannot_be_had_is_told_and_the_embedded_one_races_on() -> None:
    tries = []

    def load(name, tell):
        tries.append(name)
        raise ModelError("x/y is gated: accept its licence on <https://huggingface.co/x/y>.")

    races = over(load)
    for _ in range(2):
        with pytest.raises(gr.Error) as caught:
            list(begun(races))
        assert caught.value.message.startswith(
            "Janus-Pro 1B: x/y is gated: accept its licence on &lt;https://"
        )
        assert "embedded model can race" in caught.value.message
    assert tries == [JANUS, JANUS], "the next who asks tries again"
    assert boards(begun(races, None))[-1]["state"] == "finished"


def test_the_own_model_races_while_a_public_one_is_loaded_for_another() -> None:
    goes_on = threading.Event()
    races = over(lambda name, tell: goes_on.wait(60) and named(name))
    waits = begun(races, JANUS, visitor=gr.Request(session_hash="other"))
    next(waits), next(waits)
    assert boards(begun(races, None))[-1]["state"] == "finished"
    goes_on.set()
    assert boards(waits)[-1]["state"] == "finished"


def test_a_loading_that_was_left_goes_on_and_the_next_model_waits_for_it() -> None:
    goes_on, loads = threading.Event(), []

    def load(name, tell):
        loads.append(name)
        assert goes_on.wait(60)
        return named(name)

    races = over(load)
    left = begun(races, JANUS)
    next(left), next(left)
    left.close()
    other = begun(races, LLAMAGEN)
    assert "Waiting for another model" in next(other)["note"]
    goes_on.set()
    assert boards(other)[-1]["model"] == LLAMAGEN
    assert loads == [JANUS, LLAMAGEN]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("anole", "Anole 7B cannot race here: it is &lt;b&gt;research"),
        ("dalle", "model can be toy, janus-pro-1b"),
    ],
)
def test_what_is_off_or_unknown_is_refused_in_words(name, words) -> None:
    with pytest.raises(gr.Error) as caught:
        next(begun(over(named), name))
    assert words in caught.value.message


def test_the_card_shows_the_reason_and_the_licence_as_text() -> None:
    garage = over(named).garage
    assert "Off: it is &lt;b&gt;research&lt;/b&gt;." in garage.about("anole")
    assert "Chameleon Research License" in garage.about("anole")
    assert 'href="https://github.com/deepseek-ai/Janus' in garage.about(JANUS)
    for name in (None, 5, ["anole"], {}, "<script>"):
        assert garage.about(name) == ""


class Failing(Watched):
    """A toy whose second lane's forward passes raise."""

    error = ""

    def forward(self, *window):
        if self.passes > 5 and len(window[1]) > 1:
            raise RuntimeError(self.error)
        return super().forward(*window)


def test_a_lane_without_memory_says_so_and_the_others_finish() -> None:
    model = Failing()
    model.error = (
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of ..."
    )
    races = over(lambda name, tell: model)
    lanes = boards(begun(races))[-1]["lanes"]
    assert [lane["state"] for lane in lanes] == ["finished", "failed"]
    assert lanes[1]["error"] == OUT_OF_MEMORY
    assert not races.garage.offer(JANUS).off


def test_a_lost_gpu_turns_public_models_off_and_the_page_goes_on() -> None:
    model = Failing()
    model.error = "CUDA error: device-side assert triggered"
    races = over(lambda name, tell: model)
    assert boards(begun(races))[-1]["lanes"][1]["error"] == LOST
    assert [offer.brief for offer in races.garage.offers] == [
        "",
        "GPU lost",
        "GPU lost",
        "research only",
    ]
    with pytest.raises(gr.Error, match="The GPU was lost"):
        next(begun(races))
    assert boards(begun(races, None))[-1]["state"] == "finished"


def test_a_picture_without_memory_ends_the_race_in_words_and_the_next_runs(monkeypatch) -> None:
    own = Watched()
    races = over(named, own)
    race = begun(races, None)
    next(race)
    with monkeypatch.context() as patched:
        patched.setattr(
            own,
            "pixels",
            lambda tokens: (_ for _ in ()).throw(torch.OutOfMemoryError("CUDA out of memory")),
        )
        race2 = begun(races, None, visitor=gr.Request(session_hash="other"))
        race.close()
        with pytest.raises(gr.Error) as caught:
            list(race2)
    assert caught.value.message == OUT_OF_MEMORY
    assert own.open == 0
    assert boards(begun(races, None))[-1]["state"] == "finished"


def reasons(**settings: object) -> dict[str, str]:
    return {name: offer.brief for name, offer in public(AppSettings(**settings)).items()}


def test_on_a_cpu_public_models_are_off_with_the_reason(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert set(reasons().values()) == {"no GPU here", "research only"}
    assert set(reasons(models="all").values()) == {"no GPU here"}
    only = reasons(models="emu3")
    assert (only["emu3"], only[JANUS], only["anole"]) == (
        "no GPU here",
        "not switched on",
        "research only",
    )


def test_on_zerogpu_all_that_are_switched_on_may_race(monkeypatch) -> None:
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert reasons()[JANUS] == reasons()["emu3"] == ""
    assert reasons()["anole"] == "research only"


def test_memory_and_the_hub_are_asked_before_a_model_is_offered(monkeypatch) -> None:
    settings, card = AppSettings(device="cpu"), CARDS[JANUS]
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("engine.models.device.available", lambda device: 2**30)
    assert reason(card, settings)[1] == "not enough memory"
    assert "needs" in reason(card, settings)[0]
    monkeypatch.setattr(
        "engine.models.device.available", lambda device: 2 * required_bytes(card, torch.float32)
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", "/nowhere")
    assert reason(card, settings)[1] == "offline"
    assert "is not on this machine" in reason(card, settings)[0]


def test_the_hosts_model_opens_the_page_where_it_can_race(monkeypatch) -> None:
    monkeypatch.setattr("app.handlers.SETTINGS", AppSettings(model=JANUS))
    assert over(named).usual.model == JANUS
    assert over(named).usual.sampling == CARDS[JANUS].sampling
    monkeypatch.setitem(OFFERS, JANUS, replace(OFFERS[JANUS], off="no", brief="no"))
    assert over(named).usual.model == "toy"


def test_the_hosts_model_is_loaded_when_the_page_starts() -> None:
    loads = []
    garage = over(lambda name, tell: loads.append(name) or named(name)).garage
    garage.start(JANUS)
    assert garage.wait(JANUS, 60).name == JANUS
    garage.start("anole")
    assert (loads, garage.loader.wait(60).name) == ([JANUS], "toy")


def test_every_device_has_its_own_queue(monkeypatch) -> None:
    garage = over(named).garage
    assert (garage.device("toy"), garage.device(JANUS)) == (OWN, GPU)
    monkeypatch.setattr(app.garage, "SETTINGS", AppSettings(device="cpu"))
    assert garage.device(JANUS) == OWN


def test_a_second_race_of_a_visitor_takes_the_place_of_the_first() -> None:
    races = over(named)
    first = begun(races, None)
    while next(first)["state"] != "racing":
        pass
    second = begun(races, None)
    assert next(second) == "In the queue: 1 race comes before yours."
    last = boards(first)[-1]
    assert (last["state"], last["note"]) == (
        "stopped",
        "Your later race has taken this one's place.",
    )
    assert next(second) == ""
    assert boards(second)[-1]["state"] == "finished"


def test_a_place_in_the_queue_is_given_up_with_the_page() -> None:
    races = over(named)
    first = begun(races, None)
    next(first)
    other = gr.Request(session_hash="other")
    waits = begun(races, None, visitor=other)
    assert "1 race" in next(waits)
    races.leave(other)
    with pytest.raises(gr.Error, match="page was closed"):
        list(waits)
    first.close()
    assert "lanes" in next(begun(races, None))
