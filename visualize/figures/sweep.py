"""The figures of a sweep of one knob: passes and seconds over the knob's values, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from engine.decoders import decoder_of
from engine.trace import Trace
from visualize.figures.figures import Figure
from visualize.figures.measures import runners
from visualize.figures.plots import blank_plot, lane_look
from visualize.figures.seeds import Estimate, over_seeds

Point = tuple[float, Estimate, int | None]  # a value, its mean over the seeds, and its rank


def sweep_figures(traces: Sequence[Trace], knob: str) -> list[Figure]:
    """Return figures of passes and of seconds against the values of a knob.

    `traces` are runs of one race from several seeds. The race's lanes have one decoder with
    different values of the knob. Returns [] if fewer than two lanes finished from every seed.
    """
    lanes = over_seeds(traces)
    if len(lanes) < 2:
        return []
    values = [float(traces[0].header.lanes[lane.index].settings[knob]) for lane in lanes]
    passes = [(x, lane.passes, lane.rank_by_passes) for x, lane in zip(values, lanes, strict=True)]
    seconds = [
        (x, lane.seconds, lane.rank_by_seconds) for x, lane in zip(values, lanes, strict=True)
    ]
    return [
        _figure(traces, knob, "passes", "Passes", passes, 1),
        _figure(traces, knob, "seconds", "Seconds", seconds, 2),
    ]


def _figure(
    traces: Sequence[Trace], knob: str, name: str, title: str, points: list[Point], digits: int
) -> Figure:
    return Figure(
        f"sweep-{name}",
        f"{title} over {knob}",
        _sentence(knob, name, points, len(traces), digits),
        _plot(traces[0], knob, name, points),
    )


def _sentence(knob: str, unit: str, points: list[Point], seeds: int, digits: int) -> str:
    """Return the sentence on the knob's value that takes the fewest passes or seconds.

    If the seeds leave open which value that is, the sentence says so.
    """
    value, mean, rank = min(points, key=lambda point: point[1].mean)
    least = f"{knob} = {value:g} takes {mean.text(digits)} {unit}"
    if rank is not None:
        return f"Over {seeds} seeds {least}, less than any other value."
    over = (
        "One seed has no interval"
        if seeds == 1
        else "These seeds leave open which value takes fewest"
    )
    return f"{over}: {least}, the lowest mean."


def _plot(trace: Trace, knob: str, unit: str, points: list[Point]) -> go.Figure:
    lane = runners(trace)[0]
    look = lane_look(lane) | {"name": decoder_of(lane.decoder).title}
    plot = blank_plot(knob, unit)
    plot.update_layout(showlegend=False)
    plot.update_yaxes(rangemode="tozero")
    halves = [mean.half for _, mean, _ in points]
    # Both ends are given, because the figure's CSV file has both.
    ends = {"symmetric": False, "array": halves, "arrayminus": halves}
    intervals = {"type": "data", "visible": None not in halves, **ends}
    plot.add_scatter(
        x=[value for value, *_ in points],
        y=[mean.mean for _, mean, _ in points],
        error_y=intervals,
        mode="lines+markers",
        hovertemplate=f"{knob} = %{{x:g}}: %{{y:.2f}} {unit}<extra></extra>",
        **look,
    )
    return plot
