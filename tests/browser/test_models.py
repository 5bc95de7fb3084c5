"""The choice of a model on the page: what is said of it, what it takes to race on it, and what
happens where it cannot be had."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from app.models.model_pool import Availability
from app.page import model_choice
from app.races.recorded_races import RecordedRaces
from engine.decoders import DEFAULT
from engine.models.supply.card import CARDS, ModelError
from engine.models.supply.progress import Phase, Progress
from tests.app.conftest import Watched, toy_pool
from tests.browser.acts import finished, key, prompted, race, show_options, state, unhurt
from tests.browser.servers import PATIENCE, Held, served_pool

JANUS, ANOLE, CLASSES = "janus-pro-1b", "anole", "llamagen-b-256"
OFF = "it is for <img src=x onerror=window.hit=1> only."


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def choose(page: Page, title: str) -> None:
    show_options(page)
    page.locator("#model input").click()
    page.get_by_role("option", name=title).click()


def sampling(page: Page, name: str) -> Locator:
    return page.locator("#sampling").get_by_label(name)


def test_a_public_model_is_chosen_with_its_licence_loaded_and_raced_in_colours(
    open_page, tmp_path, monkeypatch
) -> None:
    """On a CPU: three lanes that count tokens, with pictures at the end. What fails is reported."""
    model, goes_on, loads = Held(), threading.Event(), []
    model.name, model.drafter, model.slow_pixels = JANUS, None, True
    model.hold()

    def load(name: str, report: Callable) -> Watched:
        loads.append(name)
        if len(loads) == 1:
            report(Progress(Phase.DOWNLOADING, 0.43, 1_800_000_000, 4_200_000_000))
            assert goes_on.wait(PATIENCE)
            raise ModelError("The disk is full: free some room.")
        return model

    note = "A picture takes Vanilla AR about 4 minutes."
    public = {
        CARDS[JANUS]: Availability(note=note),
        CARDS[ANOLE]: Availability(OFF, "research only"),
    }
    with served_pool(toy_pool(Watched(), None, public, load)) as url:
        page = open_page(url)
        show_options(page)
        lanes, card = page.locator(".lane-row"), page.locator("#model-card")
        expect(lanes).to_have_count(len(DEFAULT))
        choose(page, "Janus-Pro 1B (not downloaded)")
        expect(card).to_contain_text("Licence: code MIT; weights DeepSeek Model License")
        licence = card.get_by_role("link", name="text")
        expect(licence).to_have_attribute("href", CARDS[JANUS].licence_url)
        expect(card).to_contain_text(note)
        expect(sampling(page, "guidance")).to_have_value("5")
        expect(lanes).to_have_count(3)
        page.locator("#copy").click()
        field = page.locator("#link input, #link textarea")
        expect(field).to_have_value(re.compile(f"model={JANUS}"))

        # Loading is on the board, and that it failed.
        page.locator("#race").click()
        said = page.locator(".board .note")
        expect(said).to_have_text("Downloading Janus-Pro 1B, 43% (1.8 of 4.2 GB)")
        goes_on.set()
        reason = "The disk is full: free some room. The embedded model can race meanwhile."
        expect(said).to_have_text(f"Janus-Pro 1B: {reason}")

        # It is loaded when a race asks again, here one that comes by the link. The list says what
        # is there now.
        monkeypatch.setattr(model_choice, "at_hand", lambda source: tmp_path)
        other = open_page(field.input_value())
        expect(other.locator("#model input")).to_have_value("Janus-Pro 1B")
        expect(other.locator("#model-card")).to_contain_text("DeepSeek Model License")
        show_options(other)
        expect(sampling(other, "guidance")).to_have_value("5")
        race(other, lanes=("ar",))  # which is shown as far as it has come: it waits for no other
        expect(other.locator(".board .note")).to_contain_text("the colour of each token")
        stamp = other.locator(".lane[data-lane='ar'] .stamp")
        expect(stamp).to_have_text(re.compile(r"^[1-9]\d* of 36$"))
        model.release()
        finished(other)
        expect(stamp).to_contain_text(" s")
        expect(other.locator(".board .meta")).to_contain_text(f"model {JANUS}")
        race(other, prompt="octopus", lanes=("ar", "lantern"))
        prompted(other, "octopus")
        finished(other)
        drafter = ".lane[data-lane='lantern'] .drafter"
        expect(other.locator(drafter)).to_have_text("Jacobi")
        other.close()

        # One that is off says why, and the page's own races again, in its own lanes.
        choose(page, "Anole 7B (off: research only)")
        expect(page.locator("#model-card .off")).to_have_text(f"Off: {OFF}")
        page.locator("#race").click()
        expect(page.get_by_text("Anole 7B cannot race here")).to_be_visible()
        choose(page, "toy")
        expect(lanes).to_have_count(len(DEFAULT))
        race(page, prompt="octopus", lanes=("ar", "lantern"))
        prompted(page, "octopus")
        finished(page)
        expect(page.locator(drafter)).to_contain_text("passes")
        unhurt(page)
        page.close()


def test_a_race_waits_for_its_model_and_a_model_of_classes_says_what_it_reads(
    open_page, races_folder
) -> None:
    """Before the page's own model is there recorded races play, and a race can be stopped."""
    may_load, model = threading.Event(), Watched()
    model.name = CLASSES
    pool = toy_pool(
        Watched(),
        lambda: Watched() if may_load.wait(PATIENCE) else None,
        {CARDS[CLASSES]: Availability()},
        lambda *_: model,
    )
    with served_pool(pool, RecordedRaces(races_folder)) as url:
        page, note = open_page(url), "Loading the model…"
        prompted(page, "cactus on yellow sand")
        key(page, "End")
        expect(page.locator(".board")).to_have_attribute("data-state", "finished")
        race(page, prompt="octopus")
        expect(page.locator(".board .note")).to_have_text(note)
        page.locator("#stop").click()
        state(page, "stopped")
        race(page, prompt="rocket")
        prompted(page, "rocket")
        expect(page.locator(".board .note")).to_have_text(note)
        may_load.set()
        finished(page)
        expect(page.locator(".board .note")).to_be_hidden()

        choose(page, CARDS[CLASSES].title)
        expect(page.locator("#examples")).to_contain_text("macaw")
        prompt, reading = page.locator("#prompt :is(input, textarea)"), page.locator("#reading")
        prompt.fill("a golden retriever puppy on a bicycle")
        expect(reading).to_contain_text("reads: golden retriever; not drawn: puppy, bicycle")
        prompt.fill("qwertz")
        expect(reading).to_contain_text("the prompt names none")
        reading.get_by_role("link").click()
        classes = page.locator("#classes")
        names = classes.locator(".word-kind button")
        expect(names).to_have_count(1000)
        classes.get_by_label("Find a class").fill("попугай")
        expect(names.filter(visible=True).first).to_be_visible()
        classes.get_by_label("Find a class").fill("macaw")
        names.filter(visible=True).get_by_text("macaw", exact=True).click()
        expect(prompt).to_have_value("macaw")
        page.locator("#race").click()
        prompted(page, "macaw")
        finished(page)
        prompt.fill("qwertz")
        page.locator("#race").click()
        expect(page.locator(".toast-body")).to_contain_text("the prompt names none")
        page.close()
