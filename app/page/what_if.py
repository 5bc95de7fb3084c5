"""The what-if: the rejected drafts of a finished race, verified again by another decoder's rule.

Drafts that would have passed are marked on the lane's picture. For each knob, a curve shows how
many drafts would have passed.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import gradio as gr
import numpy as np
import plotly.graph_objects as go

from app.api.visitor import session_of
from app.page.form import QUIET, Fields, unfolding
from app.races.races import NOT_OVER, Races
from app.races.request_values import KNOBS
from app.workers.between_steps import BETWEEN_STEPS
from engine.decoders import DECODERS
from engine.decoders.lantern import LanternSettings
from engine.race.rejudge import rejudge
from engine.race.request import build_settings
from engine.settings import SettingError, Settings
from engine.trace import Trace
from visualize.figures.measures import runners
from visualize.figures.what_if_plots import count_plot, marked_picture
from visualize.pictures.recorded_race import RecordedRace

RULES = {"gsd": ("G", "d", "delta"), "lantern": ("k", "delta")}  # the knobs of each rule
BLIND = (
    "The rejections cannot be judged again, because this trace does not say what the model's codes"
    " look like."
)
PARAGRAPH = '<p role="status">{}</p>'
# Where a knob of a rule still makes a difference, if not in all of its range.
SPANS = {"gsd.G": (1, 50), "gsd.d": (0.0, 1.0), "lantern.k": (0, 250)}
CURVES = max(map(len, RULES.values()))
POINTS = 12  # of a curve
MOST_ENTRIES = 2**22  # of distributions that a curve verifies: those of a large model have no curve
SLIDERS = {f"{rule}.{knob}": rule for rule, names in RULES.items() for knob in names}


def lane_choices(trace: Trace) -> list[tuple[str, int]]:
    """Return (title, index) of each lane in which some draft was rejected."""
    return [
        (runner.name, runner.index) for runner in runners(trace) if len(runner.table.rejections)
    ]


def opening(trace: Trace) -> tuple[int | None, str]:
    """Return the lane and the rule on which the section opens.

    The section opens on the first pair whose rule, with default knobs, would have accepted a
    draft that the lane rejected. The rule is never the lane's own. If there is no such pair, or
    the trace is too large to judge, the section opens on the first pair of all. The lane is None
    if no lane rejected a draft.
    """
    rejecting = [runner for runner in runners(trace) if len(runner.table.rejections)]
    others = [
        (runner.index, rule) for runner in rejecting for rule in RULES if rule != runner.decoder
    ]
    for lane, rule in others:
        try:
            if rejudge(trace, lane, rule, DECODERS[rule].Settings()).accepted:
                return lane, rule
        except SettingError:  # too large a trace: each would take as long
            break
    return others[0] if others else (None, next(iter(RULES)))


def answer(trace: Trace, lane: Any, rule: Any, knobs: Mapping[str, Any]) -> str:
    """Say how many of a lane's rejected drafts another rule would have accepted.

    The rule judges each step's first rejected draft. `knobs` has the sliders' values by field, such
    as "gsd.G". Raises SettingError.
    """
    choices = {index: title for title, index in lane_choices(trace)}
    if not choices:
        return "No draft was rejected in this race, so there is nothing to judge again."
    settings = _settings(trace, lane, rule, knobs)
    tally = rejudge(trace, lane, rule, settings)
    if tally.accepted is None:
        return BLIND
    judged = {knob: _value(trace, settings, knob) for knob in RULES[rule]}
    values = ", ".join(f"{knob} = {value:g}" for knob, value in judged.items())
    share = f"{tally.accepted} ({tally.accepted / tally.rejections:.0%})"
    drafts = "1 draft" if tally.rejections == 1 else f"{tally.rejections} drafts"
    return (
        f"{DECODERS[rule].title} with {values} would have accepted {share} of the {drafts} that"
        f" {choices[lane]} rejected first in a step. The later steps would then have differed, so"
        " this counts single decisions, not a race."
    )


def plots(
    recording: RecordedRace, lane: Any, rule: Any, knobs: Mapping[str, Any]
) -> list[go.Figure]:
    """Return the lane's picture with the drafts that `rule` would have accepted, and curves.

    Each curve shows the number of those drafts against a knob. There are no curves if they would
    take too long, and the list is empty if nothing can be judged. Raises SettingError.
    """
    trace = recording.trace
    titles = {index: title for title, index in lane_choices(trace)}
    if not titles:
        return []
    settings = _settings(trace, lane, rule, knobs)
    name = f"{titles[lane]}, judged again by {DECODERS[rule].title}"
    tally = rejudge(trace, lane, rule, settings)
    if tally.accepted is None:
        return []
    drawn = [marked_picture(recording, lane, tally.positions, name)]
    if POINTS * tally.rejections * trace.header.vocab_size > MOST_ENTRIES:
        return drawn
    for knob in RULES[rule]:
        values = _values(f"{rule}.{knob}")
        others = {name: getattr(settings, name) for name in RULES[rule]}
        counts = [
            rejudge(trace, lane, rule, build_settings(rule, others | {knob: value})).accepted or 0
            for value in values
        ]
        current = (_value(trace, settings, knob), tally.accepted)
        drawn.append(count_plot(knob, values, counts, current, tally.rejections, name))
    return drawn


def _settings(trace: Trace, lane: Any, rule: Any, knobs: Mapping[str, Any]) -> Settings:
    """Return the rule's settings with these knobs.

    Raises SettingError, also if the lane or the rule is not one that can be chosen.
    """
    lanes = [index for _, index in lane_choices(trace)]
    if isinstance(lane, bool) or not isinstance(lane, int) or lane not in lanes:
        raise SettingError("Choose a lane of this race.")
    if not isinstance(rule, str) or rule not in RULES:
        raise SettingError("Choose a rule.")
    return build_settings(rule, {knob: knobs[f"{rule}.{knob}"] for knob in RULES[rule]})


def _value(trace: Trace, settings: Settings, knob: str) -> float:
    """Return the value that a rule uses for a knob.

    It differs from the setting only for LANTERN's k, the number of neighbours. The paper's k is
    1000 for 16,384 codes. The setting k = 0 stands for the same fraction of this model's codes: 125
    if it has 2,048.
    """
    if isinstance(settings, LanternSettings) and knob == "k":
        return settings.neighbours(trace.header.vocab_size)
    return float(getattr(settings, knob))


def _span(field: str) -> tuple[float, float]:
    knob = KNOBS[field].knob
    return SPANS.get(field, (knob.low or 0, knob.high or 0))


def _values(field: str) -> list[float]:
    """Return the values of a knob for its curve, with small steps between small values."""
    low, high = _span(field)
    values = low + (high - low) * np.linspace(0, 1, POINTS) ** 2
    if isinstance(KNOBS[field].default, int):
        return sorted({max(1, round(value)) for value in values.tolist()})
    return [float(value) for value in values]


def what_if_section(
    races: Races, shown: gr.State, section: gr.Accordion
) -> tuple[gr.Dropdown, gr.Radio]:
    """Lay the section out and return its choices of a lane and of a rule.

    `shown` has the id of the race. When it changes, the section answers for the lane and the rule
    that are chosen at that moment. So the caller must set both choices, with `lane_choices` and
    `opening`, before `shown` or in the same update. Nothing is drawn until the visitor unfolds
    `section`.
    """
    gr.HTML(
        "<p>The trace has each step's first rejected draft with both its distributions, p and q."
        " Choose a lane and a rule that judges these drafts again.</p>",
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
    with gr.Row(elem_id="whatif-plots"):
        drawings = [
            gr.Plot(show_label=False, container=False, visible=False, min_width=220)
            for _ in range(1 + CURVES)
        ]

    def ask(request: gr.Request, race_id: Any, draws: bool, *values: Any) -> list[Any]:
        named, drawn = fields.named(values), list[go.Figure]()
        chosen = (named["lane"], named["rule"], named)
        try:
            recording = races.kept(race_id, session_of(request)).recording
            with BETWEEN_STEPS.work():
                text = answer(recording.trace, *chosen)
                drawn = plots(recording, *chosen) if draws else []
        except (SettingError, gr.Error) as error:
            text = str(getattr(error, "message", error))
        updates = [gr.update(value=plot, visible=True) for plot in drawn]
        updates += [gr.update(visible=False)] * (len(drawings) - len(drawn))
        return [PARAGRAPH.format(html.escape(text)), *updates]

    def show_sliders(rule: Any) -> list[Any]:
        return [gr.update(visible=each == rule) for each in SLIDERS.values()]

    rule.change(show_sliders, rule, list(sliders.values()), **QUIET)
    moves = [event for each in sliders.values() for event in (each.release, each.change)]
    unfolded = unfolding(section)
    triggers = [shown.change, lane.input, rule.change, unfolded.change, *moves]
    inputs, outputs = [shown, unfolded, *fields.components], [reply, *drawings]
    gr.on(triggers, ask, inputs, outputs, trigger_mode="always_last", **QUIET)
    return lane, rule


def _slider(field: str, visible: bool) -> gr.Slider:
    each = KNOBS[field]
    return gr.Slider(
        *_span(field),
        value=each.default,
        step=1 if isinstance(each.default, int) else 0.01,
        label=each.name,
        info=each.knob.help,
        visible=visible,
        min_width=200,
    )
