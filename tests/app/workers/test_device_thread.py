"""Races of one device run on one thread of their own."""

from __future__ import annotations

import threading

import torch

from app.races.races import Races
from app.workers.device_thread import device_thread
from tests.app.conftest import NONE_RECORDED, Watched, begun, ready_pool


class Named(Watched):
    """A toy that knows the threads of its forward passes."""

    def __init__(self) -> None:
        super().__init__()
        self.threads = set[str]()

    def forward(self, *window):
        self.threads.add(threading.current_thread().name)
        return super().forward(*window)


def test_every_race_is_on_the_devices_thread() -> None:
    races = Races(ready_pool(model := Named()), NONE_RECORDED)
    for _ in range(2):
        list(begun(races))
    name = device_thread(torch.device("cpu")).submit(threading.current_thread).result().name
    assert model.threads == {name} != {threading.current_thread().name}
