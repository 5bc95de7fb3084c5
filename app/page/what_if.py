"""What if: the drafts that a finished race rejected, verified again by another decoder's rule."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import gradio as gr

from app.page.form import KNOBS, QUIET, Fields
from app.page.handlers import NOT_OVER, Races
from engine.decoders import DECODERS
from engine.decoders.lantern import LanternSettings
from engine.race.request import build_settings
from engine.settings import SettingError
from engine.trace import Trace
from engine.trace.rejudge import rejudge
from visualize.measures import runners

RULES = {"gsd": ("G", "d", "delta"), "lantern": ("k", "delta")}  # the knobs of each rule
PARAGRAPH = '<p role="status">{}</p>'
SLIDERS = {f"{rule}.{knob}": rule for rule, names in RULES.items() for knob in names}


def lane_choices(trace: Trace) -> list[tuple[str, int]]:
    """(title, index) of the lanes that have a first rejection on record."""
    return [
        (runner.name, runner.index) for runner in runners(trace) if len(runner.table.rejections)
    ]


def answer(trace: Trace, lane: Any, rule: Any, knobs: Mapping[str, Any]) -> str:
    """How many of a lane's first rejected drafts `rule` would have accepted. `knobs` are the
    sliders' values, by field. Raises SettingError."""
    choices = {index: title for title, index in lane_choices(trace)}
    if not choices:
        return "No draft was rejected in this race, so there is nothing to judge again."
    if isinstance(lane, bool) or not isinstance(lane, int) or lane not in choices:
        raise SettingError("Choose a lane of this race.")
    if not isinstance(rule, str) or rule not in RULES:
        raise SettingError("Choose a rule.")
    settings = build_settings(rule, {knob: knobs[f"{rule}.{knob}"] for knob in RULES[rule]})
    tally = rejudge(trace, lane, rule, settings)
    if tally.accepted is None:
        return tally.sentence
    judged = {knob: getattr(settings, knob) for knob in RULES[rule]}
    if isinstance(settings, LanternSettings):
        judged["k"] = settings.neighbours(trace.header.vocab_size)
    values = ", ".join(f"{knob} = {value:g}" for knob, value in judged.items())
    share = f"{tally.accepted} ({tally.accepted / tally.rejections:.0%})"
    drafts = "draft" if tally.rejections == 1 else f"{tally.rejections} drafts"
    return (
        f"Of the {drafts} that {choices[lane]} rejected first, {DECODERS[rule].title} with {values}"
        f" would have accepted {share}. The later steps would then have differed: this counts"
        " single decisions, not a race."
    )


def what_if_section(races: Races, number: gr.State) -> gr.Dropdown:
    """Lays the section out and returns its choice of a lane, which is to be updated before `number`
    of the race on the board changes."""
    gr.HTML(
        "<p>Each step's first rejection is on record with both distributions behind it. Choose a"
        " lane, and a rule that judges again.</p>",
        apply_default_css=False,
    )
    with gr.Row():
        lane = gr.Dropdown([], label="Lane", min_width=160, elem_id="whatif-lane")
        titles = [(DECODERS[rule].title, rule) for rule in RULES]
        rule = gr.Radio(titles, value="gsd", label="Rule", min_width=160)
    with gr.Row():
        sliders = {field: _slider(field, visible=SLIDERS[field] == "gsd") for field in SLIDERS}
    fields = Fields({"lane": lane, "rule": rule, **sliders})
    reply = gr.HTML(PARAGRAPH.format(NOT_OVER), elem_id="whatif-answer", apply_default_css=False)

    def ask(request: gr.Request, *values: Any) -> str:
        race, text = races.finished(request), NOT_OVER
        if race is not None:
            named = fields.named(values)
            try:
                text = answer(race.recording.trace, named["lane"], named["rule"], named)
            except SettingError as error:
                text = str(error)
        return PARAGRAPH.format(html.escape(text))

    def show_sliders(rule: Any) -> list[Any]:
        return [gr.update(visible=each == rule) for each in SLIDERS.values()]

    rule.change(show_sliders, rule, list(sliders.values()), **QUIET)
    moves = [event for each in sliders.values() for event in (each.release, each.change)]
    triggers = [number.change, lane.input, rule.change, *moves]
    gr.on(triggers, ask, fields.components, reply, trigger_mode="always_last", **QUIET)
    return lane


def _slider(field: str, visible: bool) -> gr.Slider:
    each = KNOBS[field]
    return gr.Slider(
        each.knob.low or 0,
        each.knob.high or 0,
        value=each.default,
        step=1 if isinstance(each.default, int) else 0.01,
        label=each.name,
        info=each.knob.help,
        visible=visible,
        min_width=200,
    )
