"""Races over toy models, as the page's handlers run them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import app.workers.race_stream
from app.models.model_loader import ModelLoader
from app.models.model_pool import Availability, ModelPool
from app.races.live_race import Boards
from app.races.race_table import StoredRace
from app.races.races import Races
from app.races.recorded_races import RecordedRaces
from app.races.request_values import SAMPLING_KNOBS
from app.settings import AppSettings
from engine.models.supply.card import ModelCard
from tools.judge.toys import Toy, ToyContext

VISITOR = SimpleNamespace(session_hash="visitor")
# In the order in which programs send them.
FIELDS = ("prompt", "seed", "lanes", *SAMPLING_KNOBS, "model", "infilling")
SAMPLING_DEFAULTS = {field: each.default for field, each in SAMPLING_KNOBS.items()}
NONE_RECORDED = RecordedRaces(Path("nowhere"))
HUGE = st.sampled_from([10**400, -(10**400)])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | HUGE,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def form(
    prompt: object = "red apple",
    seed: object = 7,
    lanes: object = ("ar", "sjd"),
    model: object = None,
    knobs: Mapping[str, object] | None = None,
    infilling: object = None,
) -> dict[str, Any]:
    """A form's values, by name; sampling's knobs that are not named have their defaults."""
    lanes = list(lanes) if isinstance(lanes, tuple) else lanes
    values = {"prompt": prompt, "seed": seed, "lanes": lanes, "model": model}
    return {**values, "infilling": infilling, **SAMPLING_DEFAULTS, **(knobs or {})}


def positional(**values: object) -> list[object]:
    """The same as programs send it."""
    named = form(**values)
    return [named[field] for field in FIELDS]


class Watched(Toy):
    """A toy that counts its forward passes and its open caches."""

    def __init__(self) -> None:
        super().__init__((6, 6), 16)
        self.passes = self.open = 0

    def start(self, prompt: str, *more: Any) -> ToyContext:
        context = super().start(prompt, *more)
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


class NoPictures(Watched):
    """A toy that has memory for swatches, and for no picture."""

    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        if tokens.shape[-2:] == self.grid:
            raise MemoryError("no memory is left on cpu for a picture")
        return super().pixels(tokens)


def toy_card(model: Toy) -> ModelCard:
    return ModelCard(
        name=model.name,
        title=model.name,
        family="toy",
        repos=(),
        grid=model.grid,
        codes=model.vocab_size,
        length=model.plan.length,
        **dict.fromkeys(("parameters", "layers", "depth", "kv_values", "working"), 1),
        sampling=model.sampling,
        source="tests/toy.py",
        licence="Apache-2.0",
        licence_url="https://www.apache.org/licenses/LICENSE-2.0",
        fills_in=model.fills_in,
    )


def toy_pool(
    model: Toy,
    load: Callable[[], Toy] | None = None,
    public: Mapping[ModelCard, Availability] | None = None,
    load_public: Callable[..., Any] | None = None,
) -> ModelPool:
    """A pool whose own model is a toy, which `load` loads."""
    loader = ModelLoader(load or (lambda: model))
    return ModelPool(loader, toy_card(model), public, load_public)


def ready_pool(model: Toy) -> ModelPool:
    pool = toy_pool(model)
    pool.loader.wait(300)
    return pool


@pytest.fixture
def model() -> Watched:
    return Watched()


@pytest.fixture
def races(monkeypatch, model) -> Races:
    monkeypatch.setattr(app.workers.race_stream, "SETTINGS", AppSettings(updates=30))
    return Races(ready_pool(model), NONE_RECORDED)


def wait_until(true: Callable[[], object], seconds: float = 300) -> None:
    """Waits for something that a server does. Fails when it never does it."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def begin(races: Races, visitor: object = VISITOR, **values: object) -> Boards:
    """What a race shows: boards, and None where there is nothing new."""
    session = visitor.session_hash or ""
    live = races.start(session, "", races.read(form(**values)))
    try:
        yield from live.watch()
    finally:
        if not session:
            live.stop()


def begun(races: Races, visitor: object = VISITOR, **values: object) -> Iterator[dict[str, Any]]:
    """A race's boards. Closing it is closing the page."""
    with contextlib.closing(begin(races, visitor, **values)) as boards:
        yield from filter(None, boards)


def raced(races: Races, visitor: object = VISITOR, **values: object) -> StoredRace:
    """A race from its start to its end, as it is kept."""
    last = list(begun(races, visitor, **values))[-1]
    return races.kept(last.id, visitor.session_hash)
