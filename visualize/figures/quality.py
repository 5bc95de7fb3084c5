"""The price of speed: a stored measurement of quality against passes (GSD Fig. 10, without FID).

A point is a measured lane with its pictures. The lanes of a finished race are drawn as rings over
the measured shifts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from engine.decoders import DECODERS
from engine.decoders.priced import Priced
from engine.models.supply.card import CARDS
from engine.numerics.intervals import mean, wilson
from engine.race.request import lane_names, parse_lane
from engine.settings import Sampling
from engine.trace import LaneStats, Trace
from engine.trace.quality import Picture, Quality
from visualize.figures.figures import Figure
from visualize.figures.measures import runners
from visualize.figures.plots import INK, blank_plot, decoder_look
from visualize.figures.sentences import distance_in_words, meaning_of_shift

HEIGHT = 430
BASELINE = "ar"
BAND = "rgba(128, 132, 140, 0.22)"


@dataclass(frozen=True, slots=True)
class Sweep:
    """Lanes of one rule that differ in one knob, drawn as a line.

    `where` has settings of other knobs, which are the same in all these lanes.
    """

    title: str
    decoder: str
    knob: str
    where: tuple[tuple[str, str], ...] = ()
    dash: str = "solid"
    symbol: str | None = None  # if None, the decoder's own symbol
    label: str = "top center"  # position of the last point's label


SWEEPS = (
    Sweep("GSD G", "gsd", "G", label="middle left"),
    Sweep("LANTERN δ", "lantern", "delta", (("bound", "delta"),)),
    Sweep("LANTERN λ", "lantern", "lam", (("bound", "lambda"),), "dot", "cross-open"),
    Sweep("k p / q", "sjd-relaxed", "k", (("relax", "amplify"),), "solid", "asterisk-open"),
    Sweep("(p + e) / q", "sjd-relaxed", "e", (("relax", "add"),), "dash", "diamond-open"),
    Sweep(
        "annealed k", "sjd-relaxed", "k", (("relax", "anneal"),), "dot", "hash-open", "middle right"
    ),
    Sweep("entropy, nats", "sjd-relaxed", "nats", (("relax", "entropy"),), "dashdot", "y-up-open"),
    Sweep("SJD++ τ", "sjd-plus-plus", "tau"),
    Sweep("ZipAR s", "zipar", "s"),
    Sweep("rows c", "rows", "c", (("draws", "coupled"),), label="middle right"),
    Sweep("rows c, fresh", "rows", "c", (("draws", "fresh"),), "dot", label="bottom right"),
    Sweep("Auto-correct r", "auto-correct", "rounds"),
    Sweep("Parallel T", "parallel", "T"),
)


@dataclass(frozen=True, slots=True)
class PanelPoint:
    """A point of a panel: mean passes a picture, and a value with its 95% interval."""

    lane: str
    name: str
    passes: float
    value: float
    low: float
    high: float


@functools.cache
def stored() -> Quality:
    """Return the measurement that comes with the page."""
    return Quality.load(Path(__file__).with_name("quality.json"))


def quality_figures(quality: Quality, trace: Trace) -> list[Figure]:
    """Return panels of shift, of log p and of the share of right pictures, against passes.

    The last panel is missing if `quality` has no judge, a test that recognises drawn things. The
    lanes of `trace` are rings in the panel of shift.
    """
    points = shifts(quality)
    panels = [
        Figure(
            "cost-shift",
            "Shift against passes",
            _shift_sentence(points),
            _panel(points, "mean shift, TV(p′, p)", ".3f", rings(trace)),
        )
    ]
    changes = log_p_changes(quality)
    panels.append(
        Figure(
            "cost-log-p",
            "Log p relative to vanilla AR",
            _log_p_sentence(changes),
            _panel(changes, "log p, nats a token", "+.3f"),
        )
    )
    if right := right_pictures(quality):
        plot = _panel(right, "pictures with the right things", ".1%").update_yaxes(tickformat=".0%")
        panels.append(Figure("cost-right", "Right things", _right_sentence(right, quality), plot))
    return panels


def about(quality: Quality, trace: Trace) -> str:
    """Return how the stored figures were measured, and how the race differs from them."""
    judged = "" if quality.judge else " These weights have no judge of the things in a picture."
    whose = "Rings are the lanes of this race: one picture each."
    if trace.header.infilling:
        whose = (
            "These figures are for whole pictures: this race filled in a part, so it has no rings."
        )
    return (
        f"Each of {len(quality.points)} settings drew each of {len(quality)} held-out captions"
        f" once, from the same seed. Model: {_title(quality.model)}, weights {quality.weights[:8]}."
        f" Sampling: {_sampled(quality.sampling)}. Measured on {quality.machine}; commit"
        f" {quality.commit}; {quality.date}. Intervals are 95%. Log p is at that guidance and"
        f" temperature, before top-k and top-p.{judged}{_difference(quality, trace)} {whose}"
    )


def _difference(quality: Quality, trace: Trace) -> str:
    """Return how the race differs from the measurement, or "" if it does not."""
    header = trace.header
    if header.model != quality.model:
        return (
            f" These figures are for {_title(quality.model)}; the race used {_title(header.model)}."
        )
    if header.weights != quality.weights and header.infilling is None:
        if header.weights:
            return " The race used other weights of this model."
        return " The race's file does not say which weights of this model it used."
    if header.sampling != quality.sampling:
        return f" The race had other settings: {_sampled(header.sampling)}."
    return ""


def shifts(quality: Quality) -> list[PanelPoint]:
    """Return the mean shift of each point, with a 95% interval over the point's pictures.

    Points with a picture whose shift is unknown are left out.
    """
    known = [p for p in quality.points if all(each.shift is not None for each in p.pictures)]
    points = replace(quality, points=tuple(known))
    return _means(points, lambda _, picture: picture.shift or 0.0)


def log_p_changes(quality: Quality) -> list[PanelPoint]:
    """Return each point's mean log p minus vanilla AR's, in nats a token.

    The point's lane and vanilla AR draw the same captions from the same seeds. Above 0, the point's
    pictures are more likely than vanilla AR's.
    """
    return _means(quality, lambda first, picture: (picture.log_p - first.log_p) / quality.tokens)


def right_pictures(quality: Quality) -> list[PanelPoint]:
    """Return each point's share of right pictures, with Wilson's 95% interval.

    A picture is right if a judge, which recognises drawn things, finds every thing of the caption
    in its place. Returns [] if `quality` has no judge.
    """
    if quality.judge is None:
        return []
    points = []
    n = len(quality)
    for point in quality.points:
        right = sum(bool(picture.right) for picture in point.pictures)
        low, high = (float(end) for end in wilson(np.array(right), np.array(float(n))))
        passes = _mean([picture.passes for picture in point.pictures])
        points.append(PanelPoint(point.lane, _name(point.lane), passes, right / n, low, high))
    return points


def rings(trace: Trace) -> list[tuple[str, str, int, float]]:
    """Return (decoder, name, passes, mean shift) of each lane that finished a whole picture.

    A lane whose shift is unknown is left out. The others are drawn as rings.
    """
    entries: list[tuple[str, str, int, float]] = []
    if trace.header.infilling:
        return entries
    for lane in runners(trace):
        stats = LaneStats()
        for step in trace.steps(lane.index):
            stats.add(step)
        shift = 0.0 if lane.decoder == BASELINE else stats.mean_shift()
        if lane.finished and shift is not None:
            entries.append((lane.decoder, lane.name, stats.nfe, shift))
    return entries


def _means(quality: Quality, value: Callable[[Picture, Picture], float]) -> list[PanelPoint]:
    """Return the mean of `value` over captions, with its 95% interval, for each point.

    `value` gets two pictures of the same caption: vanilla AR's and the point's.
    """
    baseline = next(point for point in quality.points if point.lane == BASELINE)
    points = []
    for point in quality.points:
        pairs = zip(baseline.pictures, point.pictures, strict=True)
        measured = mean([value(first, picture) for first, picture in pairs])
        middle, half = measured["mean"], measured["plus_minus"]
        passes = _mean([picture.passes for picture in point.pictures])
        points.append(
            PanelPoint(point.lane, _name(point.lane), passes, middle, middle - half, middle + half)
        )
    return points


def _panel(
    points: Sequence[PanelPoint],
    title: str,
    number: str,
    rings: Sequence[tuple[str, str, int, float]] = (),
) -> go.Figure:
    """Draw vanilla AR as a band, sweeps as lines, other lanes as points, and the race as rings.

    `title` is the y axis's, and `number` is the format of the y values. `rings` has (decoder, name,
    passes, y value) of each of the race's lanes.
    """
    plot = blank_plot("passes a picture", title)
    remaining_points = list(points)
    for sweep in SWEEPS:
        line = [point for point in points if _belongs(point.lane, sweep)]
        remaining_points = [point for point in remaining_points if point not in line]
        if line:
            texts = [""] * (len(line) - 1) + [_knob(line[-1].lane, sweep)]
            look = _look(sweep.decoder, sweep.symbol)
            look["line"] = {"color": look["marker"]["color"], "dash": sweep.dash}
            look["textposition"] = sweep.label
            _add(plot, sweep.title, line, number, texts, mode="lines+markers+text", **look)
    for decoder in dict.fromkeys(parse_lane(point.lane).decoder for point in remaining_points):
        mine = [point for point in remaining_points if parse_lane(point.lane).decoder == decoder]
        look = _look(decoder)
        _add(plot, DECODERS[decoder].title, mine, number, [""] * len(mine), mode="markers", **look)
    for decoder, name, passes, value in rings:
        plot.add_scatter(
            x=[passes],
            y=[value],
            mode="markers",
            name="this race",
            showlegend=False,
            marker={
                "symbol": "circle-open",
                "size": 17,
                "color": decoder_look(decoder)["colour"],
                "line": {"width": 2.5},
            },
            hovertemplate=f"this race: {name}<br>{passes} passes<br>%{{y:{number}}}<extra></extra>",
        )
    if rings:
        plot.add_annotation(
            text="○ this race",
            x=1,
            y=1,
            xref="paper",
            yref="paper",
            xanchor="right",
            yanchor="top",
            showarrow=False,
        )
    first = next(point for point in points if point.lane == BASELINE)
    plot.add_hline(y=first.value, line={"color": INK, "width": 1, "dash": "dot"})
    if first.high > first.low:
        plot.add_hrect(y0=first.low, y1=first.high, fillcolor=BAND, line_width=0, layer="below")
    ticks = [2**power for power in range(16)]
    legend = {"entrywidth": 62, "font": {"size": 11}}
    return plot.update_xaxes(type="log", tickvals=ticks).update_layout(height=HEIGHT, legend=legend)


def _add(
    plot: go.Figure,
    name: str,
    points: Sequence[PanelPoint],
    number: str,
    texts: list[str],
    **look: Any,
) -> None:
    """Add `points` and their intervals to `plot` as one curve called `name`.

    `number` is the format of the y values, and `texts` has a label for each point.
    """
    hover = (
        "%{customdata[0]}<br>%{x:.1f} passes a picture<br>"
        f"%{{y:{number}}} (95%: %{{customdata[1]:{number}}} to %{{customdata[2]:{number}}})"
        "<extra></extra>"
    )
    plot.add_scatter(
        x=[point.passes for point in points],
        y=[point.value for point in points],
        name=name,
        text=texts,
        textfont={"size": 11},
        customdata=[[point.name, point.low, point.high] for point in points],
        hovertemplate=hover,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [point.high - point.value for point in points],
            "arrayminus": [point.value - point.low for point in points],
            "width": 3,
            "thickness": 1,
        },
        **look,
    )


def _look(decoder: str, symbol: str | None = None) -> dict[str, Any]:
    """Return a decoder's marker, with `symbol`, if given, in place of the decoder's symbol."""
    look = decoder_look(decoder)
    return {"marker": {"color": look["colour"], "symbol": symbol or look["symbol"], "size": 9}}


def _belongs(lane: str, sweep: Sweep) -> bool:
    parsed = parse_lane(lane)
    return parsed.decoder == sweep.decoder and all(
        getattr(parsed.settings, knob) == value for knob, value in sweep.where
    )


def _knob(lane: str, sweep: Sweep) -> str:
    return f"{getattr(parse_lane(lane).settings, sweep.knob):g}"


def _name(lane: str) -> str:
    return lane_names([parse_lane(lane).plain()])[0]


def _title(model: str) -> str:
    return CARDS[model].title if model in CARDS else model


def _sampled(sampling: Sampling) -> str:
    tokens = f" for {sampling.guided_tokens} tokens" if sampling.guided_tokens else ""
    return (
        f"guidance {sampling.guidance:g}{tokens}, temperature {sampling.temperature:g}, top-k"
        f" {sampling.top_k}, top-p {sampling.top_p:g}"
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _shift_sentence(points: Sequence[PanelPoint]) -> str:
    most = max(points, key=lambda point: point.value)
    if not most.value:
        return f"All {len(points)} settings commit tokens from the model's own p (shift 0)."
    priced = issubclass(DECODERS[parse_lane(most.lane).decoder], Priced)
    what = "tokens" if priced else "tests"
    return (
        f"The {what} of {most.name}, with {most.passes:.0f} passes a picture, have the largest mean"
        f" shift, {distance_in_words(most.value)}. {meaning_of_shift(priced)}"
        " Lossless lanes have shift 0."
    )


def _log_p_sentence(points: Sequence[PanelPoint]) -> str:
    most = max(points, key=lambda point: abs(point.value))
    if most.low <= 0 <= most.high:
        return (
            "No setting's pictures are clearly more or less likely than vanilla AR's for the same"
            f" captions and seeds. The largest difference is that of {most.name}:"
            f" {most.value:+.2f} nats a token (95%: {most.low:+.2f} to {most.high:+.2f})."
        )
    side = "likelier" if most.value > 0 else "less likely"
    return (
        f"Pictures of {most.name} differ most in log p from vanilla AR's for the same captions and"
        f" seeds: they are {side} by {abs(most.value):.2f} nats a token (95%: {most.low:+.2f} to"
        f" {most.high:+.2f}). Each token is {math.exp(most.value):.2f} times as probable. Lossless"
        " lanes differ from vanilla AR by chance alone."
    )


def _right_sentence(points: Sequence[PanelPoint], quality: Quality) -> str:
    first = next(point for point in points if point.lane == BASELINE)
    fewest = min(points, key=lambda point: point.passes)
    other = (
        f"; {fewest.name}, with the fewest passes, did so in {fewest.value:.0%} ({fewest.low:.0%}"
        f" to {fewest.high:.0%})"
    )
    return (
        f"Vanilla AR drew every thing right in {first.value:.0%} of {len(quality)} pictures (95%:"
        f" {first.low:.0%} to {first.high:.0%}, the band){'' if fewest is first else other}. The"
        " judge sees which thing is where, but not how well it is drawn, nor whether pictures of"
        " one prompt still vary as the model's own do."
    )
