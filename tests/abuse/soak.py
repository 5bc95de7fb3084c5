"""Puts the page under more load than `make test` has time for, and prints what came of it.

    python -m tests.abuse.soak
    python -m tests.abuse.soak --only calls

A row for each trial: what was asked, what was answered, seconds, and the process's memory and
threads before and after. The page races a toy, in this process. An answer that is neither what was
asked for nor a sentence ends a trial with an error."""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable

import httpx
import torch

from app.api.request_guard import NO_ROOM
from app.page.launch import LAUNCH
from engine.race.hardware import device_name
from tests.abuse.conftest import Site, open_site, resident, words
from tests.abuse.test_abandoned import WAYS
from tests.abuse.test_crowd import Page, held
from tests.abuse.test_files import upload
from tests.app.conftest import Watched, wait_until
from tests.browser.servers import recorded
from tests.coroutines import run
from tests.mcp_client import tool

VISITORS, ABANDONED, SUBSCRIBERS = 50, 200, 500
RACES, UPLOADS = 30, 200
GUESSES, CALLS, MCP_CALLS, CALLERS = 500, 1900, 100, 20
DISK = 2 * 2**20  # bytes
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=0)


def asked(site: Site) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=site.url, timeout=600, limits=LIMITS)


async def _begin(site: Site, client: httpx.AsyncClient, prompt: str) -> str:
    """Return the id of a race, or the sentence that rejects it."""
    values = site.race_values(prompt, lanes=("sjd",))
    output = (await Page(client).event(site.numbers["board"], values))["output"]
    return output["data"][0]["race"] if "data" in output else words(output)


def visitors(site: Site) -> str:
    """Visitors who all press Race at once: each sees their own race's end, or a sentence."""

    async def all_at_once() -> list[str]:
        async with asked(site) as client:

            async def visit(number: int) -> str:
                race = await _begin(site, client, f"apple {number}")
                if " " in race:
                    return "rejected in words"
                prompt, state = await Page(client).watch(race)
                assert prompt == f"apple {number}"
                return state

            return await asyncio.gather(*map(visit, range(VISITORS)))

    return counted(run(all_at_once()))


def abandoned(site: Site) -> str:
    for way in WAYS * (ABANDONED // len(WAYS)):
        way(site)
    return f"{ABANDONED} left"


def subscribers(site: Site) -> str:
    """One race and all who watch it, from its beginning to its end."""

    async def all_watch() -> list[str]:
        async with asked(site) as client:

            async def watch(race: str) -> str:
                return (await Page(client).watch(race))[1]

            with held(site.model):
                race = await _begin(site, client, "the race of the hall")
                tasks = [asyncio.create_task(watch(race)) for _ in range(SUBSCRIBERS)]
                await asyncio.sleep(5)  # most of them are there by then; the others come late
            return await asyncio.gather(*tasks)

    return counted(run(all_watch()))


def races_and_uploads(site: Site) -> str:
    trace = recorded("red apple", ("ar", "sjd", "gsd")).dumps().encode()
    for number in range(UPLOADS):
        if number * RACES // UPLOADS != (number - 1) * RACES // UPLOADS:
            site.races()
        (path,) = upload(site, "file", trace).json()
        event, data = site.call([{"path": path, "meta": {"_type": "gradio.FileData"}}], "open")
        assert event == "complete", data
    return f"{RACES} raced, {UPLOADS} opened"


def guesses(site: Site) -> str:
    """Codes of a stage that one address tries, of which none is right."""
    press = {"phone": "a phone that guesses", "number": 0, "by": 1}
    ends = Counter[str]()
    for number in range(GUESSES):
        code = f"{10**7 + number}"
        answer = site.client.post("/remotes/presses", json={"code": code, **press})
        ends[str(answer.status_code)] += 1
        assert answer.json()["error"]
    return ", ".join(f"{count} answered {status}" for status, count in ends.items())


def calls(site: Site) -> str:
    """Programs that call again and again, over the API and over MCP."""
    address = "/gradio_api/call/v2/race"

    async def all_call() -> list[str]:
        async with asked(site) as client:

            async def caller(first: int) -> list[str]:
                return [await call(seed) for seed in range(first, CALLS, CALLERS)]

            async def call(seed: int) -> str:
                body = {"prompt": "red apple", "seed": seed, "lanes": ["sjd"]}
                answer = await client.post(address, json=body)
                if answer.status_code != 200:
                    return f"rejected with {answer.status_code}"
                event = answer.json()["event_id"]
                ended = (await client.get(f"/gradio_api/call/race/{event}")).text
                return "finished" if '"state": "finished"' in ended else ended[-200:]

            ends = await asyncio.gather(*map(caller, range(CALLERS)))
            return [end for each in ends for end in each]

    ends = run(all_call())
    for seed in range(MCP_CALLS):
        _, answer = tool(site.url, prompt="red apple", seed=seed, lanes=["sjd"])
        ends.append("MCP error" if answer.isError else "finished over MCP")
    return counted(ends)


def small_disk(site: Site) -> str:
    """Uploads onto a disk of two megabytes, in a process and a namespace of their own."""
    with tempfile.TemporaryDirectory() as folder:
        mount = f"mount -t tmpfs -o size={DISK} none {folder} && exec {sys.executable} -m"
        command = f"{mount} tests.abuse.soak --only uploads_until_full"
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command],
            env={**os.environ, "TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| uploads until full")]
    return row.split("|")[2].strip()


def uploads_until_full(site: Site) -> str:
    file, stored = os.urandom(2**19), 0
    while (answer := upload(site, "file", file)).status_code == 200:
        file, stored = os.urandom(2**19), stored + 1  # the same file would be stored once
        assert stored < 100, "the disk was not full"
    assert answer.status_code == 507
    assert answer.json()["error"] == NO_ROOM
    return f"{stored} stored, then {answer.status_code} in words, and a race"


def counted(ends: list[str]) -> str:
    return ", ".join(f"{count} {end}" for end, count in Counter(ends).most_common())


TRIALS: tuple[Callable[[Site], str], ...] = (
    *(visitors, abandoned, subscribers, races_and_uploads, guesses, calls, small_disk),
)


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.abuse.soak", description=__doc__)
    names = {trial.__name__: trial for trial in (*TRIALS, uploads_until_full)}
    parser.add_argument("--only", choices=names)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each subscriber has two sockets here
    print(f"{device_name(torch.device('cpu'))}\n")
    print("| trial | what came of it | seconds | MiB before, after | threads before, after |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    for trial in (names[options.only],) if options.only else TRIALS:
        with open_site(Watched(), LAUNCH["state_session_capacity"]) as site:
            site.races()
            wait_until(site.idle)
            before, threads, began = resident(), threading.active_count(), time.monotonic()
            came = trial(site)
            wait_until(site.idle)
            seconds = time.monotonic() - began
            site.races()
            print(
                f"| {trial.__name__.replace('_', ' ')} | {came} | {seconds:.0f} |"
                f" {before:.0f}, {resident():.0f} | {threads}, {threading.active_count()} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
