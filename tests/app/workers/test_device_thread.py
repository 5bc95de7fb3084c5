"""Races of one device run on one thread of their own, with as many threads as a pass gains from."""

from __future__ import annotations

import runpy
import threading

import pytest
import torch

from app.races.races import Races
from app.workers import device_thread
from tests.app.conftest import NONE_RECORDED, Watched, begun, ready_pool
from tools.judge.toys import Toy


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
    thread = device_thread.device_thread(torch.device("cpu"))
    name = thread.submit(threading.current_thread).result().name
    assert model.threads == {name} != {threading.current_thread().name}


@pytest.mark.parametrize(("cores", "own", "public"), [(1, 1, 1), (2, 1, 2), (4, 2, 3), (16, 2, 15)])
def test_a_public_model_computes_on_all_cores_but_one(monkeypatch, cores, own, public) -> None:
    threads = []
    monkeypatch.setattr(device_thread, "_CORES", cores)
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    model = Toy()
    for model.slow_pixels in (False, True):
        device_thread.use_threads(model)
    model.device = torch.device("cuda")
    device_thread.use_threads(model)
    assert threads == [own, public]


@pytest.mark.parametrize(("quota", "cores"), [(3, 3), (64, 8)])
def test_the_cores_are_those_of_a_containers_quota(monkeypatch, quota, cores) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr("engine.processors.processors", lambda: quota)
    assert runpy.run_path(device_thread.__file__)["_CORES"] == cores
