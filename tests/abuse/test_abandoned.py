"""Races that clients start and leave, in every way they can go: nothing of them stays."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path
from typing import Any

import httpx

from app.page.launch import LAUNCH
from tests.abuse.conftest import Site, resident
from tests.app.conftest import wait_until

_sessions = itertools.count()


def join(site: Site) -> str:
    """Starts a race as the page does; returns the session."""
    session = f"gone{next(_sessions)}"
    values = site.race_values()
    body = {"data": values, "fn_index": site.numbers["board"], "session_hash": session}
    answer = site.client.post("/gradio_api/queue/join", json=body)
    assert answer.status_code == 200, answer.text
    return session


def listen(site: Site, client: httpx.Client | None = None) -> Any:
    """The events of a race that it starts."""
    params = {"session_hash": join(site)}
    return (client or site.client).stream("GET", "/gradio_api/queue/data", params=params)


def leave_at_once(site: Site) -> None:
    """Listens, and hangs up before a word has come."""
    with listen(site):
        pass


def leave_in_the_race(site: Site) -> None:
    """Watches it, and hangs up after a step."""
    with listen(site) as events:
        line = next(line for line in events.iter_lines() if "process_completed" in line)
    race = json.loads(line.removeprefix("data: "))["output"]["data"][0]["race"]
    with site.client.stream("GET", f"/races/{race}/events") as events:
        next(line for line in events.iter_lines() if line == "event: update")


def leave_by_cutting_the_line(site: Site) -> None:
    with httpx.Client(base_url=site.url, timeout=300) as client:
        stream = listen(site, client)
        next(stream.__enter__().iter_lines(), None)


def leave_the_call(site: Site) -> None:
    event = site.post(site.race_values()).json()["event_id"]
    with site.client.stream("GET", f"/gradio_api/call/board/{event}") as events:
        next(events.iter_lines(), None)


def leave_after_the_race(site: Site) -> None:
    with listen(site) as events:
        assert any("process_completed" in line for line in events.iter_lines())


WAYS = (
    *(leave_at_once, leave_in_the_race, leave_by_cutting_the_line),
    *(leave_the_call, leave_after_the_race),
)


def files(site: Site) -> int:
    return sum(1 for path in Path(site.demo.GRADIO_CACHE).rglob("*") if path.is_file())


def test_abandoned_races_leave_nothing(site: Site) -> None:
    assert LAUNCH["state_session_capacity"] <= 256, "here it is fewer"
    for way in WAYS * 2:  # more than the page remembers
        way(site)
    wait_until(site.idle)
    threads, kept, growth = threading.active_count(), files(site), list[float]()
    # A quarter of a megabyte a visitor, if gradio remembered them all, would be 5 in each round. A
    # process of gigabytes grows by as much once for reasons of its own.
    while len(growth) < 3 and not any(each < 4 for each in growth):
        before = resident()
        for way in WAYS * 4:
            way(site)
        wait_until(site.idle)
        growth.append(resident() - before)
    print(f"{growth} MiB more, {threading.active_count()} threads")
    assert min(growth) < 4
    assert (site.model.open, site.demo.app.iterators, files(site)) == (0, {}, kept)
    assert threading.active_count() <= threads + 4  # gradio's pool grows to its limit
    passes = site.model.passes
    site.races()
    assert site.model.passes - passes < 100, "nobody else's race ran on"
