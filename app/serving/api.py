"""The race for programs: three plain values in, the table of results out.

`gradio_client` calls it by `api_name="/race"`, an MCP client as the tool `race`. It is a race like
the page's own, in the same queue and under the same checks and limits, with the model's sampling
and every decoder's default settings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from app.page.handlers import Races
from app.serving.race_stream import Snapshot
from app.settings import SETTINGS

QUEUE_ID = "race"  # of gradio's queue that the page's races and these share
# races in it at a time, waiting included: FairQueue decides which of them runs
CONCURRENCY = SETTINGS.queue_size + 8


@dataclass(frozen=True, slots=True)
class ApiClient:
    """A gradio request without its session: a session has one race at a time, but all MCP clients
    share one session."""

    headers: Any
    client: Any
    session_hash: None = None


class Api:
    """The API over `races`."""

    def __init__(self, races: Races) -> None:
        self._races = races

    def mount(self) -> None:
        """Adds it to the gr.Blocks being built."""
        gr.api(self.race, api_name="race", concurrency_limit=CONCURRENCY, concurrency_id=QUEUE_ID)

    def race(self, prompt: str, seed: int, lanes: list[str], request: gr.Request) -> Iterator[dict]:
        """Races decoders of one autoregressive image model against each other and returns the table
        of results.

        Parameters:
            prompt: What the picture should show, in English, at most 1000 characters.
            seed: A whole number from 0 to 9007199254740991; the same seed runs the same race.
            lanes: The decoders that race, each once: ar, jacobi, fpi, sjd, gsd, lantern, sjd-pac.
        Returns: The race's state, and for each lane its forward passes, its seconds and its
            speed-up over vanilla AR.
        """
        # A generator, although only the last value counts: gradio closes it when the client
        # disconnects, and with it the race.
        values = self._races.default_values | {"prompt": prompt, "seed": seed, "lanes": lanes}
        client = ApiClient(request.headers, request.client)
        result: dict[str, Any] = {"state": "waiting", "lanes": []}
        with contextlib.closing(self._races.race(client, values)) as events:
            for event in events:
                if isinstance(event, Snapshot):
                    result = table(event.board)
                yield result


def table(snapshot: dict[str, Any]) -> dict[str, Any]:
    """A snapshot of the board without its pictures and tokens. Places and speed-ups are None until
    they are known."""
    rows = [
        {
            "decoder": lane["decoder"],
            "title": lane["title"],
            "badge": lane["badge"],
            "state": lane["state"],
            "error": lane["error"],
            "tokens": lane["n"],
            "passes": lane["passes"],
            "drafter_passes": lane["drafter"],
            "seconds": lane["seconds"],
            "tokens_per_pass": lane["compression"],
            "place_by_passes": lane["places"]["passes"],
            "place_by_seconds": lane["places"]["seconds"],
            "faster_by_passes": None,
            "faster_by_seconds": None,
        }
        for lane in snapshot["lanes"]
    ]
    for result in snapshot["results"]:
        for clock, faster in result["faster"].items():
            rows[result["lane"]][f"faster_by_{clock}"] = faster
    fields = ("state", "note", "prompt", "seed", "model", "machine")
    return {field: snapshot[field] for field in fields} | {"lanes": rows}
