"""A racer by itself, without Ray."""

from __future__ import annotations

import asyncio
import threading

import pytest

from app.models.model_loader import ModelLoader, warm_up
from app.models.model_pool import ModelPool
from app.workers.race_stream import Recording, WorkerFailure
from cluster.racer import Racer
from cluster.streams import Event
from tests.app.conftest import toy_card, toy_pool
from tests.cluster import toys
from tests.cluster.toys import Ledger, request
from tests.coroutines import run
from tools.judge.toys import Toy
from visualize.board.snapshot import Update
from visualize.pictures.recorded_race import RecordedRace


class Named(Toy):
    """Notes the threads of its passes."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[str] = []

    def forward(self, *window):
        self.threads.append(threading.current_thread().name)
        return super().forward(*window)


def raced(racer: Racer) -> list[Event]:
    """A race's stream."""

    async def race() -> list[Event]:
        return [event async for event in racer.race(request("ar", "sjd"))]

    return run(race())


def test_a_race_is_on_the_thread_that_the_model_was_warmed_up_on() -> None:
    model = Named()
    pool = ModelPool(ModelLoader(lambda: warm_up(model)), toy_card(model))
    racer = Racer(lambda: pool)
    assert pool.wait("toy", 300)
    warmed = set(model.threads)
    model.threads.clear()

    raced(racer)
    assert set(model.threads) == warmed
    assert len(warmed) == 1


def test_a_race_that_is_cancelled_ends_after_the_step_in_progress(tmp_path) -> None:
    model = toys.Toy(Ledger(tmp_path))
    racer = Racer(lambda: toy_pool(model))

    async def read() -> None:
        async for _ in racer.race(request("ar", "sjd", prompt="held")):
            pass

    async def race() -> None:
        reading = asyncio.ensure_future(read())
        while not model.open:
            assert not reading.done()
            await asyncio.sleep(0.01)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    run(race())
    assert (model.passes, model.open) == (1, 0)


class Huge(Toy):
    """Has no memory to draw a whole picture, but for the swatches."""

    def pixels(self, tokens):
        if tokens.shape[1:] == self.grid:
            raise MemoryError
        return super().pixels(tokens)


def stands(events: list[Event]) -> bool:
    """Whether the race was finished on the board, and nothing failed."""
    shown = [event for event in events if isinstance(event, Update)]
    failed = any(isinstance(event, WorkerFailure) for event in events)
    return shown[-1].state == "finished" and not failed


def test_a_race_that_is_over_stands_without_memory_for_its_pictures() -> None:
    model = Huge((6, 6), 16)
    assert stands(raced(Racer(lambda: toy_pool(model))))


def test_a_race_that_is_over_stands_without_memory_for_its_file(monkeypatch) -> None:
    def fail(_: RecordedRace) -> None:
        raise MemoryError

    monkeypatch.setattr(RecordedRace, "dumps", fail)
    model = Toy()
    events = raced(Racer(lambda: toy_pool(model)))
    assert stands(events)
    assert not any(isinstance(event, Recording) for event in events)
