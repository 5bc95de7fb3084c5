"""Below the board: figures of the finished race, what other rules would have accepted, and files to
take away."""

from __future__ import annotations

import functools
import html
from typing import Any

import gradio as gr

from app.page.export import export_section
from app.page.form import PRIVATE
from app.page.handlers import NOT_OVER, Races
from app.page.what_if import WhatIf
from app.serving.sessions import StoredRace
from visualize.figures import Figure, figures


def results_panel(races: Races, race_over: list[Any]) -> None:
    """Each event of `race_over` leaves a finished race on the board."""
    number = gr.State(0)  # of the race on the board; the figures are drawn when it changes
    with gr.Accordion("What decided it", open=True, elem_id="decided"):
        _figures(races, number)
    with gr.Accordion("What if", open=False, elem_id="whatif"):
        what_if = WhatIf(races)
    with gr.Accordion("Take away", open=False, elem_id="takeaway"):
        export_section(races)

    def update(request: gr.Request, *values: Any) -> list[Any]:
        race = races.finished(request)
        return [race.number if race else 0, *what_if.update(race, *values)]

    for event in race_over:
        event.then(update, what_if.inputs, [number, *what_if.outputs], **PRIVATE)


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
                title, sentence = html.escape(figure.title), html.escape(figure.sentence)
                with gr.Column(min_width=380, elem_classes="figure"):
                    gr.HTML(f"<h3>{title}</h3><p>{sentence}</p>", apply_default_css=False)
                    gr.Plot(
                        figure.plot,
                        show_label=False,
                        container=False,
                        elem_id=f"figure-{figure.name}",
                    )
