"""Pages that tests open: servers over toy models, in the tests' process, and races over a toy to
play on them."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gradio as gr

from app.models.model_pool import ModelPool
from app.page.launch import LAUNCH
from app.page.layout import build
from app.races.recorded_races import RecordedRaces
from engine.models.base import ImageModel
from tests.app.conftest import NONE_RECORDED, Watched, toy_pool
from tests.browser import delays  # noqa: F401 - of `make soak`
from tests.clocks import set_clocks
from tests.ports import free_port
from tests.races import raced
from visualize.pictures.recorded_race import RecordedRace, record

PATIENCE = 600  # seconds
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
            self._open.wait(PATIENCE)
        return super().forward(*window)


@contextmanager
def served(model: ImageModel, races_folder: Path = Path("nowhere")) -> Iterator[str]:
    """A page over a model that is ready, with the recorded races of a folder."""
    pool = toy_pool(model)
    pool.loader.wait(PATIENCE)
    with served_pool(pool, RecordedRaces(races_folder)) as url:
        yield url


@contextmanager
def served_pool(pool: ModelPool, races: RecordedRaces = NONE_RECORDED) -> Iterator[str]:
    with launched(build(pool, races)) as url:
        yield url


@contextmanager
def launched(demo: gr.Blocks, **options: Any) -> Iterator[str]:
    """The address of a page; `options` are those of its launch that are not the page's own."""
    # Gradio would look for one itself, but can start a page once only: where another program took
    # the port just before it, it would try the others in vain.
    with free_port() as port:
        options |= {"server_port": port, "prevent_thread_lock": True, "quiet": True}
        demo.launch(**LAUNCH | options)
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
