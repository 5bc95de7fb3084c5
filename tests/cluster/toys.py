"""What the racers of the tests race, what they write down of it, and a race as one streams it."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from app.models.model_loader import ModelLoader
from app.models.model_pool import Availability, ModelPool
from app.workers.device_thread import device_thread
from app.workers.race_stream import RaceStream, Recording
from cluster.racer import Racer
from cluster.streams import Event, Stream
from engine.models.supply.card import ModelCard
from engine.race import Lane, Race, RaceRequest
from tests.app.conftest import Watched, toy_card, wait_until
from tests.clocks import scale_clocks

NEEDS = "it needs 99 GiB, and 1 GiB is free."


class Ledger:
    """A file for each process, in which every cache that is opened is a "+", every one that is
    closed a "-", every pass a "." and every public model that is loaded its name's first letter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, letter: str) -> None:
        file = os.open(self.folder / str(os.getpid()), os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(file, letter.encode())
        os.close(file)

    def read(self) -> dict[int, Counter[str]]:
        """The letters of each process."""
        return {int(file.name): Counter(file.read_text()) for file in self.folder.iterdir()}

    def total(self) -> Counter[str]:
        return sum(self.read().values(), Counter())

    def racing(self) -> list[int]:
        """The processes with an open cache."""
        return [pid for pid, letters in self.read().items() if letters["+"] > letters["-"]]


def to_be_closed() -> bool:
    """Whether the racer waits for its race's step to end, to close the race: between two steps its
    thread has nothing else to do."""
    return not device_thread(torch.device("cpu"))._work_queue.empty()


class Toy(Watched):
    """A toy in whose races of the prompt "held" a pass takes until the race is to end, as `ends`
    says. Races of "at once" wait for another process to race, too. Otherwise prompts change
    nothing."""

    def __init__(
        self, ledger: Ledger, name: str = "toy", ends: Callable[[], bool] = to_be_closed
    ) -> None:
        super().__init__()
        self.name, self._ledger, self._ends = name, ledger, ends

    def start(self, prompt: str, *more: Any) -> Any:
        context = super().start(prompt, *more)
        context.held, closed = prompt == "held", context.close
        self._ledger.write("+")
        if prompt == "at once":
            wait_until(lambda: len(self._ledger.racing()) >= 2)

        def close() -> None:
            self._ledger.write("-")
            context.close = closed
            closed()

        context.close = close
        return context

    def forward(self, context: Any, *window: Any) -> Any:
        if context.held:
            wait_until(self._ends)
        self._ledger.write(".")
        return super().forward(context, *window)


def request(*lanes: str, prompt: str = "red apple") -> RaceRequest:
    return RaceRequest(prompt, 7, tuple(map(Lane, lanes)), card("toy").sampling, "toy")


class Handle:
    """A handle of Ray Serve to racers whose races `start` starts, as far as the page uses one.
    `asked` has the model that each race wanted warm, and its lanes."""

    def __init__(
        self, ledger: Ledger, start: Callable[[RaceRequest], Stream] | None = None
    ) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._pool = pools(ledger.folder)()
        self._start = start or functools.partial(Racing, ledger)
        self.models = SimpleNamespace(remote=self._models)

    async def _models(self) -> dict[ModelCard, Availability]:
        return await Racer(lambda: self._pool).models()

    def options(self, *, stream: bool, multiplexed_model_id: str) -> Any:
        assert stream

        def remote(request: RaceRequest) -> Stream:
            lanes = tuple(lane.decoder for lane in request.lanes)
            self.asked.append((multiplexed_model_id, lanes))
            return self._start(request)

        return SimpleNamespace(race=SimpleNamespace(remote=remote))


class Racing:
    """A race in this process, as Ray Serve's handles stream one; `die` is raised after its first
    step."""

    def __init__(self, ledger: Ledger, request: RaceRequest, die: Exception | None = None) -> None:
        self.cancelled = threading.Event()
        self._model, self._request = Toy(ledger, ends=self.cancelled.is_set), request
        self._die = die

    def __iter__(self) -> Iterator[Event]:
        stream = RaceStream(Race(self._model, self._request), "a hint", float("inf"))
        with contextlib.closing(stream.events()) as events:
            for event in events:
                yield event
                if self._die is not None and any(frame.step for frame in stream.frames):
                    raise self._die
                if self.cancelled.is_set():
                    raise RuntimeError("cancelled")
        yield Recording(stream.recording().dumps())

    def cancel(self) -> None:
        self.cancelled.set()


def until_threads_end() -> None:
    """Waits for the threads of races, and for those that read racers' streams."""
    for thread in threading.enumerate():
        if thread.name.startswith(("race ", "racer ")):
            thread.join(300)
            assert not thread.is_alive()


def card(name: str) -> ModelCard:
    return toy_card(Toy(Ledger(Path()), name))


def pools(folder: Path) -> Callable[[], ModelPool]:
    """For a racer: of a toy, of another that is loaded when it is raced, and of a giant that does
    not fit."""
    return functools.partial(_pool, Ledger(folder))


def _pool(ledger: Ledger) -> ModelPool:
    if seed := os.environ.get("TEST_CLOCK_SEED"):
        scale_clocks(seed)

    def load(name: str, report: Any) -> Toy:
        ledger.write(name[0])
        return Toy(ledger, name)

    public = {card("other"): Availability(), card("giant"): Availability(NEEDS, "too large")}
    return ModelPool(ModelLoader(lambda: Toy(ledger)), card("toy"), public, load)
