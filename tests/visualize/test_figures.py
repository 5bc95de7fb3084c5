"""Figures: they show the measures' numbers, in stable colours on either page, and each says one
true thing of its race."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoders import DECODERS
from engine.race import Lane, Race
from engine.race.request import parse_lane
from engine.settings import Sampling
from engine.trace import Frame, Header, LaneState, Seconds, Status, Step, Trace
from tests.steps import EIGHT, Spot, build, retimed
from tests.stopped import run_until
from tests.toy import Toy
from visualize.figures import SPANS, Figure, figures
from visualize.measures import (
    Runner,
    acceptance,
    acceptance_lengths,
    progress,
    runners,
    sorted_shifts,
    sorted_top1,
    step_seconds,
    tv_by_distance,
)
from visualize.plots import DECODER_LOOKS, HEIGHT, INK, MOST_POINTS

NAMES = [
    *("passes", "seconds", "rows", "lengths", "gain"),
    *("top1", "acceptance", "shift", "time", "distance"),
]
PAGES = ("#ffffff", "#16181d")


@functools.cache
def raced(stop: int | None = None, side: int = 8) -> Trace:
    """A race of every decoder on a toy, stopped after so many frames."""
    model = Toy((side, side), 16, forced=True)
    race = Race(model, [Lane(name) for name in EIGHT], "<script>alert(1)</script> a prompt", 3)
    return run_until(race, stop)


@functools.cache
def drawn() -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(raced())}


def trace_of(
    lanes: dict[str, list[Step]],
    *,
    length: int,
    rows: int = 1,
    state: LaneState = LaneState.FINISHED,
) -> Trace:
    """A trace of hand-made lanes, all of which end in a state."""
    header = Header(
        "a prompt",
        1,
        "toy",
        (rows, length // rows),
        5,
        tuple(range(length)),
        Sampling(),
        tuple(Lane(name).plain() for name in lanes),
        "here",
    )
    frames = [
        Frame(i, LaneState.RACING, step) for i, steps in enumerate(lanes.values()) for step in steps
    ]
    error = "OSError: gone" if state is LaneState.FAILED else None
    return Trace(header, (*frames, *(Frame(i, state, error=error) for i in range(len(lanes)))))


def steps(
    *lengths: int,
    seconds: float = 1.0,
    tv: float | None = None,
    top1: float = 0.5,
    passed: bool = True,
) -> list[Step]:
    """Steps that committed so many tokens each. With `tv` drafts were tested, and all passed, or
    the last of a step did not."""
    made, before = [], 0
    for length in lengths:
        positions = []
        for at in range(before, before + length):
            rejected = at == before + length - 1 and not passed
            status = (
                Status.FRESH if tv is None else Status.RESAMPLED if rejected else Status.ACCEPTED
            )
            positions.append(
                Spot(at, None if tv is None else 1, 1, status, top1, None, tv, uniform=0.5)
            )
        made.append(
            build(len(made) + 1, before, before + length, tuple(positions), Seconds(seconds))
        )
        before += length
    return made


def said(
    lanes: dict[str, list[Step]], name: str, *, length: int, state: LaneState = LaneState.FINISHED
) -> str:
    return next(
        figure.sentence
        for figure in figures(trace_of(lanes, length=length, state=state))
        if figure.name == name
    )


def lanes_of(figure: Figure) -> dict[str, object]:
    """The plot's traces that stand for a lane, by name."""
    names = {runner.name for runner in runners(raced())}
    return {trace.name: trace for trace in figure.plot.data if trace.name in names}


# What the plots hold


def test_there_are_nine_figures_each_with_a_title_and_one_sentence() -> None:
    assert list(drawn()) == NAMES
    for figure in drawn().values():
        assert figure.title
        assert re.fullmatch(r"[A-Z][^\n]*[^.\n]\.", figure.sentence)
        assert not re.search(r"\.\s", figure.sentence), "one sentence"
        assert re.search(r"\d", figure.sentence), "with a number from the race"
        assert "nan" not in figure.sentence
        assert figure.plot.layout.title.text is None


@pytest.mark.parametrize("clock", ["passes", "seconds"])
def test_the_curves_are_the_lanes_progress(clock: str) -> None:
    traces = lanes_of(drawn()[clock])
    assert len(traces) == len(EIGHT)
    for runner in runners(raced()):
        found = progress(runner.table)
        assert np.array_equal(traces[runner.name].x, getattr(found, clock))
        assert np.array_equal(traces[runner.name].y, found.tokens)
        assert traces[runner.name].y[-1] == 8 * 9


@pytest.mark.parametrize(("name", "value"), [("lengths", "share"), ("gain", "gain")])
def test_bars_over_lengths_add_up(name: str, value: str) -> None:
    traces = lanes_of(drawn()[name])
    assert len(traces) > 3
    assert "Vanilla AR" not in traces, "its one bar says nothing"
    for runner in runners(raced()):
        if runner.name in traces:
            found, trace = acceptance_lengths(runner.table), traces[runner.name]
            assert sum(trace.y) == pytest.approx(1)
            assert trace.y[0] == pytest.approx(getattr(found, value)[found.lengths == 1].sum())
            long = [span == "5–8" for span in trace.x].index(True)
            assert trace.y[long] == pytest.approx(
                getattr(found, value)[(found.lengths >= 5) & (found.lengths <= 8)].sum()
            )
            assert sum(trace.customdata) == len(runner.table)


def test_the_spans_take_in_every_length_once() -> None:
    assert SPANS[0][0] == 1
    assert SPANS[-1][1] == 96  # the widest window
    assert all(later[0] == earlier[1] + 1 for earlier, later in pairwise(SPANS))


def test_the_sorted_top1_of_every_lane() -> None:
    for runner in runners(raced()):
        trace = lanes_of(drawn()["top1"])[runner.name]
        assert np.array_equal(trace.y, sorted_top1(runner.table))
        assert 0 < trace.x[0] < trace.x[-1] < 1


def test_acceptance_with_its_intervals_beside_the_diagonal() -> None:
    figure = drawn()["acceptance"]
    assert figure.plot.data[0].x == figure.plot.data[0].y == (0, 1)
    traces = lanes_of(figure)
    assert set(traces) == {"SJD", "SCD", "GSD", "LANTERN", "SJD-PAC"}
    for runner in runners(raced()):
        if found := acceptance(runner.table):
            trace, some = traces[runner.name], found.trials > 0
            assert np.array_equal(trace.x, found.promise[some])
            assert np.array_equal(trace.y, found.share[some])
            assert trace.y + trace.error_y.array == pytest.approx(found.high[some])
            assert trace.y - trace.error_y.arrayminus == pytest.approx(found.low[some])


def test_the_sorted_shifts_of_every_lane_that_tests_drafts() -> None:
    traces = lanes_of(drawn()["shift"])
    assert set(traces) == {r.name for r in runners(raced())} - {"Vanilla AR"}
    for runner in runners(raced()):
        if runner.name in traces:
            found = sorted_shifts(runner.table)
            assert np.array_equal(traces[runner.name].y, found)
            assert (np.diff(found) <= 0).all()
            assert not (runner.lossless and found.any())
    assert max(traces["GSD"].y) > 0.01


def test_the_dearest_test_is_named_and_what_it_does_not_say() -> None:
    def tests(shift: float) -> list[Step]:
        return [build(1, 0, 1, (Spot(0, 1, 1, Status.ACCEPTED, 0.5, shift=shift),))]

    assert (
        said({"sjd": tests(0), "gsd": tests(0.25), "lantern": tests(0.1)}, "shift", length=1)
        == "A test of GSD committed a token from a distribution that was on average 0.25 (TV) away"
        " from the model's, with the same tokens before it; the lane at 0 paid nothing: of one"
        " step, not of whole pictures."
    )
    assert (
        said({"sjd": tests(0)}, "shift", length=1)
        == "Every test was exact, a shift of 0: all 1 committed a token of the model's own"
        " distribution."
    )
    assert "No lane put a draft" in said({"ar": steps(1)}, "shift", length=1)


def test_a_steps_parts_add_up_to_its_time() -> None:
    bars = [trace for trace in drawn()["time"].plot.data if trace.showlegend is False]
    for runner in runners(raced()):
        mine = sum(trace.x[0] for trace in bars if trace.y[0] == runner.name)
        assert mine == pytest.approx(1000 * step_seconds(runner.table).total)
    legend = [trace.name for trace in drawn()["time"].plot.data if trace.showlegend is None]
    assert legend == ["forward pass", "verification", "cache", "drafter"]


def test_a_race_without_a_drafter_names_none() -> None:
    plot = figures(trace_of({"ar": steps(1, 1)}, length=2))[NAMES.index("time")].plot
    assert [trace.name for trace in plot.data if trace.showlegend is None] == ["forward pass"]


def test_tv_by_distance_where_there_are_pairs_enough() -> None:
    figure = drawn()["distance"]
    assert {"SJD", "GSD", "SJD-PAC"} <= set(lanes_of(figure))
    for runner in runners(raced()):
        if runner.name in lanes_of(figure):
            found, trace = tv_by_distance(runner.table), lanes_of(figure)[runner.name]
            assert np.array_equal(trace.x, found.distance[found.pairs >= 5])
            assert np.array_equal(trace.y, found.tv[found.pairs >= 5])
    assert figure.plot.layout.xaxis.dtick == 9, "a line for each row, its end of line included"


def test_a_long_line_is_thinned_and_keeps_its_ends() -> None:
    first = figures(trace_of({"ar": steps(*[1] * 2304)}, length=2304, rows=48))
    for name in ("passes", "seconds", "top1"):
        trace = first[NAMES.index(name)].plot.data[0]
        assert len(trace.x) == len(trace.y) == MOST_POINTS
    assert (first[0].plot.data[0].x[0], first[0].plot.data[0].x[-1]) == (0, 2304)


# How they look


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_are_seen_on_white_and_on_dark() -> None:
    for page in PAGES:
        assert contrast(INK, page) >= 4
        assert all(contrast(look["colour"], page) >= 3 for look in DECODER_LOOKS.values())


def test_lanes_differ_by_more_than_colour() -> None:
    assert set(DECODER_LOOKS) == set(DECODERS)
    for kind in ("colour", "dash", "symbol"):
        assert len({look[kind] for look in DECODER_LOOKS.values()}) == len(DECODERS)
    assert len({DECODER_LOOKS[name]["hatch"] for name in EIGHT}) == 8


def test_a_lane_looks_the_same_in_every_figure() -> None:
    looks: dict[str, set[tuple]] = {}
    for figure in drawn().values():
        for name, trace in lanes_of(figure).items():
            looks.setdefault(name, set()).add(trace.marker.color)
            if trace.type == "scatter":
                assert trace.line.color == trace.marker.color
    assert all(len(found) == 1 for found in looks.values())
    assert len(set.union(*looks.values())) == len(EIGHT)
    bars = {
        trace.y[0]: trace.marker.color
        for trace in drawn()["time"].plot.data
        if trace.showlegend is False
    }
    assert all({bars[name]} == found for name, found in looks.items())


def test_a_decoder_looks_the_same_in_every_race_and_its_lanes_differ() -> None:
    def looks(*texts: str) -> dict[str, tuple[str, str, str]]:
        lanes = [parse_lane(text) for text in texts]
        race = Race(Toy((4, 4), 16), lanes, "a prompt", 3)
        plot = next(one for one in figures(race.trace(list(race))) if one.name == "passes").plot
        return {
            line.name: (line.line.color, line.line.dash, line.marker.symbol) for line in plot.data
        }

    one, two = looks("sjd", "gsd"), looks("gsd", "ar", "gsd:G=4")
    assert one["GSD"] == two["GSD"]
    for mine, other in zip(two["GSD"], two["GSD G=4"], strict=True):
        assert mine != other


def test_rows_are_those_of_the_windows() -> None:
    plot = drawn()["rows"].plot
    for lane in runners(raced()):
        rows = lane.table.steps["rows"].sum()
        found = [bar.x[0] for bar in plot.data if bar.y[0] == lane.name and bar.x[0] is not None]
        assert found == pytest.approx([rows / len(lane.table), rows / raced_length(lane)])


def raced_length(lane: Runner) -> int:
    return int(lane.table.frontier[-1])


def test_plots_have_no_ground_of_their_own_and_fit_a_phone() -> None:
    for figure in drawn().values():
        layout = figure.plot.layout
        assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0, 0, 0, 0)"
        assert layout.height == HEIGHT
        assert layout.width is None
        assert layout.legend.orientation == "h"
        assert layout.font.color == INK


def test_plots_travel_as_json_and_hold_nothing_that_anyone_typed() -> None:
    lanes = [Lane("ar").plain(), Lane("sjd").plain()]
    header = replace(
        raced().header, lanes=tuple(lanes), machine="<img src=x>", model="<b>model</b>"
    )
    one = Frame(0, LaneState.RACING, steps(1)[0])
    trace = Trace(header, (one, Frame(1, LaneState.FAILED, error="<i>error</i>")))
    for figure in [*figures(trace), *figures(raced())]:
        text = figure.plot.to_json() + figure.title + figure.sentence
        json.loads(figure.plot.to_json())
        assert not re.search(r"<script|<img|<b>|<i>|prompt", text)


# What they say


def test_passes_and_seconds_are_held_against_vanilla_ar() -> None:
    lanes = {
        "ar": steps(1, 1, 1, 1, 1, 1),
        "sjd": steps(3, 2, 1, seconds=1.5),
        "gsd": steps(2, 2, 1, 1),
    }
    assert (
        said(lanes, "passes", length=6)
        == "SJD needed 3 passes for its 6 tokens, 2.00 tokens a pass; Vanilla AR needed 6."
    )
    assert (
        said(lanes, "seconds", length=6)
        == "GSD was first, after 4.00 s: 1.50 times as fast as Vanilla AR by the clock, 1.50 times"
        " counted in passes."
    )


def test_without_vanilla_ar_the_last_is_held_against_the_first() -> None:
    lanes = {"sjd": steps(1, 1, 1), "gsd": steps(3), "lantern": steps(2, 1)}
    assert (
        said(lanes, "passes", length=3)
        == "GSD needed 1 pass for its 3 tokens, 3.00 tokens a pass; SJD needed 3."
    )


def test_where_vanilla_ar_won_the_last_is_held_against_it() -> None:
    lanes = {"ar": steps(1, 1, seconds=1.0), "sjd": steps(1, 1, seconds=3.0)}
    assert (
        said(lanes, "seconds", length=2)
        == "Vanilla AR was first, after 2.00 s: 3.00 times as fast as SJD by the clock, 1.00 times"
        " counted in passes."
    )


def test_a_lane_alone_is_held_against_nobody() -> None:
    assert (
        said({"sjd": steps(1, 2)}, "passes", length=3)
        == "SJD needed 2 passes for its 3 tokens, 1.50 tokens a pass."
    )
    assert said({"sjd": steps(1, 2)}, "seconds", length=3) == "SJD took 2.00 s for its 3 tokens."


@pytest.mark.parametrize("state", [LaneState.STOPPED, LaneState.FAILED, LaneState.RACING])
@pytest.mark.parametrize("clock", ["passes", "seconds"])
def test_a_race_that_nobody_finished_says_who_came_furthest(state: LaneState, clock: str) -> None:
    lanes = {"ar": steps(1, 1), "sjd": steps(2, 1, 1)}
    assert (
        said(lanes, clock, length=9, state=state)
        == "No lane reached the finish; SJD came furthest, 4 of 9 tokens in 3 passes and"
        " 3.00 s."
    )


def test_single_token_steps_gained_nothing() -> None:
    lanes = {"ar": steps(1, 1, 1), "sjd": steps(1, 1, 2, 1), "gsd": steps(1, 2)}
    assert (
        said(lanes, "lengths", length=9)
        == "In 75% of its steps SJD committed a single token and gained nothing; GSD did so in 50%"
        " of its own."
    )
    assert (
        said({"sjd": steps(1, 2)}, "lengths", length=9)
        == "In 50% of its steps SJD committed a single token and gained nothing."
    )
    assert (
        said({"ar": steps(1, 1)}, "lengths", length=9)
        == "Every step committed one token, as vanilla AR's do: no lane gained anything."
    )


def test_the_speed_up_is_owed_to_the_longest_steps() -> None:
    """One step of 6 brought 5 of the 8 tokens beyond the first of each step."""
    lanes = {"ar": steps(1, 1, 1), "sjd": steps(1, 2, 6, 3, 1)}
    assert (
        said(lanes, "gain", length=13)
        == "SJD owes 62% of its speed-up to the 20% of its steps that committed 6 tokens or more."
    )
    assert "no speed-up" in said({"ar": steps(1, 1)}, "gain", length=2)


@pytest.mark.parametrize(
    ("top1", "sentence"),
    [
        (0.3, "had 0.30 or less: even the best single guess is mostly wrong there."),
        (
            0.04,
            (
                "had 0.04 or less, 100% of all from distributions with less than 0.05: even the"
                " best single guess is mostly wrong there."
            ),
        ),
        (0.9, "had 0.90 or more: there a single guess is mostly right, and drafts have it easy."),
    ],
)
def test_how_sure_the_model_was(top1: float, sentence: str) -> None:
    lanes = {"sjd": steps(1, 1, top1=0.6), "ar": steps(1, 1, top1=top1)}
    assert (
        said(lanes, "top1", length=2)
        == "Half of Vanilla AR's tokens were drawn from distributions whose likeliest token"
        f" {sentence}"
    )
    assert "Half of SJD's tokens" in said({"sjd": steps(1, 1)}, "top1", length=2)


def test_a_lossless_lane_on_the_diagonal_and_a_relaxed_one_above_it() -> None:
    half = {"tv": 0.5, "passed": False}
    lanes = {"sjd": steps(*[2] * 20, **half), "gsd": steps(*[10] * 4, **half)}
    assert (
        said(lanes, "acceptance", length=40)
        == "SJD, lossless, lies on the diagonal: it accepted 50.0% of 40 drafts where 1 − TV says"
        " 50.0%; GSD, relaxed, lies above it: it accepted 90.0% of 40 drafts where 1 − TV says"
        " 50.0%."
    )


def test_a_lane_where_it_should_not_be_is_said_to_be_there() -> None:
    wrong = {"sjd": steps(*[10] * 4, tv=0.5, passed=False)}
    assert (
        "SJD, lossless, lies off the diagonal by more than chance allows: it accepted 90.0%"
        in said(wrong, "acceptance", length=40)
    )
    strict = {"gsd": steps(*[2] * 20, tv=0.5, passed=False)}
    assert said(strict, "acceptance", length=40).startswith(
        "GSD, relaxed, lies not clearly above the diagonal"
    )
    assert said({"ar": steps(1)}, "acceptance", length=1).startswith(
        "No lane put a draft to the test"
    )


def test_where_time_went() -> None:
    def lane(*seconds: float) -> list[Step]:
        return [retimed(step, Seconds(*seconds)) for step in steps(1, 1)]

    lanes = {
        "ar": lane(0.009, 0.001),
        "lantern": lane(0.01, 0.002, 0.0, 0.008),
        "sjd": lane(0.016, 0.004),
    }
    assert (
        said(lanes, "time", length=2)
        == "LANTERN spent 50% of a step's 20.0 ms on the target's forward pass and 40% on its"
        " drafter; Vanilla AR spent 90% of its 10.0 ms on that pass."
    )
    assert (
        said({"ar": lane(0.002)}, "time", length=2)
        == "Vanilla AR spent 100% of a step's 2.0 ms on the target's forward pass."
    )
    assert said({"ar": lane(0.0)}, "time", length=2) == "No time was measured."


def disturbed(tvs: list[float], rejections: int) -> list[Step]:
    """Steps that each reject and leave drafts, with these TVs in the next step at distances 1, 2,
    .."""
    made = []
    for at in range(rejections + 1):
        found = [
            Spot(
                at + i,
                1,
                1,
                Status.REFINED if i else Status.RESAMPLED,
                0.5,
                None,
                tv,
                uniform=0.5,
                top=((at + i, 0.5),),
                top_draft=((at + i, 0.5),),
            )
            for i, tv in enumerate(tvs)
        ]
        end = at + len(tvs)
        last = Spot(end, 1, 1, Status.REFINED, 0.5, top=((end, 0.5),))
        made.append(build(at + 1, at, at + 1, (*found, last), Seconds(1.0), earlier=made))
    return made


def distance(tvs: list[float], *, rows: int = 1, rejections: int = 25) -> str:
    return figures(trace_of({"sjd": disturbed(tvs, rejections)}, length=36, rows=rows))[-1].sentence


def test_how_far_a_rejection_reaches() -> None:
    first = "In SJD's lane a rejection moved the distribution of the next position by a TV of 0.60"
    assert distance([0.6, 0.4, 0.1, 0.3]) == f"{first}, and the one 3 behind by 0.10."
    assert distance([0.6, 0.7]) == f"{first}, and the distributions behind it no less."
    assert (
        distance([0.6, 0.4, 0.1, 0.5], rows=9)
        == f"{first}, and the one 3 behind by 0.10; in the picture's next row, right below the"
        " rejected token, it is 0.50 again."
    )
    assert distance([0.6, 0.4, 0.3, 0.2], rows=9) == f"{first}, and the one 3 behind by 0.30."


def test_too_few_rejections_say_nothing_of_how_far_they_reach() -> None:
    assert distance([0.6, 0.1], rejections=19).startswith("Too few rejections")
    assert said({"sjd": steps(3, 2, tv=0.1)}, "distance", length=5).startswith("Too few rejections")


# Races of every kind


def test_where_no_lane_made_a_step_there_are_no_figures() -> None:
    assert figures(trace_of({"ar": [], "sjd": []}, length=4, state=LaneState.STOPPED)) == []


@pytest.mark.parametrize("state", list(LaneState))
def test_a_picture_of_one_token_has_all_figures(state: LaneState) -> None:
    for lanes in (
        {"ar": steps(1)},
        {"sjd": steps(1, tv=1.0)},
        {name: steps(1, seconds=0.0) for name in EIGHT},
    ):
        found = figures(trace_of(lanes, length=1, state=state))
        assert [figure.name for figure in found] == NAMES
        for figure in found:
            json.loads(figure.plot.to_json())
            assert "nan" not in figure.sentence


def test_lanes_of_one_decoder_are_distinct() -> None:
    header = trace_of({"sjd": []}, length=3).header
    frames = tuple(Frame(i, LaneState.FINISHED, steps(3)[0]) for i in range(2))
    plot = figures(Trace(replace(header, lanes=(Lane("sjd").plain(),) * 2), frames))[0].plot
    assert [trace.name for trace in plot.data] == ["SJD (1)", "SJD (2)"]
    assert plot.data[0].line.color != plot.data[1].line.color


@settings(max_examples=20)
@given(st.integers(8, 120))
def test_a_race_stopped_anywhere_has_figures(stop: int) -> None:
    for figure in figures(raced(stop, 4)):
        json.loads(figure.plot.to_json())
        assert figure.sentence.endswith(".")
        assert "nan" not in figure.sentence


def test_a_loaded_trace_has_the_same_figures() -> None:
    again = figures(Trace.loads(raced().dumps()))
    assert [figure.sentence for figure in again] == [figure.sentence for figure in drawn().values()]
