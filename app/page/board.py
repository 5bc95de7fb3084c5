"""The board on the page: its component, and the files that it fetches."""

from __future__ import annotations

import json

import gradio as gr

from app.api.page_blocks import PageFile
from app.races.races import Races
from visualize.assets import markup, script

# Gradio asks a gr.HTML for a dozen attributes that it does not have, at every update of the page,
# and looks for each in this text: in 40 ms, were it the whole script. Its events are quoted.
# The server's files are beside the page, whatever a proxy tells it of its scheme, name and port.
MOUNT_JS = """
const root = new URL(".", document.baseURI).href.slice(0, -1);
import(root + props.script).then(({ mountPage }) => {
  mountPage(element, props, trigger, watch, root); // "use" "fill" "fork" "show" "over"
});
"""


def script_file() -> PageFile:
    """Return the board's script, an ES module."""
    return PageFile("page.js", script("page.js") + "export { mountPage };\n", "text/javascript")


def race_files(races: Races) -> dict[str, PageFile]:
    """Return the files, by name, of the recorded races that every page needs.

    These are the race with which the page opens, and the races of the tour.
    """
    recorded = races.recorded
    names = dict.fromkeys(filter(None, (recorded.first, *recorded.tours.values())))
    return {
        name: PageFile(f"{name}.json", json.dumps(recorded.replay(name).wire()), "application/json")
        for name in names
    }


def board_of(races: Races, script: PageFile, recorded: dict[str, PageFile]) -> gr.HTML:
    facts = {
        "waiting": races.waiting_board().wire(),
        "recorded": {name: file.path for name, file in recorded.items()},
        "recordings": races.recorded.listed(),
        "opening": races.recorded.first,
        "tours": races.recorded.tours,
        "fillable": races.pool.fillable(),
    }
    return gr.HTML(
        None,
        html_template=markup(),
        js_on_load=MOUNT_JS,
        apply_default_css=False,
        elem_id="board",
        script=script.path,
        facts=json.dumps(facts),
    )
