"""The section that races one lane with several values of a knob, and shows figures."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gradio as gr

from app.api.api import RACE_QUEUE
from app.api.visitor import session_of
from app.page.form import ON_BOARD_JS, QUIET, unchecked
from app.page.seeds import seeds_number, seeds_table
from app.page.series import race_series
from app.races.race_table import StoredRace
from app.races.races import Races, user_error
from app.races.request_values import request_of
from app.workers.between_steps import BETWEEN_STEPS
from engine.race import MAX_LANES
from engine.race.request import format_lane, lane_names, parse_lane, parse_value
from engine.race.sweep import Sweep, swept_knobs
from engine.settings import SettingError
from engine.trace import Trace
from visualize.figures.figures import Figure
from visualize.figures.sweep import sweep_figures

ABOUT = (
    f"<p>Choose a lane of the race on the board, one of its numeric knobs, and 2 to {MAX_LANES}"
    " values separated by commas. Each value races as a lane of its own, beside the others, from"
    " each seed.</p>"
)
FIGURES = 2  # passes and seconds


def sweep_section(races: Races, shown: gr.State, board: gr.HTML, on_board: gr.Textbox) -> None:
    """Lay out the section in which one lane races with several values of a knob.

    `shown` gets the id of the race on the board when that race is over. The section then offers
    the race's lanes and knobs. `on_board` gets the id of the race on the board when the visitor
    starts a sweep, and `board` then gets the board's value for each race of the sweep.
    """
    gr.HTML(ABOUT, apply_default_css=False)
    with gr.Row(elem_classes="seeds-choice"):
        lane = unchecked(gr.Dropdown([], label="Lane", min_width=160, elem_id="sweep-lane"))
        knob = unchecked(gr.Dropdown([], label="Knob", min_width=120, elem_id="sweep-knob"))
        values = unchecked(
            gr.Textbox("4, 8, 16, 32", label="Values", min_width=160, elem_id="sweep-values")
        )
        number = seeds_number("sweep-seeds")
        go = gr.Button("Race the sweep", size="sm", scale=0, min_width=160, elem_id="race-sweep")
    table = gr.HTML(apply_default_css=False, elem_id="sweep-table")
    with gr.Row(elem_classes="figures"):
        columns, texts, plots = list[gr.Column](), list[gr.HTML](), list[gr.Plot]()
        for _ in range(FIGURES):
            with gr.Column(visible=False, min_width=380, elem_classes="figure") as column:
                texts.append(gr.HTML(apply_default_css=False))
                plots.append(gr.Plot(show_label=False, container=False))
            columns.append(column)
    drawn = [*columns, *texts, *plots]

    def choose(race_id: Any, knob: Any, client: gr.Request) -> list[Any]:
        race = races.find(race_id, session_of(client))
        lanes = sweepable(race.recording.trace) if isinstance(race, StoredRace) else []
        first = lanes[0][1] if lanes else None
        return [gr.update(choices=lanes, value=first), choose_knob(first, knob)]

    def choose_knob(text: Any, knob: Any) -> Any:
        names = swept_knobs(parse_lane(text)) if isinstance(text, str) else []
        return gr.update(choices=names, value=knob if knob in names else next(iter(names), None))

    def race(race_id: Any, client: gr.Request, *chosen: Any) -> Iterator[Any]:
        nothing = [gr.skip()] * len(drawn)
        for shown, words, figures in race_sweep(races, race_id, chosen, client):
            yield [shown, words, *(nothing if figures is None else updates(figures))]

    last: dict[str, Any] = {"trigger_mode": "always_last", **QUIET}
    shown.change(choose, [shown, knob], [lane, knob], **last)
    lane.input(choose_knob, [lane, knob], knob, **last)
    inputs = [on_board, lane, knob, values, number]
    go.click(race, inputs, [board, table, *drawn], js=ON_BOARD_JS, **RACE_QUEUE, **QUIET)


def sweepable(trace: Trace) -> list[tuple[str, str]]:
    """Return (name, text) of each lane that has a knob to sweep; `parse_lane` reads the text."""
    choices = []
    for name, lane in zip(lane_names(trace.header.lanes), trace.header.lanes, strict=True):
        try:
            if swept_knobs(parse_lane(text := format_lane(lane))):
                choices.append((name, text))
        except SettingError:  # an older trace's, or of a decoder that is not here
            continue
    return choices


def read_sweep(lane: Any, knob: Any, values: Any) -> Sweep:
    """Return the sweep of the chosen lane and knob over the typed values. Raises SettingError."""
    if not isinstance(lane, str) or not isinstance(knob, str) or not isinstance(values, str):
        raise SettingError("Choose a lane and a knob, and type values separated by commas.")
    numbers = [parse_value(0.0, text.strip()) for text in values.split(",") if text.strip()]
    if not all(isinstance(number, (int, float)) for number in numbers):
        raise SettingError("The values must be numbers separated by commas: 4, 8, 16.")
    return Sweep(parse_lane(lane), knob, tuple(numbers))


def race_sweep(
    races: Races, race_id: Any, chosen: tuple[Any, ...], client: gr.Request
) -> Iterator[tuple[Any, Any, list[Figure] | None]]:
    """Race a sweep with the prompt and the sampling of race `race_id`.

    `chosen` has the lane, the knob, the knob's values and the number of seeds. Yields the
    values of the board and of the table, and the figures (None to keep the last ones). Raises
    gr.Error.
    """
    *swept, seeds = chosen
    header = races.kept(race_id, session_of(client)).recording.trace.header
    try:
        sweep = read_sweep(*swept)
        request = replace(request_of(header), lanes=sweep.lanes)
    except SettingError as error:
        raise user_error(error) from error
    own = races.pool.card(request.model).sampling
    for board, note, traces in race_series(races, request, seeds, client):
        if note is None:
            yield board, gr.skip(), None
        else:
            with BETWEEN_STEPS.work():
                figures = sweep_figures(traces, sweep.knob) if traces else []
                table = note + seeds_table(traces, own)
            yield board, table, figures


def updates(figures: list[Figure]) -> list[Any]:
    """Return updates that show `figures` in the section's columns, texts and plots.

    Without figures the columns are hidden.
    """
    if not figures:
        return [gr.update(visible=False)] * FIGURES + [gr.skip()] * 2 * FIGURES
    texts, plots = map(figure_text, figures), (figure.plot for figure in figures)
    return [gr.update(visible=True)] * FIGURES + [*texts, *plots]


def figure_text(figure: Figure) -> str:
    """Return a figure's title and sentence as HTML."""
    return f"<h3>{html.escape(figure.title)}</h3><p>{html.escape(figure.sentence)}</p>"
