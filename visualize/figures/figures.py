"""Figures: what decided a race, drawn from its trace once it is over.

Each figure has one to three sentences that say what to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from engine.trace import Seconds, Trace
from visualize.figures import sentences
from visualize.figures.measures import (
    Acceptance,
    Depths,
    Distances,
    Lengths,
    Progress,
    Rows,
    Runner,
    acceptance,
    acceptance_by_depth,
    acceptance_lengths,
    is_claimed,
    progress,
    rows_read,
    runners,
    sorted_shifts,
    sorted_top1,
    step_seconds,
    tv_by_distance,
)
from visualize.figures.plots import (
    INK,
    blank_plot,
    hatched,
    lane_fill,
    lane_hatch,
    lane_look,
    thinned,
)

HATCHES = ("", "/", "x", "-")  # one for each of PARTS
PARTS = {"forward": "forward pass", "verify": "verification", "cache": "cache", "draft": "drafter"}
# The first and the last acceptance length of each bar.
SPANS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 96))
FEWEST_PAIRS = 5  # a mean over fewer pairs or drafts is noise


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot, the `title` and `sentence` that the page shows with it, and its id `name`."""

    name: str
    title: str
    sentence: str
    plot: go.Figure


def figures(trace: Trace) -> list[Figure]:
    """Return the figures of a race; [] if no lane made a step.

    The figures contain no text that a visitor typed.
    """
    lanes = runners(trace)
    if not lanes:
        return []
    length, stride = len(trace.header.cells), trace.header.stride
    run = [(lane, progress(lane.table)) for lane in lanes]
    work = [(lane, rows_read(lane.table)) for lane in lanes]
    lengths = [(lane, acceptance_lengths(lane.table)) for lane in lanes]
    top1 = [(lane, sorted_top1(lane.table)) for lane in lanes]
    # 1 - TV does not predict the acceptance of a draft that is tested together with others.
    alone = [lane for lane in lanes if not lane.together]
    tested = [(lane, bins) for lane in alone if (bins := acceptance(lane.table))]
    deep = [(lane, depths) for lane in lanes if (depths := acceptance_by_depth(lane.table, stride))]
    shifts = [(lane, sorted_shifts(lane.table)) for lane in lanes]
    shifts = [(lane, values) for lane, values in shifts if len(values)]
    claims = [lane for lane, values in shifts if is_claimed(lane, values)]
    shifts = [(lane, values) for lane, values in shifts if not is_claimed(lane, values)]
    parts = [(lane, step_seconds(lane.table)) for lane in lanes]
    far = [(lane, tv_by_distance(lane.table)) for lane in lanes]
    return [
        Figure(
            "passes",
            "Tokens against passes",
            sentences.passes(run, length),
            _progress(run, "passes", length),
        ),
        Figure(
            "seconds",
            "Tokens against seconds",
            sentences.seconds(run, length),
            _progress(run, "seconds", length),
        ),
        Figure("rows", "Rows a pass", sentences.rows(work), _rows(work)),
        Figure("lengths", "Acceptance lengths", sentences.lengths(lengths), _lengths(lengths)),
        Figure("gain", "Where the speed-up comes from", sentences.gain(lengths), _gain(lengths)),
        Figure("top1", "How sure the model was", sentences.top1(top1), _top1(top1)),
        Figure(
            "acceptance",
            "Acceptance against 1 − TV",
            sentences.acceptance(tested),
            _acceptance(tested),
        ),
        Figure("depth", "Acceptance by the draft's depth", sentences.depth(deep), _depth(deep)),
        Figure("shift", "Shift of a test", sentences.shift(shifts, claims), _shift(shifts)),
        Figure("time", "Where a step's time went", sentences.time(parts), _time(parts)),
        Figure(
            "distance",
            "How far a rejection reaches",
            sentences.distance(far, stride),
            _distance(far, stride),
        ),
    ]


def _progress(lanes: Sequence[tuple[Runner, Progress]], clock: str, length: int) -> go.Figure:
    plot = blank_plot(
        "passes of the model" if clock == "passes" else "seconds on the lane's own clock",
        "tokens committed",
    )
    for lane, curve in lanes:
        x, y = thinned(getattr(curve, clock), curve.tokens)
        shown = "%{x}" if clock == "passes" else "%{x:.2f}"
        look = lane_look(lane)
        # Only the last step has a marker, which tells the lines apart without colour.
        look["marker"] |= {"size": [0] * (len(x) - 1) + [9], "opacity": 1, "line": {"width": 0}}
        hover = f"{lane.name}<br>%{{y}} tokens after {shown} {clock}<extra></extra>"
        plot.add_scatter(x=x, y=y, mode="lines+markers", hovertemplate=hover, **look)
    return plot.update_yaxes(range=[0, length * 1.05])


def _rows(lanes: Sequence[tuple[Runner, Rows]]) -> go.Figure:
    plot = blank_plot("rows", "")
    for word, unit, hatch in (("a pass", "per_pass", ""), ("a token", "per_token", "/")):
        for lane, work in lanes:
            plot.add_bar(
                x=[getattr(work, unit)],
                y=[lane.name],
                orientation="h",
                name=f"rows {word}",
                showlegend=False,
                offsetgroup=unit,
                hovertemplate=f"{lane.name}<br>%{{x:.1f}} rows {word}<extra></extra>",
                marker=lane_fill(lane, hatch),
            )
        plot.add_bar(
            x=[None],
            y=[lanes[0][0].name],
            orientation="h",
            offsetgroup=unit,
            name=f"rows {word}",
            marker=hatched(hatch),
        )
    plot.update_layout(barmode="group", bargap=0.35, legend_traceorder="normal")
    return plot.update_yaxes(autorange="reversed", showgrid=False)


def _lengths(lanes: Sequence[tuple[Runner, Lengths]]) -> go.Figure:
    return _by_length(lanes, "share", "share of steps", "of its steps")


def _gain(lanes: Sequence[tuple[Runner, Lengths]]) -> go.Figure:
    return _by_length(lanes, "gain", "share of the speed-up", "of its speed-up")


def _by_length(
    lanes: Sequence[tuple[Runner, Lengths]], value: str, title: str, whole: str
) -> go.Figure:
    """Draw bars over acceptance lengths; several long lengths share a bar.

    `value` is the attribute of `Lengths` that gives the bars' heights, and `whole` says in hover
    text what these are shares of. A lane whose steps all committed one token is left out: its
    single bar would say nothing.
    """
    plot = blank_plot("tokens committed in a step", title)
    drafting = [(lane, histogram) for lane, histogram in lanes if histogram.lengths[-1] > 1]
    longest = max((histogram.lengths[-1] for _, histogram in drafting), default=1)
    spans = [span for span in SPANS if span[0] <= longest]
    for lane, histogram in drafting:
        within = [(histogram.lengths >= low) & (histogram.lengths <= high) for low, high in spans]
        hover = (
            f"{lane.name}<br>%{{y:.1%}} {whole}<br>in %{{customdata}} steps of"
            " %{x}<extra></extra>"
        )
        plot.add_bar(
            x=[str(low) if low == high else f"{low}–{high}" for low, high in spans],
            y=[getattr(histogram, value)[some].sum() for some in within],
            customdata=[histogram.steps[some].sum() for some in within],
            name=lane.name,
            hovertemplate=hover,
            marker=lane_fill(lane, lane_hatch(lane)),
        )
    return (
        plot.update_layout(bargap=0.25, bargroupgap=0.05)
        .update_xaxes(type="category")
        .update_yaxes(tickformat=".0%")
    )


def _top1(lanes: Sequence[tuple[Runner, np.ndarray]]) -> go.Figure:
    plot = blank_plot("committed tokens, surest first", "top-1 probability")
    return _sorted(plot, lanes, "tokens had a top-1").update_yaxes(range=[0, 1.02])


def _shift(lanes: Sequence[tuple[Runner, np.ndarray]]) -> go.Figure:
    plot = blank_plot("tests of a draft, largest shift first", "shift: TV(committed, p)")
    return _sorted(plot, lanes, "tests had a shift").update_yaxes(range=[-0.01, 1.02])


def _sorted(plot: go.Figure, lanes: Sequence[tuple[Runner, np.ndarray]], words: str) -> go.Figure:
    """Draw each lane's values, which must be sorted with the largest first.

    A value's x is the share of the lane's values that are at least as large. `words` say in hover
    text what has the values: "tokens had a top-1".
    """
    for lane, values in lanes:
        x, y = thinned((np.arange(len(values)) + 0.5) / max(len(values), 1), values)
        hover = f"{lane.name}<br>%{{x:.0%}} of its {words} of %{{y:.3f}} or more<extra></extra>"
        plot.add_scatter(x=x, y=y, mode="lines", hovertemplate=hover, **lane_look(lane))
    return plot.update_xaxes(tickformat=".0%", range=[0, 1])


def _acceptance(lanes: Sequence[tuple[Runner, Acceptance]]) -> go.Figure:
    plot = blank_plot("1 − TV(p, q)", "share of drafts accepted")
    plot.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        name="lossless",
        hoverinfo="skip",
        line={"color": INK, "dash": "dot", "width": 1.5},
    )
    for lane, bins in lanes:
        some = bins.trials > 0
        words = "where 1 − TV predicts %{x:.1%}"
        _add_shares(plot, lane, bins, some, bins.promise[some], words, mode="markers")
    return plot.update_xaxes(range=[-0.02, 1.02]).update_yaxes(range=[-0.02, 1.04])


def _depth(lanes: Sequence[tuple[Runner, Depths]]) -> go.Figure:
    plot = blank_plot("depth of the draft (1: first of its window)", "share accepted")
    for lane, bins in lanes:
        some = bins.trials >= FEWEST_PAIRS
        words = "of depth %{x}, all before them accepted"
        _add_shares(plot, lane, bins, some, bins.depth[some], words, mode="lines+markers")
    return plot.update_yaxes(range=[-0.02, 1.04], tickformat=".0%")


def _add_shares(
    plot: go.Figure,
    lane: Runner,
    bins: Acceptance | Depths,
    some: np.ndarray,
    x: np.ndarray,
    words: str,
    **options: Any,
) -> None:
    """Add a lane's share of accepted drafts, with its interval, for each bin that `some` selects.

    `x` has a place on the x axis for each selected bin. `words` end the hover text of each.
    """
    y, low, high = bins.share[some], bins.low[some], bins.high[some]
    plot.add_scatter(
        x=x,
        y=y,
        error_y={
            "type": "data",
            "symmetric": False,
            "array": high - y,
            "arrayminus": y - low,
            "width": 3,
            "thickness": 1,
        },
        hovertemplate=f"{lane.name}<br>%{{y:.1%}} of %{{customdata[0]}} drafts accepted (95%:"
        f" %{{customdata[1]:.1%}} to %{{customdata[2]:.1%}})<br>{words}<extra></extra>",
        customdata=np.stack([bins.trials[some], low, high], -1),
        **options,
        **lane_look(lane),
    )


def _time(lanes: Sequence[tuple[Runner, Seconds]]) -> go.Figure:
    plot = blank_plot("milliseconds a step", "")
    for hatch, (part, word) in zip(HATCHES, PARTS.items(), strict=False):
        spent = [(lane, times, getattr(times, part)) for lane, times in lanes]
        for lane, times, seconds in spent:
            hover = (
                f"{lane.name}<br>{word}: %{{x:.2f}} ms, {seconds / (times.total or 1):.0%} of a"
                " step<extra></extra>"
            )
            plot.add_bar(
                x=[1000 * seconds],
                y=[lane.name],
                orientation="h",
                name=word,
                showlegend=False,
                hovertemplate=hover,
                marker=lane_fill(lane, hatch),
            )
        # An empty bar in no lane's colour puts the part into the legend.
        if any(seconds for _, _, seconds in spent):
            plot.add_bar(
                x=[None], y=[lanes[0][0].name], orientation="h", name=word, marker=hatched(hatch)
            )
    plot.update_layout(barmode="stack", bargap=0.35, legend_traceorder="normal")
    return plot.update_yaxes(autorange="reversed", showgrid=False)


def _distance(lanes: Sequence[tuple[Runner, Distances]], stride: int) -> go.Figure:
    plot = blank_plot(
        "positions after the rejected one (grid: rows)", "mean TV, before against after"
    )
    for lane, curve in lanes:
        enough = curve.pairs >= FEWEST_PAIRS
        if not enough.any():
            continue
        hover = (
            f"{lane.name}<br>%{{x}} positions later: mean TV %{{y:.2f}} of"
            " %{customdata}<extra></extra>"
        )
        plot.add_scatter(
            x=curve.distance[enough],
            y=curve.tv[enough],
            customdata=curve.pairs[enough],
            mode="lines+markers",
            hovertemplate=hover,
            **lane_look(lane, 5),
        )
    return plot.update_xaxes(dtick=max(stride, 1), tick0=0).update_yaxes(range=[0, 1.02])
