"""Races of one device run on one thread of their own, whoever asks for their events."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest
import torch

from app.serving.device_thread import on_device_thread

CPU = torch.device("cpu")


def names(ended: list[str]) -> Generator[str, None, None]:
    try:
        for _ in range(3):
            yield threading.current_thread().name
        raise ValueError("the race failed")
    finally:
        ended.append(threading.current_thread().name)


def test_every_event_and_the_end_are_on_the_devices_thread() -> None:
    ended = list[str]()
    events, seen = on_device_thread(CPU, names(ended)), list[str]()
    for _ in range(3):
        asking = threading.Thread(target=lambda: seen.append(next(events)))
        asking.start()
        asking.join()
    with pytest.raises(ValueError, match="the race failed"):
        next(events)
    assert len({*seen, *ended}) == 1
    assert seen[0] != threading.current_thread().name


def test_closed_early_it_ends_on_the_devices_thread() -> None:
    ended = list[str]()
    events = on_device_thread(CPU, names(ended))
    thread = next(events)
    events.close()
    assert ended == [thread]
