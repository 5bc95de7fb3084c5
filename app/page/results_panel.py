"""Below the board: figures of the finished race, what other rules would have accepted, and files to
take away."""

from __future__ import annotations

import functools
import html
from typing import Any

import gradio as gr

from app.page.export import export_section
from app.page.form import QUIET
from app.page.handlers import NOT_OVER, Races
from app.page.what_if import lane_choices, what_if_section
from app.serving.sessions import StoredRace
from visualize.figures import Figure, figures


def results_panel(races: Races, race_over: list[Any]) -> None:
    """Each event of `race_over` leaves a finished race on the board."""
    number = gr.State(0)  # of that race; 0: none
    with gr.Accordion("What decided it", open=True, elem_id="decided"):
        _figures(races, number)
    with gr.Accordion("What if", open=False, elem_id="whatif"):
        lane = what_if_section(races, number)
    with gr.Accordion("Take away", open=False, elem_id="export"):
        export_section(races)

    def update(request: gr.Request) -> list[Any]:
        race = races.finished(request)
        choices = lane_choices(race.recording.trace) if race else []
        first = choices[0][1] if choices else None
        return [race.number if race else 0, gr.update(choices=choices, value=first)]

    for event in race_over:
        event.then(update, None, [number, lane], **QUIET)


def _figures(races: Races, number: gr.State) -> None:
    @functools.lru_cache(maxsize=4)
    def draw(race: StoredRace) -> list[Figure]:
        return figures(race.recording.trace)

    @gr.render(inputs=[number], triggers=[number.change], show_progress="hidden")
    def show(_: int, request: gr.Request) -> None:
        race = races.finished(request)
        if race is None:
            gr.HTML(f"<p>{NOT_OVER}</p>", apply_default_css=False)
            return
        with gr.Row(elem_classes="figures"):
            for figure in draw(race):
                text = f"<h3>{html.escape(figure.title)}</h3><p>{html.escape(figure.sentence)}</p>"
                with gr.Column(min_width=380, elem_classes="figure"):
                    gr.HTML(text, apply_default_css=False)
                    elem_id = f"figure-{figure.name}"
                    gr.Plot(figure.plot, show_label=False, container=False, elem_id=elem_id)
