"""What stands under the board: what decided the race, what other rules would have done, and the
race to take away."""

from __future__ import annotations

import functools
import html
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from app.handlers import Races, told
from app.shelf import Kept
from app.takeaway import FILMS, KINDS, LAYERS, SPEEDS, make, name
from app.whatif import RULES, answer, lanes
from engine.decoders import DECODERS
from engine.settings import SettingError, knobs
from visualize.figures import Figure, figures

NOTHING = "The race on the board is not over yet."
# What the board shows at this instant, in place of the last of the inputs.
SHOWN_JS = """(kind, speed, layer) => {
  const { clock, t, layer: drawn } = document.querySelector("#board .board").dataset;
  return [kind, speed, layer, { clock, t: Number(t), layer: drawn }];
}"""


def after(races: Races, ends: list[Any]) -> None:
    """Lays it out; each of the events `ends` leaves a race on the board that may be asked about."""
    number = gr.State(0)  # of the race that all this is about
    with gr.Accordion("What decided it", open=True, elem_id="decided"):
        _figures(races, number)
    with gr.Accordion("What if", open=False, elem_id="whatif"):
        lane, asked, reply, ask = _what_if(races)
    with gr.Accordion("Take away", open=False, elem_id="takeaway"):
        _take_away(races)

    def settle(request: gr.Request, *values: Any) -> list[Any]:
        kept = races.kept(request)
        choices = lanes(kept.recording.trace) if kept else []
        chosen = choices[0][1] if choices else None
        return [
            kept.number if kept else 0,
            gr.update(choices=choices, value=chosen),
            ask(request, chosen, *values),
        ]

    for event in ends:
        event.then(
            settle, asked, [number, lane, reply], api_visibility="private", show_progress="hidden"
        )


def _figures(races: Races, number: gr.State) -> None:
    @functools.lru_cache(maxsize=4)
    def drawn(kept: Kept) -> list[Figure]:
        return figures(kept.recording.trace)

    @gr.render(inputs=[number], triggers=[number.change], show_progress="hidden")
    def show(_: int, request: gr.Request) -> None:
        kept = races.kept(request)
        if kept is None:
            gr.HTML(f"<p>{NOTHING}</p>", apply_default_css=False)
            return
        with gr.Row(elem_classes="figures"):
            for figure in drawn(kept):
                with gr.Column(min_width=380, elem_classes="figure"):
                    text = (
                        f"<h3>{html.escape(figure.title)}</h3><p>{html.escape(figure.sentence)}</p>"
                    )
                    gr.HTML(text, apply_default_css=False)
                    gr.Plot(
                        figure.plot,
                        show_label=False,
                        container=False,
                        elem_id=f"figure-{figure.name}",
                    )


def _what_if(races: Races) -> tuple[gr.Dropdown, list[Any], gr.HTML, Any]:
    """The lane's field, the other fields, the answer, and what gives it."""
    gr.HTML(
        "<p>Each step's first refusal is on record with both laws behind it. Choose a lane, and a"
        " rule that judges again.</p>",
        apply_default_css=False,
    )
    with gr.Row():
        lane = gr.Dropdown([], label="Lane", min_width=160, elem_id="whatif-lane")
        rule = gr.Radio(
            [(DECODERS[each].title, each) for each in RULES],
            value="gsd",
            label="Rule",
            min_width=160,
        )
    with gr.Row():
        sliders = [
            _slider(each, knob, visible=each == "gsd")
            for each, names in RULES.items()
            for knob in names
        ]
    reply = gr.HTML(elem_id="whatif-answer", apply_default_css=False)

    def ask(request: gr.Request, lane: Any, rule: Any, *turned: Any) -> str:
        kept = races.kept(request)
        try:
            text = answer(kept.recording.trace, lane, rule, list(turned)) if kept else NOTHING
        except SettingError as error:
            text = str(error)
        return f'<p role="status">{html.escape(text)}</p>'

    def shown(rule: Any) -> list[Any]:
        return [gr.update(visible=each == rule) for each, names in RULES.items() for _ in names]

    rule.change(shown, rule, sliders, api_visibility="private", show_progress="hidden")
    gr.on(
        [
            lane.input,
            rule.change,
            *(slider.release for slider in sliders),
            *(slider.change for slider in sliders),
        ],
        ask,
        [lane, rule, *sliders],
        reply,
        api_visibility="private",
        show_progress="hidden",
        trigger_mode="always_last",
    )
    for component in (lane, rule, *sliders):
        component.preprocess = lambda payload: payload  # `answer` checks, in words
    return lane, [rule, *sliders], reply, ask


def _slider(rule: str, name: str, visible: bool) -> gr.Slider:
    knob, default = next(
        (knob, default) for each, knob, default in knobs(DECODERS[rule].Settings) if each == name
    )
    step = 1 if isinstance(default, int) else 0.01
    return gr.Slider(
        knob.low,
        knob.high,
        value=default,
        step=step,
        label=name,
        info=knob.help,
        visible=visible,
        min_width=200,
    )


def _take_away(races: Races) -> None:
    with gr.Row(elem_id="making"):
        kind = gr.Dropdown(
            list(KINDS), value=next(iter(KINDS)), label="What", min_width=180, elem_id="take-kind"
        )
        speeds = [(f"{speed:g}x", speed) for speed in SPEEDS]
        speed = gr.Dropdown(
            speeds, value=1.0, label="Speed", visible=False, min_width=120, elem_id="take-speed"
        )
        drawn = next(iter(LAYERS))
        layer = gr.Dropdown(
            list(LAYERS),
            value=drawn,
            label="Layer",
            visible=False,
            min_width=160,
            elem_id="take-layer",
        )
        go = gr.Button("Make", scale=0, min_width=120, elem_id="make")
    file = gr.File(label="Your file", visible=False, interactive=False, height=130, elem_id="made")
    shown = gr.JSON(visible=False)
    bar = gr.Progress()  # gradio finds it as the default of an argument

    def taken(
        kind: Any,
        speed: Any,
        layer: Any,
        shown: Any,
        request: gr.Request,
        progress: gr.Progress = bar,
    ) -> Iterator[Any]:
        kept = races.kept(request)
        if kept is None:
            raise gr.Error(NOTHING, print_exception=False)
        try:
            data = make(
                kept.recording,
                kind,
                speed,
                layer,
                shown,
                lambda share: progress(share, desc="Making it"),
            )
        except SettingError as error:
            raise told(error) from error
        with tempfile.TemporaryDirectory() as folder:  # until gradio has taken its copy
            path = Path(folder) / name(kept.recording, kind)
            path.write_bytes(data)
            yield gr.update(value=str(path), visible=True)

    def fields(kind: Any) -> list[Any]:
        return [gr.update(visible=kind in list(FILMS))] * 2

    for component in (kind, speed, layer, shown):
        component.preprocess = lambda payload: payload  # `make` checks, in words
    kind.change(fields, kind, [speed, layer], api_visibility="private", show_progress="hidden")
    go.click(
        lambda: gr.update(visible=True, value=None),
        None,
        file,
        queue=False,
        api_visibility="private",
    ).then(
        taken,
        [kind, speed, layer, shown],
        file,
        js=SHOWN_JS,
        concurrency_limit=1,
        api_visibility="private",
    )
