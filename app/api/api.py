"""The calls for programs: each runs a race and returns its table of results (`api_result`).

`race` draws whole pictures. `fill_in` fills in a part of a picture; it exists if a model of the
page can fill in. `gradio_client` calls them by `api_name`, such as "/race". MCP clients call them
as tools, which answer in JSON. The races have the same queue, checks and limits as on the page.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from app.api.api_result import results_table, with_recording
from app.api.visitor import address
from app.models.model_pool import ModelPool
from app.races.races import Races
from app.races.request_values import SAMPLING_KNOBS, sampling_values
from app.settings import SETTINGS

# Gradio lets every race in at once: FairQueue says in words which may wait, and keeps no page from
# what it asks for besides.
RACE_QUEUE: dict[str, Any] = {"concurrency_limit": None}


def calls_at_once(pool: ModelPool) -> int:
    """Return the number of threads for programs' races; each race holds one thread.

    There are enough threads for all races that run at once and all races that FairQueue lets wait.
    A few more threads let FairQueue reject further races with a message.
    """
    return sum(pool.at_once.values()) + SETTINGS.queue_size + 8


@dataclass(frozen=True)
class Sampled:
    """The sampling values of a call; None stands for the model's own value."""

    guidance: float | None
    guided_tokens: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None


class Api:
    """The calls for programs; they start races in the page's `races`."""

    def __init__(self, races: Races) -> None:
        self._races = races

    def calls(self) -> dict[str, Callable[..., Iterator[dict]]]:
        """Return the calls by name. `fill_in` is one of them if a model of the page can fill in."""
        calls = {"race": self.race}
        return calls | {"fill_in": self.fill_in} if self._races.pool.fillable() else calls

    def mount(self) -> None:
        """Add the calls to the gr.Blocks that is being built."""
        for name, call in self.calls().items():
            gr.api(call, api_name=name, **RACE_QUEUE)

    def race(
        self,
        prompt: str,
        seed: int,
        lanes: list[str],
        request: gr.Request,
        model: str | None = None,
        guidance: float | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        pictures: bool = False,
        trace: bool = False,
        guided_tokens: int | None = None,
    ) -> Iterator[dict]:
        """Races decoders of one autoregressive image model against each other and returns the table
        of results, with each picture's codes. A lane is a decoder's name, or the name and knobs:
        "gsd:G=50;d=0.3".

        Parameters:
            prompt: What the picture should show, in English, at most 1000 characters.
            seed: A whole number from 0 to 9007199254740991; the same seed runs the same race,
                on one machine always, on others nearly always.
            lanes: 1 to 8 of: ar, jacobi, fpi, sjd, scd, sjd-plus-plus, sjd-relaxed, gsd, lantern,
                sjd-pac, zipar, rows, auto-correct.
            model: The model's name, by default that of the model with which the page opens.
            guidance: Classifier-free guidance, 1 to 20, by default the model's.
            temperature: From 0.1 to 2, by default the model's.
            top_k: Only the k likeliest tokens can be drawn, 0 to 65536, where 0 allows all.
            top_p: Only the likeliest tokens that together have this probability can be drawn,
                0.05 to 1.
            pictures: Whether the result has each lane's picture, as a PNG file in base64.
            trace: Whether the result has the race as a file's text, which the page opens.
            guided_tokens: Guidance only for the first n tokens of a picture, 0 for all tokens.
        Returns: The state, and each lane's forward passes, seconds, speed-up over vanilla AR and
            shift. A test of a draft commits a token. The shift is the average distance (TV, 0 to
            1) between the distribution of that token and the model's own. It is 0 for a lossless
            decoder, and null where no draft was tested or the distance is not known. Tokens of
            zipar, rows and auto-correct, and of parallel in `fill_in`, do not see all earlier
            tokens. The shift of these decoders is the average distance between the distribution
            from which a token was drawn and the model's own given all earlier tokens.
        """
        values = {"prompt": prompt, "seed": seed, "lanes": lanes, "model": model}
        sampling = Sampled(guidance, guided_tokens, temperature, top_k, top_p)
        yield from self._run(values, sampling, pictures, trace, request)

    def fill_in(
        self,
        prompt: str,
        seed: int,
        lanes: list[str],
        known: list[int],
        order: str,
        request: gr.Request,
        model: str | None = None,
        guidance: float | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        pictures: bool = False,
        trace: bool = False,
        guided_tokens: int | None = None,
    ) -> Iterator[dict]:
        """Races decoders that fill in a part of a picture, and returns the table of results, as
        `race` does.

        Parameters:
            prompt: What the whole picture should show, in English, at most 1000 characters.
            seed: A whole number from 0 to 9007199254740991; the same seed runs the same race,
                on one machine always, on others nearly always.
            lanes: 1 to 8 of the decoders of `race`, but not zipar, rows or auto-correct. With a
                model that fills in any part, also assd and parallel.
            known: The picture's codes, row by row, with -1 for each token to be filled in. Most
                models can only fill in everything after some token, in raster order.
            order: The order in which tokens are filled in: spread, raster or fork. For fork, the
                known tokens must be the first ones of the picture. The rest is drawn with the
                random numbers that a whole picture from this seed has there.
            model: As in `race`, and so are the parameters that follow.
        """
        infilling = {"known": known, "order": order}
        values = {"prompt": prompt, "seed": seed, "lanes": lanes, "model": model}
        values["infilling"] = infilling
        sampling = Sampled(guidance, guided_tokens, temperature, top_k, top_p)
        yield from self._run(values, sampling, pictures, trace, request)

    def _run(
        self,
        values: dict[str, Any],
        sampling: Sampled,
        pictures: bool,
        trace: bool,
        request: gr.Request,
    ) -> Iterator[dict]:
        # A generator, although only the last value counts: gradio closes it when the client
        # disconnects, and with it the race.
        for name, value in (("pictures", pictures), ("trace", trace)):
            if not isinstance(value, bool):
                raise gr.Error(f"{name} is true or false.", print_exception=False)
        values = {"infilling": None} | self._sampling(values["model"], sampling) | values
        # No session: each has one race at a time, and a program any number.
        live = self._races.start("", address(request), self._races.read(values))
        try:
            with contextlib.closing(live.watch()) as boards:
                for board in boards:
                    if board is not None:
                        result = results_table(board)
                    yield result
        finally:
            live.stop()
        if live.recording is not None:
            yield with_recording(result, live.recording, pictures, trace)

    def _sampling(self, model: Any, sampling: Sampled) -> dict[str, Any]:
        """Return the call's sampling by the form's field names; the model's values replace None."""
        card = self._races.pool.find(model) or self._races.default
        fields = {each.name: field for field, each in SAMPLING_KNOBS.items()}
        sent = {name: value for name, value in vars(sampling).items() if value is not None}
        return sampling_values(card.sampling) | {fields[name]: sent[name] for name in sent}
