"""The parts that all figures share: an empty plot, a lane's look, and lines with few points.

Plots suit white and dark pages: they have no background, and their grey text is legible on both. A
decoder keeps its colour, dash and symbol from figure to figure and from race to race.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from PIL import ImageColor

from visualize.figures.measures import Runner
from visualize.look import LOOK

HEIGHT = 340
DECODER_LOOKS: dict[str, dict[str, str]] = LOOK["decoders"]
INK, RULE = "#7b7f87", "rgba(128, 132, 140, 0.28)"
# A lane gets a later dash and hatch if an earlier lane has the same decoder.
DASHES = ("solid", *(look["dash"] for name, look in DECODER_LOOKS.items() if name != "ar"))
HATCHES = tuple(dict.fromkeys(look["hatch"] for look in DECODER_LOOKS.values()))
MOST_POINTS = 400  # points of a line; more points than pixels would only make the page slow


def decoder_look(decoder: str) -> dict[str, str]:
    """Return a decoder's colour, dash, symbol and hatch. Decoders from outside share one look."""
    return DECODER_LOOKS.get(decoder, LOOK["outside"])


def lane_look(lane: Runner, size: int = 7) -> dict[str, Any]:
    """Return the name, line and marker of a lane's curves, the same in every figure.

    The first lane of a decoder has the decoder's look. Later lanes of that decoder have other
    dashes, and the colour of `lane_colour`. Every second lane of the decoder has an open symbol.
    """
    look = decoder_look(lane.decoder)
    colour = lane_colour(lane)
    dash = DASHES[(DASHES.index(look["dash"]) + 3 * lane.repeat) % len(DASHES)]
    symbol = look["symbol"] + "-open" * (lane.repeat % 2)
    return {
        "name": lane.name,
        "line": {"color": colour, "dash": dash, "width": 2.2},
        "marker": {"color": colour, "symbol": symbol, "size": size},
    }


def lane_colour(lane: Runner) -> str:
    """Return a lane's colour, which is legible on white and dark pages.

    The first lane of a decoder has the decoder's colour. The decoder's second lane is nearer to the
    text's grey, and its later lanes are all nearer still.
    """
    own = ImageColor.getrgb(decoder_look(lane.decoder)["colour"])
    grey = ImageColor.getrgb(INK)
    share = 0.4 * min(lane.repeat, 2)
    mixed = (round(x + share * (y - x)) for x, y in zip(own, grey, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def lane_hatch(lane: Runner) -> str:
    """Return a lane's hatch, for bars whose place does not show which lane they belong to.

    The first lane of a decoder has the decoder's hatch; later lanes have other hatches.
    """
    first = HATCHES.index(decoder_look(lane.decoder)["hatch"])
    return HATCHES[(first + 3 * lane.repeat) % len(HATCHES)]


def lane_fill(lane: Runner, hatch: str) -> dict[str, Any]:
    """Return the marker of a bar that has a lane's colour and `hatch`."""
    return hatched(hatch) | {"color": lane_colour(lane)}


def hatched(hatch: str) -> dict[str, Any]:
    """Return the marker of a bar that has the text's grey and `hatch`."""
    pattern = {
        "shape": hatch,
        "fillmode": "overlay",
        "fgcolor": "white",
        "fgopacity": 0.85,
        "size": 6,
        "solidity": 0.4,
    }
    return {"color": INK, "pattern": pattern}


def blank_plot(x: str, y: str) -> go.Figure:
    """Return an empty plot for white and dark pages, with the axis titles `x` and `y`."""
    axis = {
        "gridcolor": RULE,
        "linecolor": RULE,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
    }
    return go.Figure(
        layout={
            "template": "none",
            "height": HEIGHT,
            "autosize": True,
            "margin": {"l": 12, "r": 12, "t": 10, "b": 12},
            "paper_bgcolor": "rgba(0, 0, 0, 0)",
            "plot_bgcolor": "rgba(0, 0, 0, 0)",
            "font": {
                "color": INK,
                "size": 13,
                "family": "ui-sans-serif, system-ui, Helvetica Neue, Arial, sans-serif",
            },
            "xaxis": {**axis, "title": {"text": x, "font": {"size": 13}}},
            "yaxis": {**axis, "title": {"text": y, "font": {"size": 13}}},
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
            },
            "hovermode": "closest",
            "showlegend": True,
        }
    )


def thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most MOST_POINTS of a line's points, evenly chosen, with both ends."""
    if len(x) <= MOST_POINTS:
        return x, y
    points = np.linspace(0, len(x) - 1, MOST_POINTS).round().astype(int)
    return x[points], y[points]
