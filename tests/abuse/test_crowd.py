"""Fifty visitors at once: a bounded queue, and a race or a rejection in words for each."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch

from app.settings import SETTINGS
from engine.judge.toys import ToyContext
from tests.abuse.conftest import Site, words
from tests.app.conftest import Watched, wait_until

VISITORS = 50


@contextmanager
def held(model: Watched) -> Iterator[None]:
    """Inside it no race gets beyond its start."""
    goes_on, start = threading.Event(), model.start

    def waits(*arguments: object) -> ToyContext:
        assert goes_on.wait(300)
        return start(*arguments)

    with patch.object(model, "start", waits):
        try:
            yield
        finally:
            goes_on.set()


def test_everyone_of_fifty_gets_a_race_or_a_clear_rejection(site: Site) -> None:
    """All are there before the first race goes on, on any machine."""
    with ThreadPoolExecutor(VISITORS) as pool, held(site.model):
        values = [site.race_values(f"apple {i}", lanes=("sjd",)) for i in range(VISITORS)]
        calls = [pool.submit(site.call, each) for each in values]
        too_many = VISITORS - SETTINGS.queue_size - 1  # one races
        wait_until(lambda: sum(call.done() for call in calls) >= too_many)
    ends, rejected = [call.result() for call in calls], []
    for i, (event, data) in enumerate(ends):
        if event == "complete":
            assert data[0]["prompt"] == f"apple {i}", "everyone gets their own race"
            assert data[0]["state"] == "finished"
        else:
            rejected.append(data if event == "rejected" else words(data))
    assert SETTINGS.queue_size <= VISITORS - len(rejected) < VISITORS
    assert all("Try again" in text or "waiting" in text for text in rejected), rejected
