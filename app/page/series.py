"""A series: the same race from several seeds, one after another, as one seed can mislead."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from app.api.visitor import address, session_of
from app.races.races import Races, board_value, user_error
from engine.race import MAX_SEED, RaceRequest
from engine.race.request import format_lane
from engine.settings import Sampling, SettingError
from engine.trace import LaneState, Trace

FEWEST_SEEDS, MOST_SEEDS = 2, 30  # one seed gives no confidence interval
LOOK_SECONDS = 1.0  # between two looks at a race; at each, gradio can end the series
NOTE = "<p role='status'>{}</p>"


def race_series(
    races: Races, request: RaceRequest, seeds: Any, client: gr.Request
) -> Iterator[tuple[Any, str | None, list[Trace]]]:
    """Race a request from `seeds` seeds, the request's own first.

    The seeds are consecutive; near MAX_SEED the first is lowered, so that all fit. The series ends
    early if the visitor presses Stop (even between two races), if a race does not finish, or if the
    visitor's allowance is spent. Yields three values: the board's value, the message about the
    series (None to keep the last message), and the traces of the finished races. Raises gr.Error.
    """
    session, traces, stopped = session_of(client), list[Trace](), threading.Event()
    allowance = races.allowances.of(address(client))
    try:
        if seeds not in range(FEWEST_SEEDS, MOST_SEEDS + 1):
            raise SettingError(
                f"The number of seeds is a whole number from {FEWEST_SEEDS} to {MOST_SEEDS}."
            )
        races.require(request)
        allowance.require()
    except SettingError as error:
        raise user_error(error) from error
    count = int(seeds)
    first = min(request.seed, MAX_SEED - count + 1)
    for seed in range(first, first + count):
        if not allowance.left:
            break
        progress = f"Race {len(traces) + 1} of {count}, from seed {seed}… {allowance.note}"
        yield gr.skip(), NOTE.format(progress.strip()), traces
        live = races.start(session, address(client), replace(request, seed=seed), stopped)
        last = seed == first + count - 1
        try:
            yield board_value(live, own=True, more=not last), None, traces
            while not live.wait(LOOK_SECONDS):
                yield gr.skip(), None, traces
        except BaseException:  # the page is gone
            live.stop()
            raise
        finally:
            allowance.spend(races.seconds_of(live))
        finished = live.board.state is LaneState.FINISHED
        if finished:
            traces.append(races.kept(live.id, session).recording.trace)
        if stopped.is_set() or not finished:
            if live.recording is not None:
                yield races.show(live.id, session), None, traces
            break
    yield gr.skip(), allowance.note and NOTE.format(allowance.note), traces


def bench_command(traces: Sequence[Trace], own: Sampling) -> str:
    """Return the terminal command that repeats a series, whose races have these `traces`.

    `own` is the model's own sampling. Returns "" if `bench` has no options for such races.
    """
    header = traces[0].header
    guided = header.sampling.guided_tokens
    if header.infilling or header.sampling != replace(own, guided_tokens=guided):
        return ""
    lanes = ",".join(map(format_lane, header.lanes))
    words = ["python", "-m", "photo_finish", "bench", "--prompt", header.prompt, "--lanes", lanes]
    words += ["--seed", str(header.seed), "--seeds", str(len(traces))]
    if header.model != "embedded":
        words += ["--model", header.model]
    if guided != own.guided_tokens:
        words += ["--guided-tokens", str(guided)]
    return shlex.join(words)
