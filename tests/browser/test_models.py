"""The choice of a model on the page: what is said of it, what it takes to race on it, and what
happens where it cannot be had."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from playwright.sync_api import Page, expect

from app.models.model_pool import Availability
from engine.decoders import DEFAULT
from engine.models.supply.card import CARDS, ModelError
from engine.models.supply.progress import Phase, Progress
from tests.app.conftest import Watched, toy_pool
from tests.browser.acts import finished, prompted, race, show_options, unhurt
from tests.browser.servers import Held, served_pool

JANUS, ANOLE, CLASSES = "janus-pro-1b", "anole", "llamagen-b-256"
OFF = "it is for <img src=x onerror=window.hit=1> only."


@contextmanager
def showroom(load: Callable) -> Iterator[str]:
    """A page with its own model and two public ones: one that `load` reads, one that is off."""
    models = {CARDS[JANUS]: Availability(), CARDS[ANOLE]: Availability(OFF, "research only")}
    with served_pool(toy_pool(Watched(), None, models, load)) as url:
        yield url


def choose(page: Page, title: str) -> None:
    show_options(page)
    page.locator("#model input").click()
    page.get_by_role("option", name=title).click()


def sampling(page: Page, name: str):
    return page.locator("#sampling").get_by_label(name)


def public(name: str, report: Callable) -> Watched:
    model = Watched()
    model.name, model.drafter = name, None
    return model


def test_a_model_is_chosen_with_its_licence_and_one_that_is_off_says_why(open_page) -> None:
    with showroom(public) as url:
        page = open_page(url)
        choose(page, "Janus-Pro 1B")
        card = page.locator("#model-card")
        expect(card).to_contain_text("Licence: code MIT; weights DeepSeek Model License")
        licence = card.get_by_role("link", name="text")
        expect(licence).to_have_attribute("href", CARDS[JANUS].licence_url)
        expect(sampling(page, "guidance")).to_have_value("5")
        race(page, lanes=("ar", "lantern"))
        finished(page)
        expect(page.locator(".board .meta")).to_contain_text(f"model {JANUS}")
        expect(page.locator(".lane[data-lane='lantern'] .drafter")).to_have_text("Jacobi")
        show_options(page)
        page.locator("#copy").click()
        field = page.locator("#link input, #link textarea")
        expect(field).to_have_value(re.compile(f"model={JANUS}"))
        other = open_page(field.input_value())
        expect(other.locator("#model input")).to_have_value("Janus-Pro 1B")
        expect(other.locator("#model-card")).to_contain_text("DeepSeek Model License")
        show_options(other)
        expect(sampling(other, "guidance")).to_have_value("5")
        other.close()
        choose(page, "Anole 7B (off: research only)")
        expect(page.locator("#model-card .off")).to_have_text(f"Off: {OFF}")
        race(page)
        expect(page.get_by_text("Anole 7B cannot race here")).to_be_visible()
        choose(page, "toy")
        race(page, prompt="octopus", lanes=("ar", "lantern"))
        prompted(page, "octopus")
        finished(page)
        expect(page.locator(".lane[data-lane='lantern'] .drafter")).to_contain_text("passes")
        unhurt(page)
        page.close()


def test_on_a_cpu_a_public_model_races_three_lanes_in_colours(open_page, monkeypatch) -> None:
    """Counting tokens, with pictures at the end."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    model = Held()
    model.name, model.slow_pixels = JANUS, True
    model.hold()
    note = "A picture takes Vanilla AR about 4 minutes."
    pool = toy_pool(Watched(), None, {CARDS[JANUS]: Availability(note=note)}, lambda *_: model)
    with served_pool(pool) as url:
        page = open_page(url)
        show_options(page)
        decoders = page.locator(".lane-row")
        expect(decoders).to_have_count(len(DEFAULT))
        choose(page, "Janus-Pro 1B")
        expect(page.locator("#model-card")).to_contain_text(note)
        expect(decoders).to_have_count(3)
        page.locator("#race").click()
        expect(page.locator(".board .note")).to_contain_text("the colour of each token")
        stamp = page.locator(".lane[data-lane='ar'] .stamp")
        expect(stamp).to_have_text(re.compile(r"^[1-9]\d* of 36$"))
        model.release()
        finished(page)
        expect(stamp).to_contain_text(" s")
        page.locator("#options button").click()
        choose(page, "toy")
        expect(decoders).to_have_count(len(DEFAULT))
        page.close()


def test_loading_is_on_the_board_and_a_failure_is_reported(open_page) -> None:
    goes_on = threading.Event()

    def load(name: str, report: Callable) -> Watched:
        report(Progress(Phase.DOWNLOADING, 0.43, 1_800_000_000, 4_200_000_000))
        assert goes_on.wait(600)
        raise ModelError("The disk is full: free some room.")

    with showroom(load) as url:
        page = open_page(url)
        choose(page, "Janus-Pro 1B")
        race(page)
        note = page.locator(".board .note")
        expect(note).to_have_text("Downloading Janus-Pro 1B, 43% (1.8 of 4.2 GB)")
        goes_on.set()
        said = "The disk is full: free some room. The embedded model can race meanwhile."
        expect(note).to_have_text(f"Janus-Pro 1B: {said}")
        choose(page, "toy")
        race(page, prompt="octopus")
        prompted(page, "octopus")
        finished(page)
        page.close()


def test_a_model_of_classes_says_what_it_reads_and_lists_them(open_page) -> None:
    model = Watched()
    model.name = CLASSES
    pool = toy_pool(Watched(), None, {CARDS[CLASSES]: Availability()}, lambda *_: model)
    with served_pool(pool) as url:
        page = open_page(url)
        choose(page, CARDS[CLASSES].title)
        tried = page.locator("#examples")
        expect(tried).to_contain_text("macaw")
        prompt = page.locator("#prompt :is(input, textarea)")
        prompt.fill("a golden retriever puppy on a bicycle")
        reading = page.locator("#reading")
        expect(reading).to_contain_text("reads: golden retriever; not drawn: puppy, bicycle")
        prompt.fill("qwertz")
        expect(reading).to_contain_text("the prompt names none")
        reading.get_by_role("link").click()
        names = page.locator("#classes .word-kind button")
        expect(names).to_have_count(1000)
        page.locator("#classes").get_by_label("Find a class").fill("попугай")
        expect(names.filter(visible=True).first).to_be_visible()
        page.locator("#classes").get_by_label("Find a class").fill("macaw")
        names.filter(visible=True).get_by_text("macaw", exact=True).click()
        expect(prompt).to_have_value("macaw")
        page.locator("#race").click()
        prompted(page, "macaw")
        finished(page)
        prompt.fill("qwertz")
        page.locator("#race").click()
        expect(page.locator(".toast-body")).to_contain_text("the prompt names none")
        unhurt(page)
        page.close()
