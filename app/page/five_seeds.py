"""The race on the board from five seeds: one seed is a coin toss."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from app.api.api import RACE_QUEUE
from app.api.visitor import address, session_of
from app.page.export import slug
from app.page.form import ON_BOARD_JS, QUIET
from app.races.races import Races, user_error, watched
from app.races.request_values import request_of
from engine.race import MAX_SEED
from engine.settings import SettingError
from engine.trace import LaneState, Trace
from visualize.figures.seeds import Estimate, over_seeds

SEEDS = 5
LOOK_SECONDS = 1.0  # between two looks at a race, where gradio can end this one
ABOUT = (
    "<p>One seed is a coin toss. This races the lanes on the board from five seeds, one race after"
    " another, and compares them seed by seed.</p>"
)
COLUMNS = ("Lane", "Passes", "Seconds", "Speed-up", "Rank by passes", "By seconds")
# as static/panels/save.js makes them
SAVE = (
    '<p class="save" data-name="five-seeds" data-raced="{raced}"><button type="button"'
    ' data-save="svg">SVG</button>'
    '<button type="button" data-save="csv">CSV</button></p>'
)
NOTE = (
    "“{prompt}”, from {seeds}: mean ± half its 95% interval. Speed-up: vanilla AR's seconds divided"
    " by the lane's. A dash in place of a rank: these seeds leave open which of two neighbours is"
    " ahead."
)


def five_seeds_section(races: Races, board: gr.HTML, on_board: gr.Textbox) -> None:
    gr.HTML(ABOUT, apply_default_css=False)
    go = gr.Button("Race five seeds", size="sm", scale=0, min_width=150, elem_id="five-seeds")
    table = gr.HTML(apply_default_css=False, elem_id="seeds-table")

    def race(race_id: Any, client: gr.Request) -> Iterator[Any]:
        yield from race_seeds(races, race_id, client)

    go.click(race, on_board, [board, table], js=ON_BOARD_JS, **RACE_QUEUE, **QUIET)


def race_seeds(races: Races, race_id: Any, client: gr.Request) -> Iterator[tuple[Any, Any]]:
    """Races the lanes of a race from SEEDS seeds, the first its own, until one is stopped. Yields
    values of the board and the table. Raises gr.Error."""
    session, traces = session_of(client), list[Trace]()
    header = races.kept(race_id, session).recording.trace.header
    try:
        request = request_of(header)
        races.require(request)
    except SettingError as error:
        raise user_error(error) from error
    first = min(header.seed, MAX_SEED - SEEDS + 1)
    for seed in range(first, first + SEEDS):
        progress = f"<p role='status'>Race {len(traces) + 1} of {SEEDS}, from seed {seed}…</p>"
        yield gr.skip(), progress + seeds_table(traces)
        live = races.start(session, address(client), replace(request, seed=seed))
        last = seed == first + SEEDS - 1
        try:
            yield watched(live, own=True, more=not last), gr.skip()
            while not live.wait(LOOK_SECONDS):
                yield gr.skip(), gr.skip()
        finally:
            live.stop()  # where the page is gone
        if live.board.state is not LaneState.FINISHED:
            if live.recording is not None:
                yield races.show(live.id, session), gr.skip()
            break
        traces.append(races.kept(live.id, session).recording.trace)
    yield gr.skip(), seeds_table(traces)


def seeds_table(traces: Sequence[Trace]) -> str:
    """The figures of a race from several seeds as HTML; empty before there are any."""
    if not traces:
        return ""
    first, last = traces[0].header, traces[-1].header
    seeds = f"seeds {first.seed} to {last.seed}" if len(traces) > 1 else f"seed {first.seed}"
    save = SAVE.format(raced=f"{slug(first.prompt)}-{first.seed}-to-{last.seed}")
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
        f'<div class="scrolled"><table class="seeds"><tr>{head}</tr>{rows}</table></div>{save}'
        f"<p>{NOTE.format(prompt=html.escape(first.prompt), seeds=seeds)}</p>"
    )


def _with_interval(value: Estimate, digits: int, unit: str = "") -> str:
    if value.half is None:
        return f"{value.mean:.{digits}f}{unit}"
    return f"{value.mean:.{digits}f}{unit} ± {value.half:.{digits}f}"


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)
