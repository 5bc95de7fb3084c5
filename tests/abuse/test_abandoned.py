"""Two hundred races started and abandoned, in every way a client can go: nothing of them stays."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path

import httpx

from tests.abuse.conftest import Site, resident, wait_until

RACES, LANES = 200, 5
_sessions = itertools.count()


def join(site: Site) -> str:
    """Starts a race as the page does; returns the session."""
    session = f"gone{next(_sessions)}"
    values = site.race_values(lanes=("ar", "jacobi", "sjd", "gsd", "sjd-pac"))
    body = {"data": values, "fn_index": site.numbers["board"], "session_hash": session}
    answer = site.client.post(
        "/gradio_api/queue/join",
        content=json.dumps(body),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 200, answer.text
    return session


def leave_at_once(site: Site) -> None:
    """Listens, and hangs up before a word has come."""
    with site.client.stream("GET", "/gradio_api/queue/data", params={"session_hash": join(site)}):
        pass


def leave_in_the_race(site: Site) -> None:
    with site.client.stream(
        "GET", "/gradio_api/queue/data", params={"session_hash": join(site)}
    ) as events:
        for line in events.iter_lines():
            if "process_generating" in line:
                return


def leave_by_cutting_the_line(site: Site) -> None:
    with httpx.Client(base_url=site.url) as client:
        stream = client.stream("GET", "/gradio_api/queue/data", params={"session_hash": join(site)})
        next(stream.__enter__().iter_lines(), None)


def leave_the_call(site: Site) -> None:
    event = site.post(site.race_values()).json()["event_id"]
    with site.client.stream("GET", f"/gradio_api/call/board/{event}") as events:
        next(events.iter_lines(), None)


WAYS = (leave_at_once, leave_in_the_race, leave_by_cutting_the_line, leave_the_call)


def files(site: Site) -> int:
    return sum(1 for path in Path(site.demo.GRADIO_CACHE).rglob("*") if path.is_file())


def test_two_hundred_abandoned_races_leave_nothing(site: Site) -> None:
    for way in WAYS * 12:  # more visitors than the page keeps a last race of
        way(site)
    wait_until(site.idle)
    memory, threads, kept = resident(), threading.active_count(), files(site)
    for _, way in zip(range(RACES), itertools.cycle(WAYS), strict=False):
        way(site)
    freed = wait_until(site.idle, 30)
    after = resident()
    print(
        f"{memory:.0f} MiB before, {after:.0f} after, idle {freed:.2f} s after the last,"
        f" {threading.active_count()} threads"
    )
    assert (site.model.open, site.demo.app.iterators, files(site)) == (0, {}, kept)
    assert threading.active_count() <= threads + 4  # gradio's pool grows to its limit
    # a quarter of a megabyte a visitor, if gradio remembered them all, would be 50
    assert after - memory < 32
    passes = site.model.passes
    site.races()
    assert site.model.passes - passes < 100, "nobody else's race ran on"
