"""A racer by itself, without Ray."""

from __future__ import annotations

import threading

from app.models.model_loader import ModelLoader, warm_up
from app.models.model_pool import ModelPool
from cluster.racer import Racer
from engine.judge.toys import Toy
from engine.race import Lane, RaceRequest
from tests.app.conftest import toy_card
from tests.coroutines import run


class Named(Toy):
    """Notes the threads of its passes."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[str] = []

    def forward(self, *window):
        self.threads.append(threading.current_thread().name)
        return super().forward(*window)


def test_a_race_is_on_the_thread_that_the_model_was_warmed_up_on() -> None:
    model = Named()
    pool = ModelPool(ModelLoader(lambda: warm_up(model)), toy_card(model))
    racer = Racer(lambda: pool)
    assert pool.wait("toy", 60)
    warmed = set(model.threads)
    model.threads.clear()

    async def race() -> None:
        request = RaceRequest("a prompt", 1, (Lane("ar"), Lane("sjd")), model.sampling, "toy")
        async for _ in racer.race(request):
            pass

    run(race())
    assert set(model.threads) == warmed
    assert len(warmed) == 1
