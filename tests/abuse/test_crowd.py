"""Fifty visitors at once: a bounded queue, a race or a rejection in words for each, and nothing of
them left."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch

from app.settings import SETTINGS
from tests.abuse.conftest import Site, resident, wait_until, words
from tests.app.conftest import Watched
from tests.toy import ToyContext

VISITORS = 50
KEPT = 48  # MiB that a second crowd may add: pages of the allocator, which the next one uses again


@contextmanager
def held(model: Watched) -> Iterator[None]:
    """Inside it no race gets beyond its start."""
    goes_on, start = threading.Event(), model.start

    def waits(*arguments: object) -> ToyContext:
        assert goes_on.wait(60)
        return start(*arguments)

    with patch.object(model, "start", waits):
        try:
            yield
        finally:
            goes_on.set()


def crowd(site: Site, prompt: str, visitors: int = VISITORS) -> tuple[int, list[str]]:
    """How many raced, and the messages of the others. All are there before the first race goes on,
    on any machine."""
    with ThreadPoolExecutor(visitors) as pool, held(site.model):
        calls = [
            pool.submit(site.call, site.race_values(f"{prompt} {i}", lanes=("sjd",)))
            for i in range(visitors)
        ]
        too_many = visitors - SETTINGS.queue_size - 1  # one races
        wait_until(lambda: sum(call.done() for call in calls) >= too_many, 50)
    ends = [call.result() for call in calls]
    for i, (event, data) in enumerate(ends):
        if event == "complete":
            assert data[0]["prompt"] == f"{prompt} {i}", "everyone gets their own race"
            assert data[0]["state"] == "finished"
    rejected = [
        data if event == "rejected" else words(data) for event, data in ends if event != "complete"
    ]
    return visitors - len(rejected), rejected


def test_everyone_of_fifty_gets_a_race_or_a_clear_rejection_and_memory_returns(site: Site) -> None:
    crowd(site, "warm", 20)
    wait_until(site.idle)
    before = resident()
    raced, rejected = crowd(site, "apple")
    freed = wait_until(site.idle)
    after = resident()
    print(
        f"{raced} raced, {len(rejected)} rejected, {before:.0f} MiB before, {after:.0f} after, idle"
        f" {freed:.2f} s later"
    )
    assert SETTINGS.queue_size <= raced < VISITORS
    assert all("Try again" in text or "waiting" in text for text in rejected), rejected
    assert after - before < KEPT
    site.races()
