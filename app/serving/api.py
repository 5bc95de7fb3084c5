"""The race for programs: three plain values in, the table of results out.

`gradio_client` calls it by `api_name="/race"`, an MCP client as the tool `race`, which answers in
JSON. It is a race like the page's own, in the same queue and under the same checks and limits, with
the model's sampling. `fill_in` is a race of an infilling, where a model of the page fills in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import gradio as gr

from app.page.fill_in import fillable
from app.page.handlers import Races
from app.page.visitor import address
from app.settings import SETTINGS
from visualize.layers import CLOCKS

# races that gradio runs at a time, waiting included: FairQueue decides which of them runs
CONCURRENCY = SETTINGS.queue_size + 8
# gradio's queue for the page's races and these
RACE_QUEUE: dict[str, Any] = {"concurrency_limit": CONCURRENCY, "concurrency_id": "race"}
# columns of the table, and the fields of a snapshot's lane that they show
COLUMNS = {name: name for name in ("decoder", "title", "badge", "state", "error")} | {
    "tokens": "n",
    "passes": "passes",
    "drafter_passes": "drafter",
    "seconds": "seconds",
    "tokens_per_pass": "compression",
    "shift": "shift",
}


class Api:
    """The API over `races`."""

    def __init__(self, races: Races) -> None:
        self._races = races

    def mount(self) -> None:
        """Adds it to the gr.Blocks being built."""
        gr.api(self.race, api_name="race", **RACE_QUEUE)
        if fillable(self._races.pool):
            gr.api(self.fill_in, api_name="fill_in", **RACE_QUEUE)

    def race(self, prompt: str, seed: int, lanes: list[str], request: gr.Request) -> Iterator[dict]:
        """Races decoders of one autoregressive image model against each other and returns the table
        of results. A lane is a decoder's name, or name and knobs: "gsd:G=50;d=0.3".

        Parameters:
            prompt: What the picture should show, in English, at most 1000 characters.
            seed: A whole number from 0 to 9007199254740991; the same seed runs the same race.
            lanes: 1 to 8 of these: ar, jacobi, fpi, sjd, scd, sjd-relaxed, gsd, lantern, sjd-pac.
        Returns: The state, and each lane's forward passes, seconds, speed-up over vanilla AR and
            shift: how far, on average, one test of a draft commits from the model's own
            distribution (TV, 0 to 1); 0 for a lossless decoder, null where no draft was tested.
        """
        yield from self._run({"prompt": prompt, "seed": seed, "lanes": lanes}, request)

    def fill_in(
        self,
        prompt: str,
        seed: int,
        lanes: list[str],
        known: list[int],
        order: str,
        request: gr.Request,
    ) -> Iterator[dict]:
        """Races decoders that fill in a part of a picture, and returns the table of results, as
        `race` does.

        Parameters:
            prompt: What the whole picture should show, in English, at most 1000 characters.
            seed: A whole number from 0 to 9007199254740991; the same seed runs the same race.
            lanes: 1 to 8 of those of `race`, assd and parallel.
            known: The picture's codes, row by row, and -1 where it is to be filled in.
            order: The order in which it is filled in: spread or raster.
        """
        values = {"prompt": prompt, "seed": seed, "lanes": lanes}
        infilling = {"known": known, "order": order}
        yield from self._run(values | {"infilling": infilling}, request)

    def _run(self, values: dict[str, Any], request: gr.Request) -> Iterator[dict]:
        # A generator, although only the last value counts: gradio closes it when the client
        # disconnects, and with it the race.
        values = self._races.default_values | values
        result: dict[str, Any] = {"state": "waiting", "lanes": []}
        # No session: each has one race at a time, and all MCP clients share one.
        with contextlib.closing(self._races.race("", address(request), values)) as boards:
            for board in boards:
                if board is not None:
                    result = table(board)
                yield result


def table(snapshot: dict[str, Any]) -> dict[str, Any]:
    """A snapshot of the board without its pictures and tokens. Places and speed-ups are None until
    they are known."""
    rows = [
        {name: lane[field] for name, field in COLUMNS.items()}
        | {f"place_by_{clock}": lane["places"][clock] for clock in CLOCKS}
        | {f"faster_by_{clock}": None for clock in CLOCKS}
        for lane in snapshot["lanes"]
    ]
    for result in snapshot["results"]:
        faster = {f"faster_by_{clock}": result["faster"][clock] for clock in CLOCKS}
        rows[result["lane"]] |= faster
    fields = ("state", "note", "prompt", "seed", "model", "machine")
    return {field: snapshot[field] for field in fields} | {"lanes": rows}
