"""The form's picture to fill in.

The component's value is what `read_infilling` reads, or None for whole pictures.
static/form/fill_in.js paints the mask.
"""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from app.models.model_pool import ModelPool
from engine.infilling import Fills
from visualize.assets import STATIC, script

# Lanes that race when a picture is first filled in, by what the model fills in.
LANES = {
    Fills.ANY.value: ("ar", "assd", "assd:drafts=n-gram", "sjd", "scd", "parallel"),
    Fills.BELOW.value: ("ar", "fpi", "sjd", "scd"),
}


def fill_in(pool: ModelPool) -> gr.HTML:
    field: Any = gr.HTML(
        None,
        html_template=(STATIC / "form" / "fill_in.html").read_text("utf-8"),
        js_on_load=script("form/fill_in.js"),
        apply_default_css=False,
        elem_id="fill-in",
        facts=json.dumps({"lanes": LANES, "fillable": pool.fillable()}),
    )
    # gr.HTML describes its value as text
    field.api_info = lambda: {
        "type": "object",
        "description": "{known, order, model} of a picture to fill in; null of whole pictures",
    }
    field.example_payload = field.example_value = lambda: None
    return field
