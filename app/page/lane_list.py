"""The form's list of lanes.

The component's value is a list of texts, as `parse_lane` reads them. The decoders and their
knobs go to the browser once, where static/form/lane_list.js lays the list out.
"""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from engine.decoders import DECODERS
from engine.race import MAX_LANES, Lane
from engine.race.request import format_lane, format_value
from engine.settings import Knob, knobs
from visualize.assets import script

MARKUP = """<fieldset class="lane-list">
  <legend>Lanes</legend>
  <ol></ol>
  <p class="lane-more"></p>
</fieldset>"""


def lane_list(texts: list[str]) -> gr.HTML:
    field: Any = gr.HTML(
        texts,
        html_template=MARKUP,
        js_on_load=script("form/lane_list.js"),
        apply_default_css=False,
        elem_id="lanes",
        facts=json.dumps({"decoders": [_decoder(name) for name in DECODERS], "most": MAX_LANES}),
    )
    # gr.HTML describes its value as text
    field.api_info = lambda: {"type": "array", "items": {"type": "string"}}
    field.example_payload = field.example_value = lambda: ["ar", "gsd:G=50;d=0.3"]
    return field


def _decoder(name: str) -> dict[str, Any]:
    decoder = DECODERS[name]
    fields = [_knob(*each) for each in knobs(decoder.Settings)]
    facts = {"name": name, "title": decoder.title, "idea": decoder.idea, "knobs": fields}
    presets = {title: format_lane(Lane(name, s).plain()) for title, s in decoder.presets.items()}
    return facts | {"infills": decoder.infills, "rows": decoder.whole_only, "presets": presets}


def _knob(name: str, knob: Knob, default: Any) -> dict[str, Any]:
    choices = list(knob.choices) or (["true", "false"] if isinstance(default, bool) else [])
    info = knob.help if choices else f"{knob.help} From {knob.low:g} to {knob.high:g}."
    facts = {"name": name, "info": info, "choices": choices, "default": format_value(default)}
    return facts | {"needs": list(knob.needs or ())}
