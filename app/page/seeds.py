"""The section that repeats the board's race from several seeds and shows a table of results."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr

from app.api.api import RACE_QUEUE
from app.api.visitor import address, session_of
from app.page.export import slug
from app.page.form import ON_BOARD_JS, QUIET, unchecked
from app.page.series import FEWEST_SEEDS, MOST_SEEDS, bench_command, race_series
from app.races.race_table import StoredRace
from app.races.races import Races, user_error
from app.races.request_values import request_of
from app.workers.between_steps import BETWEEN_STEPS
from app.workers.race_stream import duration_words
from engine.settings import Sampling, SettingError
from engine.trace import Trace
from visualize.figures.seeds import over_seeds

SEEDS = 5  # at first
ABOUT = (
    "<p>One seed can mislead. Here the lanes on the board race from several seeds, one race after"
    " another, and are compared seed by seed. Press Stop to end the series early.</p>"
)
COLUMNS = ("Lane", "Rank by passes", "Passes", "Seconds", "Rank by seconds", "Speed-up")
# as static/panels/save.js makes them
SAVE = (
    '<p class="save" data-name="seeds" data-raced="{raced}"><button type="button"'
    ' data-save="svg">SVG</button>'
    '<button type="button" data-save="csv">CSV</button></p>'
)
NOTE = (
    "“{prompt}”, from {seeds}: mean ± half its 95% interval (Student's t)."
    " Lanes with the fewest passes come first. Speed-up is vanilla AR's seconds divided by the"
    " lane's. A dash instead of a rank means that these seeds leave open which of two neighbouring"
    " lanes is ahead."
)
COMMAND = "<p>In a terminal: <code>{}</code></p>"


def seeds_section(races: Races, shown: gr.State, board: gr.HTML, on_board: gr.Textbox) -> None:
    """Lay out the section that repeats the race on the board from several seeds.

    `shown` gets the id of the race on the board when that race is over. The section then says how
    long the series would take. At a click on the section's button, `on_board` has the id of the
    race on the board. The races are shown on `board`.
    """
    gr.HTML(ABOUT, apply_default_css=False)
    with gr.Row(elem_classes="seeds-choice"):
        number = seeds_number("seeds-number")
        go = gr.Button("Race these seeds", size="sm", scale=0, min_width=160, elem_id="race-seeds")
    takes = gr.HTML(apply_default_css=False, elem_id="seeds-time")
    table = gr.HTML(apply_default_css=False, elem_id="seeds-table")

    def race(race_id: Any, seeds: Any, client: gr.Request) -> Iterator[Any]:
        yield from race_seeds(races, race_id, seeds, client)

    def time(race_id: Any, seeds: Any, client: gr.Request) -> str:
        race = races.find(race_id, session_of(client))
        if not isinstance(race, StoredRace):
            return ""
        return time_words(race.recording.trace, seeds, races.allowances.of(address(client)).note)

    inputs = [on_board, number]
    go.click(race, inputs, [board, table], js=ON_BOARD_JS, **RACE_QUEUE, **QUIET)
    last: dict[str, Any] = {"trigger_mode": "always_last", **QUIET}
    gr.on([shown.change, number.change], time, [shown, number], takes, **last)


def seeds_number(elem_id: str) -> gr.Number:
    number: gr.Number = unchecked(
        gr.Number(
            SEEDS,
            label=f"Seeds, {FEWEST_SEEDS} to {MOST_SEEDS}",
            minimum=FEWEST_SEEDS,
            maximum=MOST_SEEDS,
            precision=0,
            scale=0,
            min_width=160,
            elem_id=elem_id,
        )
    )
    return number


def time_words(trace: Trace, seeds: Any, allowance: str) -> str:
    """Return, as HTML, how long it takes to repeat this race from `seeds` seeds.

    Returns "" if `seeds` is not a valid number. `allowance` is the sentence that says how much
    time the visitor has left.
    """
    if seeds not in range(FEWEST_SEEDS, MOST_SEEDS + 1):
        return ""
    tables = [trace.table(i) for i in range(len(trace.header.lanes))]
    once = sum(float(table.clock[-1]) for table in tables if len(table))
    machine = html.escape(trace.header.machine.partition(",")[0])
    return (
        f"<p>The lanes of the race on the board took {once:.1f} seconds together on {machine}."
        f" {seeds:g} such races take {duration_words(seeds * once)}, plus the time to draw the"
        f" pictures. {allowance}</p>"
    )


def race_seeds(
    races: Races, race_id: Any, seeds: Any, client: gr.Request
) -> Iterator[tuple[Any, Any]]:
    """Race the lanes of a race `seeds` times, from consecutive seeds that begin with the race's.

    Yields values of the board and the table. Raises gr.Error if the race is not kept, or if
    `seeds` is not a number of seeds that the section takes.
    """
    header = races.kept(race_id, session_of(client)).recording.trace.header
    try:
        request = request_of(header)
    except SettingError as error:
        raise user_error(error) from error
    own = races.pool.card(request.model).sampling
    for board, note, traces in race_series(races, request, seeds, client):
        if note is None:
            yield board, gr.skip()
            continue
        with BETWEEN_STEPS.work():
            table = note + seeds_table(traces, own)
        yield board, table


def seeds_table(traces: Sequence[Trace], own: Sampling) -> str:
    """Return the results of a race from several seeds as HTML; "" before a race has finished.

    The HTML also has the terminal command for the same races, if `bench` can run them. `own` is the
    model's own sampling.
    """
    if not traces:
        return ""
    command = bench_command(traces, own)
    first, last = traces[0].header, traces[-1].header
    seeds = f"seeds {first.seed} to {last.seed}" if len(traces) > 1 else f"seed {first.seed}"
    save = SAVE.format(raced=f"{slug(first.prompt)}-{first.seed}-to-{last.seed}")
    head = "".join(f'<th scope="col">{column}</th>' for column in COLUMNS)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(lane.name)}</th><td>{_rank(lane.rank_by_passes)}</td>'
        f"<td>{lane.passes.text(1)}</td>"
        f"<td>{lane.seconds.text(2)}</td><td>{_rank(lane.rank_by_seconds)}</td>"
        f"<td>{lane.faster.text(2, '×') if lane.faster else ''}</td></tr>"
        for lane in sorted(over_seeds(traces), key=lambda lane: lane.passes.mean)
    )
    return (
        f'<div class="scrolled"><table class="seeds"><tr>{head}</tr>{rows}</table></div>{save}'
        f"<p>{NOTE.format(prompt=html.escape(first.prompt), seeds=seeds)}</p>"
        f"{COMMAND.format(html.escape(command)) if command else ''}"
    )


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)
