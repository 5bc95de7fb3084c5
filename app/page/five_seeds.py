"""The race on the board from five seeds: one seed is a coin toss."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr

from app.page.form import PRIVATE, settings_of
from app.page.handlers import NOT_OVER, Races
from app.page.status import updates
from app.page.visitor import address, session_of
from app.serving.api import RACE_QUEUE
from engine.race import MAX_SEED
from engine.trace import LaneState, Trace
from visualize.seeds import Estimate, over_seeds

SEEDS = 5
ABOUT = (
    "<p>One seed is a coin toss. This races the lanes on the board from five seeds, one race after"
    " another, and compares them seed by seed.</p>"
)
COLUMNS = ("Lane", "Passes", "Seconds", "Speed-up", "Rank by passes", "By seconds")
NOTE = (
    "Mean of {seeds} ± half its 95% interval. Speed-up: vanilla AR's seconds divided by the"
    " lane's. A dash in place of a rank: these seeds leave open which of two neighbours is ahead."
)


def five_seeds_section(races: Races, board: gr.HTML, status: gr.HTML) -> Any:
    """Returns the event that races."""
    gr.HTML(ABOUT, apply_default_css=False)
    go = gr.Button("Race five seeds", size="sm", scale=0, min_width=150, elem_id="five-seeds")
    table = gr.HTML(apply_default_css=False, elem_id="seeds-table")

    def race(client: gr.Request) -> Iterator[Any]:
        yield from race_seeds(races, client)

    return go.click(
        race,
        None,
        [board, status, table],
        show_progress="full",
        show_progress_on=[status],
        **RACE_QUEUE,
        **PRIVATE,
    )


def race_seeds(races: Races, client: gr.Request) -> Iterator[tuple[Any, Any, Any]]:
    """Races the lanes on the visitor's board from SEEDS seeds, the first its own, until one is
    stopped. Yields values of the board, the status line and the table. Raises gr.Error."""
    shown = races.finished(client)
    if shown is None:
        raise gr.Error(NOT_OVER, print_exception=False)
    header, traces = shown.recording.trace.header, list[Trace]()
    values = settings_of(header) | {"model": header.model}
    first = min(header.seed, MAX_SEED - SEEDS + 1)
    for seed in range(first, first + SEEDS):
        progress = f"<p role='status'>Race {len(traces) + 1} of {SEEDS}, from seed {seed}…</p>"
        yield gr.skip(), gr.skip(), progress + seeds_table(traces)
        events = races.race(session_of(client), address(client), values | {"seed": seed})
        with contextlib.closing(updates(events)) as changes:
            for snapshot, text in changes:
                yield snapshot, text, gr.skip()
        raced = races.finished(client)
        if raced is None or not _is_whole(raced.recording.trace, seed):
            break
        traces.append(raced.recording.trace)
    yield gr.skip(), gr.skip(), seeds_table(traces)


def seeds_table(traces: Sequence[Trace]) -> str:
    """The figures of a race from several seeds as HTML; empty before there are any."""
    if not traces:
        return ""
    seeds = "1 seed" if len(traces) == 1 else f"{len(traces)} seeds"
    head = "".join(f'<th scope="col">{column}</th>' for column in COLUMNS)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(lane.name)}</th>'
        f"<td>{_with_interval(lane.passes, 1)}</td>"
        f"<td>{_with_interval(lane.seconds, 2)}</td>"
        f"<td>{_with_interval(lane.faster, 2, '×') if lane.faster else ''}</td>"
        f"<td>{_rank(lane.rank_by_passes)}</td><td>{_rank(lane.rank_by_seconds)}</td></tr>"
        for lane in over_seeds(traces)
    )
    return (
        f'<div class="scrolled"><table class="seeds"><tr>{head}</tr>{rows}</table></div>'
        f"<p>{NOTE.format(seeds=seeds)}</p>"
    )


def _is_whole(trace: Trace, seed: int) -> bool:
    """Whether it is the race from this seed, to the end: it may have been stopped."""
    stopped = any(frame.state is LaneState.STOPPED for frame in trace.frames)
    return trace.header.seed == seed and not stopped


def _with_interval(value: Estimate, digits: int, unit: str = "") -> str:
    if value.half is None:
        return f"{value.mean:.{digits}f}{unit}"
    return f"{value.mean:.{digits}f}{unit} ± {value.half:.{digits}f}"


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)
