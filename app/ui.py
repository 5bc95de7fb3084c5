"""The page's layout, and what it is launched with."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import gradio as gr

from app.form import GROUPS, SAMPLING
from app.handlers import Races
from app.settings import SETTINGS
from app.world import EXAMPLES, guide
from engine.decoders import DECODERS
from engine.models.base import ImageModel
from engine.settings import knobs

STATIC = Path(__file__).parent.parent / "static"
SCRIPTS = ("records.js", "draw.js", "panels.js", "board.js")
# How the board is joined to gradio: its value is a snapshot, and the Stop button is outside it.
JOIN = """
mountBoard(
  element,
  (callback) => { watch("value", () => callback(props.value)); callback(props.value); },
  (callback) => document.addEventListener("photo-finish-stop", callback),
);
"""
STOP_JS = "() => { document.dispatchEvent(new Event('photo-finish-stop')); return []; }"
ROLL_JS = "() => Math.floor(Math.random() * 2 ** 31)"
FONTS = ["ui-sans-serif", "system-ui", "Helvetica Neue", "Arial", "sans-serif"]

LAUNCH: dict[str, Any] = {
    "theme": gr.themes.Base(primary_hue="red", neutral_hue="gray", font=FONTS, radius_size="none"),
    "css_paths": [STATIC / "page.css"],
    "enable_monitoring": False,
    "max_file_size": "1mb",
    "footer_links": [],
    "run_history": False,
    "show_error": False,
    "ssr_mode": False,
}


def build(model: ImageModel) -> gr.Blocks:
    """The page over a model. Warms it, so that the first visitor does not wait longer than the others."""
    races = Races(model)
    races.warm()
    with gr.Blocks(title="Photo Finish", analytics_enabled=False, delete_cache=(3600, 3600), fill_width=True) as demo:
        gr.HTML(
            '<header class="masthead"><h1>Photo<span>Finish</span></h1>'
            "<p>Decoders of one autoregressive image model, racing side by side from one seed</p></header>",
            apply_default_css=False,
        )
        with gr.Row(elem_id="entry"):
            prompt = _unchecked(gr.Textbox(EXAMPLES[0], label="Prompt", max_lines=1, scale=5, min_width=260, elem_id="prompt"))
            seed = _unchecked(gr.Number(random.randrange(2**31), label="Seed", scale=1, min_width=130, elem_id="seed"))
            roll = gr.Button("Roll", scale=0, min_width=80, elem_id="roll")
            go = gr.Button("Race", variant="primary", scale=0, min_width=130, elem_id="race")
            stop = gr.Button("Stop", scale=0, min_width=90, elem_id="stop")
        with gr.Row():
            with gr.Column(scale=5, min_width=320):
                lanes = _unchecked(
                    gr.CheckboxGroup(
                        [(decoder.title, name) for name, decoder in DECODERS.items()],
                        value=[name for name, decoder in DECODERS.items() if decoder.default],
                        label="Lanes",
                        elem_id="lanes",
                    )
                )
            with gr.Column(scale=3, min_width=320):
                gr.Examples([[text] for text in EXAMPLES], [prompt], label="Prompts to try", api_visibility="private")
        turned = _knobs(model)
        if words := guide(getattr(model, "world", {})):
            with gr.Accordion("Words the model knows", open=False, elem_id="words"):
                gr.Markdown(words)
        status = gr.HTML(
            '<p class="status">One race runs at a time; if another visitor\'s is on, you wait your turn here.</p>',
            apply_default_css=False,
            elem_id="status",
        )
        board = _board(races)
        run = gr.on(
            [go.click, prompt.submit],
            races.race,
            [prompt, seed, lanes, *turned],
            board,
            api_name="race",
            concurrency_limit=1,
            show_progress="full",
            show_progress_on=[status],
        )
        stop.click(races.stop, None, None, cancels=[run], queue=False, js=STOP_JS, api_visibility="private")
        roll.click(None, None, seed, js=ROLL_JS, api_visibility="private")
        demo.unload(races.stop)
    return demo.queue(max_size=SETTINGS.queue_size)


def _board(races: Races) -> gr.HTML:
    script = "\n".join((STATIC / name).read_text() for name in SCRIPTS) + JOIN
    board = gr.HTML(
        races.idle(),
        html_template=(STATIC / "board.html").read_text(),
        css_template=(STATIC / "board.css").read_text(),
        js_on_load=script,
        apply_default_css=False,
        elem_id="board",
    )
    # A value of gr.HTML is text unless it says otherwise.
    board.api_info = lambda: {"type": "object", "description": "a snapshot of the board"}
    board.example_payload = board.example_value = lambda: {"seq": 0, "lanes": []}
    return board


def _knobs(model: ImageModel) -> list[gr.components.Component]:
    """The fields of every group of knobs, in the order of the form."""
    fields: list[gr.components.Component] = []
    with gr.Accordion("Knobs", open=False, elem_id="knobs"):
        for group, kind in GROUPS.items():
            title = "Sampling, the same for every lane" if group == SAMPLING else DECODERS[group].title
            with gr.Accordion(title, open=False), gr.Row():
                for name, knob, default in knobs(kind):
                    value = getattr(model.sampling, name) if group == SAMPLING else default
                    fields.append(_unchecked(_field(name, knob, value)))
    return fields


def _field(name: str, knob: Any, value: Any) -> gr.components.Component:
    if isinstance(value, bool):
        return gr.Checkbox(value, label=name, info=knob.help, min_width=220)
    if knob.choices:
        return gr.Dropdown(list(knob.choices), value=value, label=name, info=knob.help, min_width=220)
    info = f"{knob.help} From {knob.low:g} to {knob.high:g}."
    return gr.Number(value, label=name, info=info, min_width=220)


def _unchecked(component: gr.components.Component) -> gr.components.Component:
    """Hands the field's value on as it came: gradio's own checks fail without words on wrong types."""
    component.preprocess = lambda payload: payload
    return component
