"""Figures: they show the measures' numbers, in stable colours on either page."""

from __future__ import annotations

import functools
import json
import re
from itertools import pairwise

import numpy as np
import pytest

from engine.decoders import DECODERS
from engine.trace import LaneState, Trace
from tests.races import race_of, raced
from tests.steps import EIGHT
from tests.stopped import run_until
from tests.visualize.races import headed, steps, trace_of
from tools.judge.toys import Toy
from visualize.figures.figures import SPANS, Figure, figures
from visualize.figures.measures import (
    acceptance,
    acceptance_by_depth,
    acceptance_lengths,
    progress,
    rows_read,
    runners,
    sorted_shifts,
    sorted_top1,
    step_seconds,
    tv_by_distance,
)
from visualize.figures.plots import DECODER_LOOKS, HEIGHT, INK, MOST_POINTS

NAMES = [
    "passes",
    "seconds",
    "rows",
    "lengths",
    "gain",
    "top1",
    "acceptance",
    "depth",
    "shift",
    "time",
    "distance",
]
PAGES = ("#ffffff", "#16181d")


@functools.cache
def eight(stop: int | None = None, side: int = 8) -> Trace:
    """A race of eight decoders on a toy, stopped after so many frames."""
    model = Toy((side, side), 16, forced=True)
    return run_until(race_of(model, EIGHT, "<script>alert(1)</script> a prompt", 3), stop)


@functools.cache
def drawn() -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(eight())}


def lanes_of(figure: Figure) -> dict[str, object]:
    """The plot's traces that stand for a lane, by name."""
    names = {runner.name for runner in runners(eight())}
    return {trace.name: trace for trace in figure.plot.data if trace.name in names}


def bars_of(name: str) -> dict[str, list]:
    """The bars of a plot of horizontal ones, by lane; those of the legend are empty."""
    bars = [bar for bar in drawn()[name].plot.data if bar.showlegend is False]
    return {
        runner.name: [bar for bar in bars if bar.y[0] == runner.name] for runner in runners(eight())
    }


# What the plots hold


def test_each_has_a_title_and_sentences_and_holds_nothing_that_anyone_typed() -> None:
    assert list(drawn()) == NAMES
    trace = trace_of({"ar": steps(1), "sjd": []}, length=4, state=LaneState.FAILED)
    other = figures(headed(trace, machine="<img src=x>", model="<b>model</b>"))
    for figure in (*drawn().values(), *other):
        assert figure.title
        assert figure.plot.layout.title.text is None
        text = figure.plot.to_json() + figure.title + figure.sentence
        assert not re.search(r"<script|<img|<b>|gone|prompt", text)
    for figure in drawn().values():
        assert_sentences(figure.sentence)


def assert_sentences(text: str) -> None:
    """Three at most, with a number from the race."""
    assert re.fullmatch(r"[A-Z][^\n]*[^.\n]\.", text)
    assert len(re.findall(r"\.\s", text)) <= 2
    assert re.search(r"\d", text)
    assert "nan" not in text


ALL = {DECODERS[name].title for name in EIGHT}
DRAFTED = ALL - {"Vanilla AR"}
TESTED = {"SJD", "SCD", "GSD", "LANTERN", "SJD-PAC", "Parallel rows"}


def points(name: str, runner) -> tuple[np.ndarray, np.ndarray]:
    """What a lane's line in a figure goes through, or its points are."""
    table = runner.table
    if name in ("passes", "seconds"):
        return getattr(progress(table), name), progress(table).tokens
    if name == "acceptance":
        found = acceptance(table)
        return found.promise[found.trials > 0], found.share[found.trials > 0]
    if name == "depth":
        found = acceptance_by_depth(table, 9)
        return found.depth[found.trials >= 5], found.share[found.trials >= 5]
    if name == "distance":
        found = tv_by_distance(table)
        return found.distance[found.pairs >= 5], found.tv[found.pairs >= 5]
    values = {"top1": sorted_top1, "shift": sorted_shifts}[name](table)
    return (np.arange(len(values)) + 0.5) / len(values), values


@pytest.mark.parametrize(
    ("name", "lanes"),
    [
        *(("passes", ALL), ("seconds", ALL), ("top1", ALL), ("shift", DRAFTED)),
        *(("acceptance", TESTED), ("depth", TESTED), ("distance", {"SJD", "GSD", "SJD-PAC"})),
    ],
)
def test_a_lanes_line_or_points_are_its_measure(name: str, lanes: set[str]) -> None:
    traces = lanes_of(drawn()[name])
    assert set(traces) == lanes if name != "distance" else set(traces) >= lanes
    for runner in runners(eight()):
        if runner.name in traces:
            x, y = points(name, runner)
            assert np.array_equal(traces[runner.name].x, x)
            assert np.array_equal(traces[runner.name].y, y)
            if name == "shift":
                assert not (runner.lossless and y.any())
    assert drawn()["distance"].plot.layout.xaxis.dtick == 9, "a row, its end of line included"


def test_acceptance_has_intervals_and_the_diagonal() -> None:
    figure = drawn()["acceptance"]
    assert figure.plot.data[0].x == figure.plot.data[0].y == (0, 1)
    for runner in runners(eight()):
        if found := acceptance(runner.table):
            trace, some = lanes_of(figure)[runner.name], found.trials > 0
            assert trace.y + trace.error_y.array == pytest.approx(found.high[some])
            assert trace.y - trace.error_y.arrayminus == pytest.approx(found.low[some])


@pytest.mark.parametrize(("name", "value"), [("lengths", "share"), ("gain", "gain")])
def test_bars_over_lengths_add_up(name: str, value: str) -> None:
    traces = lanes_of(drawn()[name])
    assert len(traces) > 3
    assert "Vanilla AR" not in traces, "its one bar says nothing"
    for runner in runners(eight()):
        if trace := traces.get(runner.name):
            found = acceptance_lengths(runner.table)
            bars = dict(zip(trace.x, trace.y, strict=True))
            assert sum(trace.y) == pytest.approx(1)
            for span, low, high in (("1", 1, 1), ("5–8", 5, 8)):
                some = (found.lengths >= low) & (found.lengths <= high)
                assert bars[span] == pytest.approx(getattr(found, value)[some].sum())
            assert sum(trace.customdata) == len(runner.table)


def test_the_spans_take_in_every_length_once() -> None:
    assert (SPANS[0][0], SPANS[-1][1]) == (1, 96)  # 96: the widest window
    assert all(later[0] == earlier[1] + 1 for earlier, later in pairwise(SPANS))


def test_rows_and_the_parts_of_a_step_are_the_measures() -> None:
    for runner in runners(eight()):
        rows = rows_read(runner.table)
        found = [bar.x[0] for bar in bars_of("rows")[runner.name]]
        assert found == pytest.approx([rows.per_pass, rows.per_token])
        spent = step_seconds(runner.table)
        milliseconds = [bar.x[0] for bar in bars_of("time")[runner.name]]
        parts = [spent.forward, spent.verify, spent.cache, spent.draft]
        assert milliseconds == pytest.approx([1000 * part for part in parts])


@pytest.mark.parametrize(
    ("trace", "legend"),
    [
        (eight, ["forward pass", "verification", "cache", "drafter"]),
        (lambda: trace_of({"ar": steps(1, 1)}, length=2), ["forward pass"]),
    ],
)
def test_the_legend_names_parts_that_took_time(trace, legend) -> None:
    plot = next(figure.plot for figure in figures(trace()) if figure.name == "time")
    assert [bar.name for bar in plot.data if bar.showlegend is None] == legend


def test_a_long_line_is_thinned_and_keeps_its_ends() -> None:
    first = figures(trace_of({"ar": steps(*[1] * 2304)}, length=2304, rows=48))
    for name in ("passes", "seconds", "top1"):
        trace = first[NAMES.index(name)].plot.data[0]
        assert len(trace.x) == len(trace.y) == MOST_POINTS
    assert (first[0].plot.data[0].x[0], first[0].plot.data[0].x[-1]) == (0, 2304)


# How they look


def contrast(one: str, other: str) -> float:
    """WCAG's, of two colours."""
    codes = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (one, other)]
    parts = np.array(codes) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ (0.2126, 0.7152, 0.0722))
    return (high + 0.05) / (low + 0.05)


def test_colours_are_seen_on_white_and_on_dark() -> None:
    for page in PAGES:
        assert contrast(INK, page) >= 4
        assert all(contrast(look["colour"], page) >= 3 for look in DECODER_LOOKS.values())


def test_decoders_differ_by_more_than_colour() -> None:
    assert set(DECODER_LOOKS) == set(DECODERS)
    for kind in ("colour", "dash", "symbol"):
        assert len({look[kind] for look in DECODER_LOOKS.values()}) == len(DECODERS)
    assert len({DECODER_LOOKS[name]["hatch"] for name in EIGHT}) == 8


def test_a_lane_looks_the_same_in_every_figure() -> None:
    colours: dict[str, set[str]] = {}
    for figure in drawn().values():
        for name, trace in lanes_of(figure).items():
            colours.setdefault(name, set()).add(trace.marker.color)
            if trace.type == "scatter":
                assert trace.line.color == trace.marker.color
    for name in ("rows", "time"):
        for lane, bars in bars_of(name).items():
            colours[lane] |= {bar.marker.color for bar in bars}
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == len(EIGHT)


def looks(*texts: str) -> dict[str, tuple[str, str, str]]:
    plot = figures(raced(Toy((2, 2), 16), texts, seed=3))[NAMES.index("passes")].plot
    return {line.name: (line.line.color, line.line.dash, line.marker.symbol) for line in plot.data}


def test_a_decoder_looks_the_same_in_every_race_and_its_lanes_differ() -> None:
    one, two = looks("sjd", "gsd"), looks("gsd", "ar", "gsd:G=4")
    assert one["GSD"] == two["GSD"]
    for mine, other in zip(two["GSD"], two["GSD G=4"], strict=True):
        assert mine != other
    assert list(looks("sjd", "sjd")) == ["SJD (1)", "SJD (2)"]


def test_two_lanes_of_a_decoder_have_bars_of_another_pattern() -> None:
    """Side by side over lengths, without a name beside them."""
    lanes = ("gsd", "gsd:G=4", "gsd:G=9", "gsd:G=2")
    plot = figures(raced(Toy((8, 8), 16), lanes, seed=3))[NAMES.index("lengths")].plot
    assert len({bar.marker.pattern.shape for bar in plot.data}) == len(lanes)


def test_plots_have_no_ground_of_their_own_and_fit_a_phone() -> None:
    for figure in drawn().values():
        layout = figure.plot.layout
        assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0, 0, 0, 0)"
        assert (layout.height, layout.width, layout.legend.orientation) == (HEIGHT, None, "h")
        assert layout.font.color == INK


# Races of every kind


def check(found: list[Figure]) -> None:
    assert [figure.name for figure in found] == NAMES
    for figure in found:
        json.loads(figure.plot.to_json())
        assert figure.sentence.endswith(".")
        assert "nan" not in figure.sentence


def test_where_no_lane_made_a_step_there_are_no_figures() -> None:
    assert figures(trace_of({"ar": [], "sjd": []}, length=4, state=LaneState.STOPPED)) == []


@pytest.mark.parametrize("state", list(LaneState))
def test_a_picture_of_one_token_has_all_figures(state: LaneState) -> None:
    for lanes in (
        {"ar": steps(1)},
        {"sjd": steps(1, tv=1.0)},
        {name: steps(1, seconds=0.0) for name in EIGHT},
    ):
        check(figures(trace_of(lanes, length=1, state=state)))


@pytest.mark.parametrize("stop", [9, 16, 17, 33, 60, 120])
def test_a_race_stopped_anywhere_has_figures(stop: int) -> None:
    check(figures(eight(stop, 4)))
