from __future__ import annotations

import pytest

from engine.race import Lane
from engine.race.request import format_lane, parse_lane
from engine.race.sweep import Sweep, swept_knobs
from engine.settings import SettingError


def test_the_lanes_differ_in_the_knob_alone() -> None:
    sweep = Sweep(parse_lane("gsd:G=4;d=0.3"), "G", (50, 1, 10.0))
    texts = [format_lane(lane.plain()) for lane in sweep.lanes]
    assert texts == ["gsd:G=1;d=0.3", "gsd:d=0.3", "gsd:G=50;d=0.3"]  # 10 is the default


def test_knobs_that_are_numbers_can_be_swept() -> None:
    assert swept_knobs(Lane("ar")) == []
    assert swept_knobs(Lane("sjd-pac")) == ["window", "K", "D"]
    assert "k" in swept_knobs(Lane("lantern"))  # whose default is 0


@pytest.mark.parametrize(
    ("knob", "values", "words"),
    [
        ("G", (4.0,), "2 to 8 values"),
        ("G", tuple(range(1, 10)), "2 to 8 values"),
        ("G", (4, 4.0), "each of them once"),
        ("G", (0, 4), "GSD: G is a whole number from 1 to 100, not 0"),
        ("G", (1.5, 4), "GSD: G is a whole number"),
        ("init", (1, 2), "no knob 'init' that is a number"),
        ("jet", (1, 2), "no knob 'jet'"),
    ],
)
def test_what_cannot_be_swept_is_rejected(knob, values, words) -> None:
    with pytest.raises(SettingError, match=words):
        Sweep(Lane("gsd"), knob, values)
