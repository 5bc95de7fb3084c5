"""Draws the two plots of "what if".

The first marks, on a lane's picture, the drafts that another rule would have accepted. The second
shows the number of drafts that this rule accepts against one of the rule's knobs.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import plotly.graph_objects as go

from visualize.figures.plots import blank_plot
from visualize.pictures.recorded_race import RecordedRace

SIDE = 240  # side of the picture and height of the curve's plot, in pixels
MARK, EDGE = "#ffd400", "#14161a"  # colours of a frame, visible on every picture


def marked_picture(
    recording: RecordedRace, lane: int, positions: Sequence[int], name: str
) -> go.Figure:
    """Draw a lane's final picture with a frame around each cell at one of `positions`.

    `positions` are sequence positions. If the recording has no picture of the lane, only the frames
    are drawn. `name` says which lane the drafts belong to, and which rule judged them.
    """
    header, pictures = recording.trace.header, recording.pictures
    rows, columns = header.grid
    cells = [header.cells_of(lane)[position] for position in positions]
    plot = blank_plot("", "")
    plot.update_layout(height=SIDE, showlegend=False, margin={"l": 0, "r": 0, "t": 0, "b": 0})
    plot.update_xaxes(visible=False, range=[-0.5, columns - 0.5], constrain="domain")
    plot.update_yaxes(visible=False, range=[rows - 0.5, -0.5], scaleanchor="x")
    if pictures is not None and (file := pictures.lanes[lane]) is not None:
        plot.add_layout_image(
            source=f"data:image/webp;base64,{base64.b64encode(file).decode()}",
            xref="x",
            yref="y",
            x=-0.5,
            y=-0.5,
            layer="below",
            sizex=columns,
            sizey=rows,
            sizing="stretch",
        )
    side = max(4, 0.8 * SIDE / max(rows, columns))
    for colour, width in ((EDGE, 4), (MARK, 2)):
        plot.add_scatter(
            x=[cell % columns for cell in cells],
            y=[cell // columns for cell in cells],
            mode="markers",
            marker={
                "symbol": "square-open",
                "size": side,
                "color": colour,
                "line": {"width": width},
            },
            hovertext=[f"row {cell // columns + 1}, column {cell % columns + 1}" for cell in cells],
            hoverinfo="text",
            name=name,
        )
    return plot


def count_plot(
    knob: str,
    values: Sequence[float],
    counts: Sequence[int],
    current: tuple[float, int],
    most: int,
    name: str,
) -> go.Figure:
    """Draw `counts` against `values`, which are values of `knob`.

    A count is the number of drafts, out of `most`, that the rule accepts at a value. `current` is
    the value and the count of the present setting. `name` says which lane the drafts belong to, and
    which rule judged them.
    """
    plot = blank_plot(knob, "drafts accepted")
    plot.update_layout(height=SIDE, showlegend=False)
    plot.update_yaxes(range=[0, 1.05 * most])
    plot.add_scatter(x=values, y=counts, mode="lines", line={"color": "#0072B2", "width": 2})
    value, count = current
    plot.add_scatter(x=[value], y=[count], mode="markers", marker={"color": "#e4002b", "size": 11})
    plot.update_traces(
        name=name, hovertemplate=f"{knob} = %{{x:g}}: %{{y}} accepted<extra></extra>"
    )
    return plot
