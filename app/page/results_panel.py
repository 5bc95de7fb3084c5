"""Below the board: figures of the finished race, what speed costs, what other rules would have
accepted, and files to take away."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable
from typing import Any

import gradio as gr

from app.page.export import export_section
from app.page.five_seeds import five_seeds_section
from app.page.form import QUIET
from app.page.handlers import NOT_OVER, Races
from app.page.what_if import lane_choices, what_if_section
from app.serving.sessions import StoredRace
from visualize.figures import Figure, figures
from visualize.quality import about, quality_figures, stored


def results_panel(
    races: Races, recorded: gr.Dropdown, race_over: list[Any], board: gr.HTML, status: gr.HTML
) -> Any:
    """Each event of `race_over` leaves a finished race on the board; the visitor's own is then one
    of the `recorded`, too, which say what is on the board. Returns the event that races from five
    seeds."""
    number = gr.State(0)  # of that race; 0: none
    with gr.Accordion("What decided it", open=True, elem_id="decided"):
        _draw_when_over(races, number, _figures)
    with gr.Accordion("Five seeds", open=True, elem_id="five"):
        five_seeds = five_seeds_section(races, board, status)
    with gr.Accordion("What speed costs", open=True, elem_id="cost"):
        _draw_when_over(races, number, _cost)
    with gr.Accordion("What if", open=False, elem_id="whatif") as section:
        lane = what_if_section(races, number, section)
    with gr.Accordion("Take away", open=False, elem_id="export"):
        export_section(races)

    def update(request: gr.Request) -> list[Any]:
        race = races.finished(request)
        choices = lane_choices(race.recording.trace) if race else []
        first = choices[0][1] if choices else None
        return [
            race.number if race else 0,
            gr.update(choices=choices, value=first),
            gr.update(choices=races.choices(request), value=races.on_board(request)),
        ]

    for event in (*race_over, five_seeds):
        event.then(update, None, [number, lane, recorded], **QUIET)
    return five_seeds


def _draw_when_over(races: Races, number: gr.State, draw: Callable[[StoredRace], None]) -> None:
    @gr.render(inputs=[number], triggers=[number.change], show_progress="hidden")
    def show(_: int, request: gr.Request) -> None:
        if race := races.finished(request):
            draw(race)
        else:
            gr.HTML(f"<p>{NOT_OVER}</p>", apply_default_css=False)


def _figures(race: StoredRace) -> None:
    _show(_decided(race))


@functools.lru_cache(maxsize=4)
def _decided(race: StoredRace) -> list[Figure]:
    return figures(race.recording.trace)


def _cost(race: StoredRace) -> None:
    quality, trace = stored(), race.recording.trace
    _show(quality_figures(quality, trace))
    words = f"<p>{html.escape(about(quality, trace))}</p>"
    gr.HTML(words, apply_default_css=False, elem_classes="about")


def _show(drawn: list[Figure]) -> None:
    with gr.Row(elem_classes="figures"):
        for figure in drawn:
            text = f"<h3>{html.escape(figure.title)}</h3><p>{html.escape(figure.sentence)}</p>"
            with gr.Column(min_width=380, elem_classes="figure"):
                gr.HTML(text, apply_default_css=False)
                elem_id = f"figure-{figure.name}"
                gr.Plot(figure.plot, show_label=False, container=False, elem_id=elem_id)
