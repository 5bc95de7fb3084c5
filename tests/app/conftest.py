"""Races over toy models, as the page's handlers run them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import app.course
from app.handlers import Races
from app.model import Facts, Loader
from app.settings import AppSettings
from app.shelf import Shelf
from tests.app.test_form import DEFAULTS
from tests.toy import Toy, ToyContext

VISITOR = SimpleNamespace(session_hash="visitor")


class Watched(Toy):
    """A toy that counts its forward passes and its open caches."""

    def __init__(self) -> None:
        super().__init__((6, 6), 16)
        self.passes = self.open = 0

    def start(self, prompt: str, guidance: float) -> ToyContext:
        context, close = super().start(prompt, guidance), None
        close = context.close
        self.open += 1

        def closed() -> None:
            self.open -= 1
            close()

        context.close = closed
        return context

    def forward(self, *window):
        self.passes += 1
        return super().forward(*window)


def over(model: Toy) -> Races:
    """Races over a model that is ready, with no recorded ones."""
    loader = Loader(lambda: model)
    loader.wait(60)
    return Races(loader, Facts.of(model), Shelf(Path("nowhere")))


@pytest.fixture
def model() -> Watched:
    return Watched()


@pytest.fixture
def races(monkeypatch, model) -> Races:
    monkeypatch.setattr(app.course, "SETTINGS", AppSettings(updates=30))
    races = over(model)
    model.passes = 0  # what it took to warm up is not the race's
    return races


def begun(
    races: Races,
    lanes: tuple[str, ...] = ("ar", "sjd"),
    prompt: object = "red apple",
    seed: object = 7,
):
    return races.race(VISITOR, prompt, seed, list(lanes), *DEFAULTS)
