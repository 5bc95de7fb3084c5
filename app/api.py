"""The race as a program sees it: three plain values in, the table of results out.

`gradio_client` reaches it as `api_name="/race"`, and an MCP client as the tool `race`. It is the
page's own race, with the model's own sampling and every decoder's defaults: in the same queue,
under the same checks and limits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from app.form import values
from app.handlers import Races
from app.settings import SETTINGS

QUEUE = "race"  # one line for the page's races and these
# so many may stand in the page's own queue, or race: app.turns says whose turn it is
AT_ONCE = SETTINGS.queue_size + 8


@dataclass(frozen=True, slots=True)
class Program:
    """Who asks, without a session: a session holds one race at a time, and all agents come through
    the same."""

    headers: Any
    client: Any
    session_hash: None = None


class Api:
    """What programs may ask of `races`."""

    def __init__(self, races: Races) -> None:
        self._races = races

    def mount(self) -> None:
        """Adds it to the gr.Blocks being laid out."""
        gr.api(self.race, api_name="race", concurrency_limit=AT_ONCE, concurrency_id=QUEUE)

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
        # A generator, though only the last value counts: gradio closes it when the program goes
        # away, and the race ends.
        knobs = values(self._races.usual)[3:]
        program = Program(request.headers, request.client)
        with contextlib.closing(
            self._races.race(program, prompt, seed, lanes, *knobs)
        ) as snapshots:
            shown: dict[str, Any] = {"state": "waiting", "lanes": []}
            for snapshot in snapshots:
                # else nothing has changed, in the queue or while the model is loaded
                if "lanes" in snapshot:
                    shown = table(snapshot)
                yield shown


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
        faster = result["faster"]
        rows[result["lane"]] |= {
            "faster_by_passes": faster["passes"],
            "faster_by_seconds": faster["seconds"],
        }
    about = {
        name: snapshot[name] for name in ("state", "note", "prompt", "seed", "model", "machine")
    }
    return about | {"lanes": rows}
