"""Fifty visitors at once: a bounded queue, a race or a rejection in words for each, and nothing of
them left."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from app.settings import SETTINGS
from tests.abuse.conftest import Site, resident, wait_until, words

VISITORS = 50
KEPT = 48  # MiB that a second crowd may add: pages of the allocator, which the next one uses again


def crowd(site: Site, prompt: str, visitors: int = VISITORS) -> tuple[int, list[str]]:
    """How many raced, and the messages of the others."""
    with ThreadPoolExecutor(visitors) as pool:
        ends = list(
            pool.map(
                lambda i: site.call(site.race_values(f"{prompt} {i}", lanes=("sjd",))),
                range(visitors),
            )
        )
    for i, (event, data) in enumerate(ends):
        if event == "complete":
            assert data[0]["prompt"] == f"{prompt} {i}", "everyone gets their own race"
            assert data[0]["state"] == "finished"
    rejected = [
        data if event == "rejected" else words(data) for event, data in ends if event != "complete"
    ]
    return visitors - len(rejected), rejected


def test_everyone_of_fifty_gets_a_race_or_a_clear_refusal_and_memory_returns(site: Site) -> None:
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
