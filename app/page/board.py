"""The board on the page: its component, and the files that it fetches."""

from __future__ import annotations

import json

import gradio as gr

from app.page.fill_in import fillable
from app.page.handlers import Races
from app.serving.page_blocks import PageFile
from visualize.assets import markup, script

# Gradio asks a gr.HTML for a dozen attributes that it does not have, at every update of the page,
# and looks for each in this text: in 40 ms, were it the whole script. Its events are quoted.
MOUNT_JS = """
const root = window.gradio_config?.root ?? "";
import(root + props.script).then(({ mountPage }) => {
  mountPage(element, props, trigger, watch, root); // "use" "fill" "show" "over"
});
"""


def script_file() -> PageFile:
    """The board's script, an ES module."""
    return PageFile("page.js", script("page.js") + "export { mountPage };\n", "text/javascript")


def opening_file(races: Races) -> PageFile | None:
    """The recorded race that the page opens with, if there is one."""
    first = races.recorded.first
    if first is None:
        return None
    race = json.dumps(races.recorded.replay(first).wire())
    return PageFile("race.json", race, "application/json")


def board_of(races: Races, script: PageFile, opening: PageFile | None) -> gr.HTML:
    return gr.HTML(
        races.waiting_board().wire(),
        html_template=markup(),
        js_on_load=MOUNT_JS,
        apply_default_css=False,
        elem_id="board",
        script=script.path,
        opening=opening.path if opening else None,
        tour=races.recorded.tour,
        filling=races.recorded.filling,
        fillable=fillable(races.pool),
    )
