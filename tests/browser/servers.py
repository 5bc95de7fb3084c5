"""Pages that tests open: servers over toy models, in the tests' process, and races over a toy to
play on them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from app.page.launch import LAUNCH
from app.page.layout import build
from app.serving.model_pool import ModelPool
from app.serving.recorded_races import RecordedRaces
from engine.models.base import ImageModel
from tests.app.conftest import NONE_RECORDED, Watched, toy_pool
from tests.clocks import set_clocks
from tests.races import raced
from visualize.recorded_race import RecordedRace, record

TOURED = ("ar", "jacobi", "fpi", "sjd", "scd", "gsd", "lantern", "sjd-pac")


class Held(Watched):
    """A toy whose race can be held in the middle: `hold` lets six more passes through, `release`
    all."""

    def __init__(self) -> None:
        super().__init__()
        self._open, self._limit = threading.Event(), math.inf

    def hold(self) -> None:
        self._open.clear()
        self._limit = self.passes + 6

    def release(self) -> None:
        self._limit = math.inf
        self._open.set()

    def forward(self, *window):
        if self.passes >= self._limit:
            self._open.wait(60)
        return super().forward(*window)


@contextmanager
def served(
    model: ImageModel, races_folder: Path = Path("nowhere"), may_load: threading.Event | None = None
) -> Iterator[str]:
    """A page over a model that is ready, or will be when it may; with the recorded races of a
    folder."""
    pool = toy_pool(model, lambda: model if may_load is None or may_load.wait(60) else None)
    if may_load is None:
        pool.loader.wait(60)
    with served_pool(pool, RecordedRaces(races_folder)) as url:
        yield url


@contextmanager
def served_pool(pool: ModelPool, races: RecordedRaces = NONE_RECORDED) -> Iterator[str]:
    demo = build(pool, races)
    demo.launch(**LAUNCH, prevent_thread_lock=True, quiet=True)
    try:
        yield demo.local_url
    finally:
        demo.close()


@set_clocks()
def recorded(prompt: str, lanes: Sequence[str]) -> RecordedRace:
    """A race over a toy, run here and now; the clocks are set, so that it lasts as long on any
    machine. A toy has few codes: of its paper's share of them LANTERN would have no neighbour."""
    lanes = ["lantern:k=8" if name == "lantern" else name for name in lanes]
    return record(raced(model := Watched(), lanes, prompt, 7), model)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def wait_until(true: Callable[[], bool], seconds: float = 20) -> None:
    """Waits for something that the server does. Fails when it never does it."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
