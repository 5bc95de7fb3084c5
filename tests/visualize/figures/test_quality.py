"""What speed costs: the panels show the file's points with their intervals, and a race's lanes as
rings, and say whose figures they are."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models import load
from engine.race.request import parse_lane
from engine.settings import Sampling
from engine.trace import LaneState, Trace
from engine.trace.quality import Judge, Picture, Point, Quality
from engine.trace.shares import NONE, share_values
from tests.races import race_of
from tests.stopped import run_until
from tests.visualize.figures.test_figures import assert_sentences
from tests.visualize.races import headed
from tools.judge.toys import Toy
from visualize.figures.measures import runners
from visualize.figures.quality import (
    SWEEPS,
    about,
    log_p_changes,
    quality_figures,
    right_pictures,
    rings,
    shifts,
    stored,
)

LANES = ("ar", "sjd", "scd", "gsd:G=3", "gsd:G=50", "lantern:bound=lambda;lam=2.0", "sjd-relaxed")
RACED = ("ar", "sjd", "gsd")
JUDGE = Judge(100, 306, 96)


@functools.cache
def race(stop: int | None = None) -> Trace:
    model = Toy((6, 6), 16)
    model.weights = "0123456789abcdef"
    return run_until(race_of(model, RACED, seed=3), stop)


def pictures(lane: str, count: int) -> tuple[Picture, ...]:
    rng = np.random.default_rng(LANES.index(lane))
    shift = 0.0 if lane in ("ar", "sjd", "scd") else 0.1
    base = np.random.default_rng(99).normal(-60, 9, count)  # what the captions share
    return tuple(
        Picture(
            passes=40 - 4 * LANES.index(lane) + int(rng.integers(3)),
            shift=shift,
            log_p=float(base[i] + (lane != "ar") * rng.normal(1.8)),
            cut=0,
            right=bool(rng.random() < 0.8),
        )
        for i in range(count)
    )


def measured(count: int = 10, judge: Judge | None = JUDGE) -> Quality:
    header = race().header
    return Quality(
        model=header.model,
        weights=header.weights,
        sampling=header.sampling,
        tokens=36,
        captions="held out",
        judge=judge,
        commit="c0ffee",
        machine="a machine",
        date="2026-01-02",
        points=tuple(Point(lane, pictures(lane, count)) for lane in LANES),
    )


def with_values(**columns: list[float]) -> Quality:
    """Vanilla AR's pictures with log p 0, and SJD's with these columns."""
    count = len(next(iter(columns.values())))
    plain = Picture(passes=36, shift=0.0, log_p=0.0, cut=0, right=True)
    rows = [{name: column[i] for name, column in columns.items()} for i in range(count)]
    other = tuple(replace(plain, **row) for row in rows)
    points = (Point("ar", (plain,) * count), Point("sjd", other))
    return replace(measured(), points=points)


# Intervals


def near(*values: float) -> object:
    return pytest.approx(values, abs=1e-3)


@pytest.mark.parametrize(
    ("estimates", "columns", "point", "expected"),
    [
        # Wilson's
        (right_pictures, {"right": [True] * 8 + [False] * 2}, 1, near(0.8, 0.4902, 0.9433)),
        (right_pictures, {"right": [True] * 8 + [False] * 2}, 0, near(1.0, 0.7225, 1.0)),
        # Student's t, 2 degrees of freedom, standard deviations 1 and 0.1: picture by picture 1, 2
        # and 3 nats a token above vanilla AR
        (log_p_changes, {"log_p": [36.0, 72.0, 108.0]}, 1, near(2, 2 - 2.4843, 2 + 2.4843)),
        (shifts, {"shift": [0.1, 0.2, 0.3]}, 1, near(0.2, 0.2 - 0.24843, 0.2 + 0.24843)),
        # vanilla AR next to itself, and the same pictures
        *((log_p_changes, {"log_p": [0.0, 0.0]}, i, (0, 0, 0)) for i in (0, 1)),
    ],
)
def test_an_estimate_has_its_interval(estimates, columns, point, expected) -> None:
    found = estimates(with_values(**columns))[point]
    assert (found.value, found.low, found.high) == expected


def test_what_captions_share_falls_out_of_log_p_and_passes_are_means() -> None:
    """Both lanes' pictures are less likely by as much."""
    quality = with_values(log_p=[36.0, 72.0, 108.0], passes=[10, 20, 60])
    shared = []
    for point in quality.points:
        less = (replace(p, log_p=p.log_p - 500 * i) for i, p in enumerate(point.pictures))
        shared.append(Point(point.lane, tuple(less)))
    other = replace(quality, points=tuple(shared))
    one, two = (log_p_changes(each)[1] for each in (quality, other))
    assert one.passes == two.passes == 30
    assert (two.value, two.low, two.high) == pytest.approx((one.value, one.low, one.high), abs=1e-3)


# The panels


def points(figure) -> dict[str, tuple[float, float]]:
    """Passes and value of every stored point, by its name."""
    found: dict[str, tuple[float, float]] = {}
    for trace in figure.plot.data:
        if trace.name != "this race":
            for x, y, row in zip(trace.x, trace.y, trace.customdata, strict=True):
                assert row[0] not in found, "each once"
                found[row[0]] = (x, y)
    return found


def test_every_point_is_in_every_panel_and_each_has_sentences_with_a_number() -> None:
    quality = measured()
    panels = quality_figures(quality, race())
    estimates = (shifts(quality), log_p_changes(quality), right_pictures(quality))
    assert [panel.name for panel in panels] == ["cost-shift", "cost-log-p", "cost-right"]
    for panel, found in zip(panels, estimates, strict=True):
        assert points(panel) == {one.name: (one.passes, one.value) for one in found}
        assert len(found) == len(LANES)
        for trace in panel.plot.data:
            if trace.name != "this race":
                ends = np.array([row[1:] for row in trace.customdata], float)
                assert trace.y - np.array(trace.error_y.arrayminus) == pytest.approx(ends[:, 0])
                assert trace.y + np.array(trace.error_y.array) == pytest.approx(ends[:, 1])
        assert_sentences(panel.sentence)


def test_a_shift_that_is_not_known_is_drawn_nowhere() -> None:
    """SJD++'s, which is not 0."""
    untold = Point("sjd-plus-plus", tuple(replace(p, shift=None) for p in pictures("sjd", 10)))
    quality = replace(measured(), points=(*measured().points, untold))
    assert len(shifts(quality)) == len(LANES)
    assert len(log_p_changes(quality)) == len(right_pictures(quality)) == len(LANES) + 1
    trace = run_until(race_of(Toy((6, 6), 16), ("ar", "sjd-plus-plus", "sjd"), seed=3), None)
    assert [decoder for decoder, *_ in rings(trace)] == ["ar", "sjd"]


SETTINGS = ("ar", "sjd", "gsd:G=50", "zipar:s=1", "parallel:T=4")


def sentences_of(values: Sequence[float]) -> tuple[str, str, str]:
    """The panels' sentences where each setting but vanilla AR has one of these values, as its shift
    and, in nats a token, its change of log p, over ten pictures that are alike but for noise."""
    plain = Picture(passes=36, shift=0.0, log_p=0.0, cut=0, right=True)
    points = [Point("ar", (plain,) * 10)]
    for lane, value in zip(SETTINGS[1:], values, strict=True):
        shift = 0.0 if lane == "sjd" else abs(value)
        made = (
            replace(plain, passes=9, shift=shift, log_p=36 * (value + 0.1 * (-1) ** i))
            for i in range(10)
        )
        points.append(Point(lane, tuple(made)))
    panels = quality_figures(replace(measured(), points=tuple(points)), race())
    shift, log_p, right = (panel.sentence for panel in panels)
    return shift, log_p, right


@given(st.lists(st.sampled_from([0.0, 0.004, 0.05, -0.05, 0.5, -1.0]), min_size=4, max_size=4))
def test_sentences_choose_their_words_by_their_numbers(values: list[float]) -> None:
    shift, log_p, right = sentences_of(values)
    for sentence in (shift, log_p, right):
        assert_sentences(sentence)
    relaxed = [abs(value) for value in values[1:]]
    most = max(relaxed)
    if most == 0:
        assert shift.startswith("All 5 settings"), shift
    else:
        lane = relaxed.index(most) + 2
        tests = SETTINGS[lane].startswith("gsd")
        assert shift.startswith("The tests of GSD" if tests else "The tokens of "), shift
        assert ("given the same tokens before" in shift) == tests
        assert f"as if {100 * most:g} in 100 tokens" in shift, shift
    farthest = max(values, key=abs)
    is_clear = abs(farthest) > 0.1  # noise of 0.1 and ten pictures: half an interval is 0.075
    assert log_p.startswith("Pictures of" if is_clear else "No setting"), log_p
    if is_clear:
        assert ("less likely" in log_p) == (farthest < 0), log_p
    assert "not how well it is drawn" in right


def test_a_sweep_is_a_line_labelled_where_it_is_most_relaxed() -> None:
    panel = quality_figures(measured(), race())[0]
    gsd = next(trace for trace in panel.plot.data if trace.name == SWEEPS[0].title)
    assert gsd.mode.startswith("lines")
    assert list(gsd.text) == ["", "50"]


def test_vanilla_ar_is_a_line_and_where_it_is_uncertain_a_band() -> None:
    quality = measured()
    shift, log_p, right = (panel.plot.layout.shapes for panel in quality_figures(quality, race()))
    assert [len(shapes) for shapes in (shift, log_p, right)] == [1, 1, 2]
    assert (shift[0].y0, log_p[0].y0) == (0, 0)
    ar = right_pictures(quality)[0]
    assert (right[1].y0, right[1].y1) == (ar.low, ar.high)


def test_the_races_lanes_are_rings_where_their_value_is_known() -> None:
    lanes = runners(race())
    first, *others = quality_figures(measured(), race())
    drawn = [one for one in first.plot.data if one.name == "this race"]
    assert [ring.x[0] for ring in drawn] == [len(lane.table) for lane in lanes]
    for ring, lane in zip(drawn, lanes, strict=True):
        shift = lane.table.positions["shift"]
        tested = share_values(shift[shift != NONE])
        assert ring.y[0] == (pytest.approx(tested.mean()) if len(tested) else 0)
        assert (ring.y[0] > 1e-4) is (lane.decoder == "gsd")
        assert ring.marker.symbol == "circle-open"
    assert "this race" in first.plot.layout.annotations[0].text
    for panel in others:
        assert "this race" not in [one.name for one in panel.plot.data]


def test_a_lane_that_did_not_finish_has_no_ring() -> None:
    stopped = race(5)
    assert LaneState.FINISHED not in {frame.state for frame in stopped.frames}
    assert rings(stopped) == []
    assert not quality_figures(measured(), stopped)[0].plot.layout.annotations
    assert len(rings(race())) == len(RACED)


# What they say


WHOSE = "10 held-out captions|7 settings|toy|01234567|c0ffee|a machine|2026-01-02"
ONE, FIVE = Sampling(guidance=1.0, top_k=7), Sampling(guided_tokens=5, top_k=7)
OTHER = "The race had other settings: guidance"


@pytest.mark.parametrize(
    ("changes", "header", "words", "not_said"),
    [
        ({}, {}, WHOSE, "the race|no judge"),
        ({"judge": None}, {}, "no judge", "the race"),
        (
            {"model": "embedded"},
            {},
            "figures are for Embedded model; the race used toy",
            "weights of",
        ),
        ({"weights": "0"}, {}, "used other weights", "settings:"),
        ({}, {"weights": ""}, "does not say which weights", "settings:"),
        ({}, {"sampling": ONE}, f"{OTHER} 1,|top-k 7", "weights of"),
        ({}, {"sampling": FIVE}, f"{OTHER} 2 for 5 tokens, temperature 1|top-k 7", "weights of"),
    ],
)
def test_it_says_whose_figures_they_are(changes, header, words, not_said) -> None:
    said = about(replace(measured(), **changes), headed(race(), **header))
    assert all(word in said for word in words.split("|"))
    assert not any(word in said for word in not_said.split("|"))


def test_without_a_judge_there_is_no_panel_of_right_things() -> None:
    assert len(quality_figures(measured(judge=None), race())) == 2


def test_the_stored_measurement_has_every_point_as_often() -> None:
    quality = stored()
    assert quality.weights == load("embedded").weights, "of the weights that ship"
    decoders = [parse_lane(point.lane).decoder for point in quality.points]
    assert decoders[0] == "ar"
    assert {sweep.decoder for sweep in SWEEPS} < set(decoders)
    untold = sum(point.pictures[0].shift is None for point in quality.points)
    assert untold == decoders.count("sjd-plus-plus") + 1  # and SJD-SV
    shift, *others = quality_figures(quality, race())
    assert len(points(shift)) == len(quality.points) - untold > 0
    for panel in others:
        assert len(points(panel)) == len(quality.points)
