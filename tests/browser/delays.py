"""Delays of what a page asks its server for, for `make soak`: `SOAK_SEED=7 pytest tests/browser`
answers Gradio's scripts, the board's, recorded races and streams up to three seconds late. The same
seed delays the same requests by as much."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from random import Random
from typing import Any

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.page_blocks import PageBlocks

LONGEST = 3.0  # seconds
DELAYED = re.compile(r"/assets/[^/]+\.js$|/files/[^/]+/[^/]+\.(js|json)$|/races/[^/]+/events$")
_EVENTS = re.compile(r"/races/[^/]+/events$")  # a race's id is another in each run


class Delays:
    """Answers each delayed request after a time that follows from the seed, its path and how often
    that path was asked for before."""

    def __init__(self, app: ASGIApp, seed: str) -> None:
        self._app, self._seed = app, seed
        self._asked: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and DELAYED.search(scope["path"]):
            path = _EVENTS.sub("/events", scope["path"])
            self._asked[path] += 1
            random = Random(f"{self._seed} {path} {self._asked[path]}")
            await asyncio.sleep(random.uniform(0, LONGEST))
        await self._app(scope, receive, send)


def delay_pages(seed: str) -> None:
    """Delays the answers of every page that this process serves from now on."""
    extensions = PageBlocks.extensions

    def with_delays(page: PageBlocks) -> dict[str, Any]:
        options = extensions(page)
        options["middleware"].append(Middleware(Delays, seed=seed))
        return options

    PageBlocks.extensions = with_delays


if seed := os.environ.get("SOAK_SEED"):
    delay_pages(seed)
