"""Fifty visitors at once: a bounded queue, and a race or a rejection in words for each. A hall that
watches besides."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import httpx

from app.page.launch import LAUNCH
from app.races import live_race
from app.settings import SETTINGS
from engine.judge.toys import ToyContext
from tests.abuse.conftest import Site, open_site, words
from tests.app.conftest import Watched, wait_until
from tests.coroutines import run

VISITORS, WATCHERS = 50, 200


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


class Page:
    """A page in a browser: a session of gradio's, whose events go through its queue."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client, self._session = client, secrets.token_hex(6)

    async def event(self, number: int, data: list[Any], query: dict[str, str]) -> dict[str, Any]:
        """The message that ends it. Fails where the queue does not let it in."""
        event = {"fn_index": number, "data": data, "session_hash": self._session}
        url = "/gradio_api/queue"
        answer = await self._client.post(f"{url}/join", json=event, params=query)
        assert answer.status_code == 200, answer.text
        mine = {"session_hash": self._session}
        async with self._client.stream("GET", f"{url}/data", params=mine) as answer:
            async for line in answer.aiter_lines():
                message = json.loads(line.removeprefix("data: ") or "{}")
                if message.get("msg") == "process_completed":
                    return message
        raise AssertionError("the event has no end")

    async def watch(self, race: str) -> str:
        """The state that the race's stream ends with."""
        state = ""
        async with self._client.stream("GET", f"/races/{race}/events") as answer:
            assert answer.status_code == 200
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    state = json.loads(line[6:])["state"]
        return state


async def hall(site: Site) -> tuple[list[str], list[str]]:
    """How a race ends for each of those who open its link while it is held, and whose pages then
    all ask for its figures; and how their own does for each of those who ask for one meanwhile."""
    config, opened = (await asyncio.to_thread(site.client.get, "/config")).json(), []
    numbers = {target[1]: d["id"] for d in config["dependencies"] for target in d["targets"]}
    # A connection that was kept may be closed just as it is used again, which browsers forgive.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=site.url, timeout=300, limits=limits) as client:

        async def ask(prompt: str) -> dict[str, Any]:
            values = site.race_values(prompt, lanes=("sjd",))
            message = await Page(client).event(site.numbers["board"], values, {})
            return message["output"]

        async def watch(race: str) -> str:
            page = Page(client)
            assert (await page.event(numbers["load"], [], {"race": race}))["success"]
            opened.append(page)
            state = await page.watch(race)
            assert (await page.event(numbers["over"], [race, ""], {}))["success"]
            return state

        async def visit(prompt: str) -> str:
            output = await ask(prompt)
            if "data" not in output:
                return words(output)
            return await Page(client).watch(output["data"][0]["race"])

        with held(site.model):
            race = (await ask("the race of the hall"))["data"][0]["race"]
            own = asyncio.create_task(Page(client).watch(race))
            visitors = [asyncio.create_task(visit(f"apple {i}")) for i in range(VISITORS)]
            watchers = [asyncio.create_task(watch(race)) for _ in range(WATCHERS)]
            too_many = VISITORS - SETTINGS.queue_size  # the hall's race is the one that is on
            while len(opened) < WATCHERS or sum(task.done() for task in visitors) < too_many:
                assert not any(task.done() for task in watchers), "it failed"
                await asyncio.sleep(0.02)
            assert threading.active_count() < WATCHERS, "none has a thread of its own"
        return await asyncio.gather(own, *watchers), await asyncio.gather(*visitors)


def test_a_hall_that_watches_and_those_who_race_do_not_keep_one_another_out(monkeypatch) -> None:
    monkeypatch.setattr(live_race, "UNWATCHED_SECONDS", 300.0)  # on a slow machine
    with open_site(Watched(), LAUNCH["state_session_capacity"]) as site:
        watched, asked = run(hall(site))
    assert watched == ["finished"] * (1 + WATCHERS)
    assert asked.count("finished") == SETTINGS.queue_size
    rejected = [end for end in asked if end != "finished"]
    assert all("races are waiting" in text for text in rejected), rejected
