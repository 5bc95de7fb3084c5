"""The panels below the board, and the menu of the board's Share button.

The panels show figures of the finished race, what speed costs, and which drafts other rules
would have accepted.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import gradio as gr

from app.api.visitor import session_of
from app.page.export import share_menu
from app.page.form import OWN_JS, QUIET, unfolding
from app.page.seeds import seeds_section
from app.page.sweep import figure_text, sweep_section
from app.page.what_if import lane_choices, opening, what_if_section
from app.races.race_table import StoredRace
from app.races.races import Races
from app.workers.between_steps import BETWEEN_STEPS
from visualize.figures.figures import Figure
from visualize.figures.quality import about, quality_figures, stored

# The chapter of the tour that explains each figure; the board's script opens it.
CHAPTERS = {
    **{"passes": 4, "seconds": 11, "rows": 11, "lengths": 4, "gain": 4, "top1": 7, "acceptance": 5},
    **{"depth": 4, "shift": 8, "time": 11, "distance": 10},
    **{"cost-shift": 8, "cost-log-p": 8, "cost-right": 8},
}
SAVE_ALL = (
    '<p class="save-all"><button type="button" data-save-all title="Save each as SVG and CSV,'
    ' with their captions">All figures (ZIP)</button></p>'
)
WHY = (
    '<button type="button" class="why-figure" data-chapter="{chapter}" aria-label="Why: the chapter'
    ' that explains {title}">why?</button>'
)


def results_panel(races: Races, board: gr.HTML, race_and_key: list[Any]) -> None:
    shown = gr.State("")  # the id of the race that all of it is about
    with gr.Accordion("What decided it", open=False, elem_id="decided") as decided:
        _draw_unfolded(races, shown, decided, _figures)
    with gr.Accordion("Several seeds, and a sweep of a knob", open=False, elem_id="seeds"):
        seeds_section(races, shown, board, race_and_key[0])
        with gr.Column(elem_id="sweep"):
            sweep_section(races, shown, board, race_and_key[0])
    with gr.Accordion("What speed costs", open=False, elem_id="cost") as cost:
        _draw_unfolded(races, shown, cost, _cost)
    with gr.Accordion("What if", open=False, elem_id="whatif") as section:
        choices = what_if_section(races, shown, section)
    share_menu(races, race_and_key[0])

    def update(race_id: Any, key: Any, request: gr.Request) -> list[Any]:
        session = session_of(request)
        race = races.find(race_id, session, key)
        trace = race.recording.trace if isinstance(race, StoredRace) else None
        lanes = [] if trace is None else lane_choices(trace)
        with BETWEEN_STEPS.work():
            lane, rule = (None, gr.skip()) if trace is None else opening(trace)
        return [race_id, gr.update(choices=lanes, value=lane), rule]

    # Two races may follow each other at once: then the later one is shown. All pages that watch a
    # race ask when it is over, and none waits for another.
    last = {"js": OWN_JS, "trigger_mode": "always_last", "concurrency_limit": None}
    board.over(update, race_and_key, [shown, *choices], **last, **QUIET)


def _draw_unfolded(
    races: Races, shown: gr.State, section: gr.Accordion, draw: Callable[[StoredRace], None]
) -> None:
    """Draw a section about the race that is `shown`, while the section is unfolded.

    The drawing is removed when the section is folded: charts are a megabyte of script, and
    would stay in the page's memory.
    """
    unfolded = unfolding(section)
    triggers = [shown.change, unfolded.change]

    @gr.render(
        inputs=[shown, unfolded],
        triggers=triggers,
        trigger_mode="multiple",  # gradio loses a drawing that is asked for during another one
        show_progress="hidden",
    )
    def show(race_id: Any, open: bool, request: gr.Request) -> None:
        if not open:
            return
        try:
            race = races.kept(race_id, session_of(request))
            with BETWEEN_STEPS.work():
                draw(race)
        except gr.Error as error:
            gr.HTML(f"<p>{html.escape(error.message)}</p>", apply_default_css=False)


def _figures(race: StoredRace) -> None:
    _show(race.figures)
    gr.HTML(SAVE_ALL, apply_default_css=False)


def _cost(race: StoredRace) -> None:
    quality, trace = stored(), race.recording.trace
    _show(quality_figures(quality, trace))
    words = f"<p>{html.escape(about(quality, trace))}</p>"
    gr.HTML(words, apply_default_css=False, elem_classes="about")


def _show(drawn: list[Figure]) -> None:
    with gr.Row(elem_classes="figures"):
        for figure in drawn:
            with gr.Column(min_width=380, elem_classes="figure"):
                why = WHY.format(chapter=CHAPTERS[figure.name], title=html.escape(figure.title))
                gr.HTML(figure_text(figure) + why, apply_default_css=False)
                elem_id = f"figure-{figure.name}"
                gr.Plot(figure.plot, show_label=False, container=False, elem_id=elem_id)
