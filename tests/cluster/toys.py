"""What the racers of the tests race, and what they write down of it."""

from __future__ import annotations

import functools
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.models.model_loader import ModelLoader
from app.models.model_pool import Availability, ModelPool
from engine.models.supply.card import ModelCard
from tests.app.conftest import Watched, toy_card
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


class Toy(Watched):
    """A toy in whose races of the prompt "slow" a pass takes a second. Those of "at once" wait for
    another process to race, too. Otherwise prompts change nothing."""

    def __init__(self, ledger: Ledger, name: str = "toy") -> None:
        super().__init__()
        self.name, self._ledger = name, ledger

    def start(self, prompt: str, *more: Any) -> Any:
        context = super().start(prompt, *more)
        context.slow, closed = prompt == "slow", context.close
        self._ledger.write("+")
        end = time.monotonic() + 300
        while prompt == "at once" and len(self._ledger.racing()) < 2 and time.monotonic() < end:
            time.sleep(0.01)

        def close() -> None:
            self._ledger.write("-")
            context.close = closed
            closed()

        context.close = close
        return context

    def forward(self, context: Any, *window: Any) -> Any:
        if context.slow:
            time.sleep(1)
        self._ledger.write(".")
        return super().forward(context, *window)


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
