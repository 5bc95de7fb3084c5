"""Fifty visitors at once, and a hall that watches besides: a bounded queue, and a race of their own
or a rejection in words for each."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import httpx

from app.page.launch import LAUNCH
from app.races import live_race
from app.settings import SETTINGS
from tests.abuse.conftest import Site, open_site, words
from tests.app.conftest import Watched
from tests.coroutines import run
from tools.judge.toys import ToyContext

VISITORS, WATCHERS = 50, 200
HALL = "the race of the hall"


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


class Page:
    """A page in a browser: a session of gradio's, whose events go through its queue."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client, self._session = client, secrets.token_hex(6)

    async def event(self, number: int, data: list[Any]) -> dict[str, Any]:
        """The message that ends it. Fails where the queue does not let it in."""
        event = {"fn_index": number, "data": data, "session_hash": self._session}
        url = "/gradio_api/queue"
        answer = await self._client.post(f"{url}/join", json=event)
        assert answer.status_code == 200, answer.text
        mine = {"session_hash": self._session}
        async with self._client.stream("GET", f"{url}/data", params=mine) as answer:
            async for line in answer.aiter_lines():
                message = json.loads(line.removeprefix("data: ") or "{}")
                if message.get("msg") == "process_completed":
                    return message
        raise AssertionError("the event has no end")

    async def watch(self, race: str) -> tuple[str, str]:
        """The prompt of the race, as its stream says it, and the state that it ends with."""
        prompt = state = ""
        async with self._client.stream("GET", f"/races/{race}/events") as answer:
            assert answer.status_code == 200
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    message = json.loads(line[6:])
                    prompt, state = message.get("prompt", prompt), message["state"]
        return prompt, state


async def hall(site: Site) -> tuple[list[object], list[str]]:
    """How a race ends for each of those who open its link while it is held, and whose pages then
    all ask for its figures; and how their own does for each of those who ask for one meanwhile."""
    config, opened = (await asyncio.to_thread(site.client.get, "/config")).json(), []
    numbers = {target[1]: d["id"] for d in config["dependencies"] for target in d["targets"]}
    # A connection that was kept may be closed just as it is used again, which browsers forgive.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=site.url, timeout=300, limits=limits) as client:

        async def ask(prompt: str) -> dict[str, Any]:
            values = site.race_values(prompt, lanes=("sjd",))
            message = await Page(client).event(site.numbers["board"], values)
            return message["output"]

        async def watch(race: str) -> str:
            page = Page(client)
            assert (await page.event(numbers["load"], [f"?race={race}"]))["success"]
            opened.append(page)
            _, state = await page.watch(race)
            assert (await page.event(numbers["over"], [race, ""]))["success"]
            return state

        async def visit(prompt: str) -> str:
            output = await ask(prompt)
            if "data" not in output:
                return words(output)
            own, state = await Page(client).watch(output["data"][0]["race"])
            assert own == prompt, "everyone gets their own race"
            return state

        with held(site.model):
            race = (await ask(HALL))["data"][0]["race"]
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
    assert watched == [(HALL, "finished"), *["finished"] * WATCHERS]
    assert asked.count("finished") == SETTINGS.queue_size
    rejected = [end for end in asked if end != "finished"]
    assert all("races are waiting" in text for text in rejected), rejected
