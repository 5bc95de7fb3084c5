"""What speed costs: the panels show the file's points with their intervals, and a race's lanes as
rings, and say whose figures they are."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.measurements.quality import Judge, Picture, Point, Quality
from engine.models import load
from engine.race import Lane, Race
from engine.race.request import parse_lane
from engine.settings import Sampling
from engine.trace import LaneState, Trace
from engine.trace.shares import NONE, share_values
from tests.stopped import run_until
from tests.toy import Toy
from visualize.measures import runners
from visualize.quality import (
    SWEEPS,
    about,
    log_p_changes,
    quality_figures,
    right_glyphs,
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
    running = Race(model, [Lane(name) for name in RACED], "a prompt", 3)
    return run_until(running, stop)


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
            glyph=bool(rng.random() < 0.8),
        )
        for i in range(count)
    )


def measured(count: int = 10, judge: Judge | None = JUDGE) -> Quality:
    trace = race()
    return Quality(
        model=trace.header.model,
        weights=trace.header.weights,
        sampling=trace.header.sampling,
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
    plain = Picture(passes=36, shift=0.0, log_p=0.0, cut=0, glyph=True)
    rows = [{name: column[i] for name, column in columns.items()} for i in range(count)]
    other = tuple(replace(plain, **row) for row in rows)
    points = (Point("ar", (plain,) * count), Point("sjd", other))
    return replace(measured(), points=points)


# Intervals


def test_glyphs_have_wilsons_interval() -> None:
    quality = with_values(glyph=[True] * 8 + [False] * 2)
    ar, sjd = right_glyphs(quality)
    assert (sjd.value, sjd.low, sjd.high) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
    assert (ar.value, ar.low, ar.high) == pytest.approx((1.0, 0.7225, 1.0), abs=1e-4)


def test_log_p_is_compared_picture_by_picture() -> None:
    quality = with_values(log_p=[36.0, 72.0, 108.0])  # 1, 2 and 3 nats a token above vanilla AR
    found = log_p_changes(quality)[1]
    half = 4.303 / 3**0.5  # Student's t, 2 degrees of freedom, standard deviation 1
    assert (found.value, found.low, found.high) == pytest.approx((2, 2 - half, 2 + half), abs=1e-3)
    # What captions share falls out: both lanes' pictures are less likely by as much.
    shared = [
        Point(point.lane, tuple(replace(p, log_p=p.log_p - 500 * i) for i, p in pairs))
        for point in quality.points
        for pairs in [list(enumerate(point.pictures))]
    ]
    again = log_p_changes(replace(quality, points=tuple(shared)))[1]
    assert (again.value, again.low, again.high) == pytest.approx(
        (found.value, found.low, found.high), abs=1e-3
    )


def test_vanilla_ar_and_the_same_pictures_are_exactly_zero() -> None:
    for found in log_p_changes(with_values(log_p=[0.0, 0.0])):
        assert (found.value, found.low, found.high) == (0, 0, 0)


def test_shift_and_passes_are_means_over_pictures() -> None:
    found = shifts(with_values(shift=[0.1, 0.2, 0.3], passes=[10, 20, 60]))[1]
    assert (found.value, found.passes) == (pytest.approx(0.2), 30)
    assert found.high - found.value == pytest.approx(4.303 * 0.1 / 3**0.5, abs=1e-3)


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


def test_every_point_is_in_every_panel() -> None:
    quality = measured()
    panels = quality_figures(quality, race())
    estimates = (shifts(quality), log_p_changes(quality), right_glyphs(quality))
    assert [panel.name for panel in panels] == ["cost-shift", "cost-log-p", "cost-glyph"]
    for panel, found in zip(panels, estimates, strict=True):
        assert points(panel) == {one.name: (one.passes, one.value) for one in found}
        assert len(found) == len(LANES)
        for trace in panel.plot.data:
            if trace.name != "this race":
                ends = np.array([row[1:] for row in trace.customdata], float)
                assert trace.y - np.array(trace.error_y.arrayminus) == pytest.approx(ends[:, 0])
                assert trace.y + np.array(trace.error_y.array) == pytest.approx(ends[:, 1])


def test_a_sweep_is_a_line_labelled_where_it_is_most_relaxed() -> None:
    panel = quality_figures(measured(), race())[0]
    gsd = next(trace for trace in panel.plot.data if trace.name == SWEEPS[0].title)
    assert gsd.mode.startswith("lines")
    assert list(gsd.text) == ["", "50"]


def test_vanilla_ar_is_a_line_and_where_it_is_uncertain_a_band() -> None:
    quality = measured()
    shift, log_p, glyph = (panel.plot.layout.shapes for panel in quality_figures(quality, race()))
    assert [len(shapes) for shapes in (shift, log_p, glyph)] == [1, 1, 2]
    assert (shift[0].y0, log_p[0].y0) == (0, 0)
    ar = right_glyphs(quality)[0]
    assert (glyph[1].y0, glyph[1].y1) == (ar.low, ar.high)


def test_without_a_judge_there_is_no_panel_of_glyphs() -> None:
    quality = measured(judge=None)
    assert [panel.name for panel in quality_figures(quality, race())][2:] == []
    assert "No judge" in about(quality, race())
    assert "No judge" not in about(measured(), race())


def test_the_races_lanes_are_rings_where_their_value_is_known() -> None:
    trace = race()
    panels = quality_figures(measured(), trace)
    drawn = [
        (one.x[0], one.y[0], one.marker.symbol)
        for one in panels[0].plot.data
        if one.name == "this race"
    ]
    lanes = runners(trace)
    shifts = [lane.table.positions["shift"] for lane in lanes]
    means = [share_values(shift[shift != NONE]) for shift in shifts]
    assert [passes for passes, _, _ in drawn] == [len(lane.table) for lane in lanes]
    assert drawn[0][1] == len(means[0]) == 0, "vanilla AR tests nothing"
    assert [shift for _, shift, _ in drawn[1:]] == pytest.approx([one.mean() for one in means[1:]])
    assert {symbol for _, _, symbol in drawn} == {"circle-open"}
    assert "this race" in panels[0].plot.layout.annotations[0].text
    assert drawn[2][1] > 0, "GSD's shift"
    assert max(value for _, value, _ in drawn[:2]) < 1e-4, "vanilla AR's and SJD's"
    for panel in panels[1:]:
        assert "this race" not in [one.name for one in panel.plot.data]


def test_a_lane_that_did_not_finish_has_no_ring() -> None:
    stopped = race(5)
    assert LaneState.FINISHED not in {frame.state for frame in stopped.frames}
    assert rings(stopped) == []
    assert not quality_figures(measured(), stopped)[0].plot.layout.annotations
    assert len(rings(race())) == len(RACED)


# What they say


def test_it_says_how_many_pictures_of_which_model_where_and_when() -> None:
    said = about(measured(), race())
    for words in ("10 held-out captions", "7 settings", "toy", "01234567", "c0ffee", "a machine"):
        assert words in said
    assert "2026-01-02" in said
    assert "the race" not in said.lower(), "it was over the same model"


def test_it_says_whose_figures_they_are_where_another_model_raced() -> None:
    quality = measured()
    other = about(replace(quality, model="embedded"), race())
    assert "figures of Embedded model; the race was over toy" in other
    assert "other weights" in about(replace(quality, weights="0"), race())
    assert "does not say which weights" in about(quality, with_header(weights=""))
    assert "top-k 7" in about(quality, with_header(sampling=Sampling(guidance=1.0, top_k=7)))


def with_header(**changes: Any) -> Trace:
    trace = race()
    return replace(trace, header=replace(trace.header, **changes))


def test_each_panel_has_one_sentence_with_a_number() -> None:
    for panel in quality_figures(measured(), race()):
        assert re.fullmatch(r"[A-Z][^\n]*[^.\n]\.", panel.sentence)
        assert re.search(r"\d", panel.sentence)
        assert "nan" not in panel.sentence
        assert not re.search(r"\.\s", panel.sentence), "one sentence"


def test_the_stored_measurement_has_every_point_as_often() -> None:
    quality = stored()
    assert len(quality) > 0
    assert quality.weights == load("embedded").weights, "of the weights that ship"
    assert quality.points[0].lane == "ar"
    for point in quality.points:
        parse_lane(point.lane)
    assert {sweep.decoder for sweep in SWEEPS} < {
        parse_lane(point.lane).decoder for point in quality.points
    }
    for panel in quality_figures(quality, race()):
        assert len(points(panel)) == len(quality.points)
