from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.page.what_if import RULES, SLIDERS, SPANS, answer, lane_choices, opening, plots
from app.races.request_values import KNOBS as FORM_KNOBS
from engine.decoders import DECODERS
from engine.decoders.gsd import GSDSettings
from engine.decoders.lantern import LanternSettings
from engine.race.rejudge import rejudge
from engine.settings import SettingError
from tests.app.conftest import ANYTHING
from tests.races import raced
from tools.judge.toys import Toy
from visualize.pictures.recorded_race import RecordedRace

KNOBS = dict(zip(SLIDERS, [10, 0.5, 0.15, 62, 0.1], strict=True))


TRACE, AR = (raced(Toy((6, 6), 16), lanes, seed=7) for lanes in (("ar", "sjd", "gsd"), ["ar"]))
BLIND = dataclasses.replace(TRACE, codebook=b"")


def test_lanes_with_rejections_can_be_chosen() -> None:
    assert lane_choices(TRACE) == [("SJD", 1), ("GSD", 2)]


def test_it_opens_on_a_rule_that_changes_something() -> None:
    """GSD's own rejections, judged by GSD as it raced, are rejected again."""
    for lanes in (("ar", "gsd", "sjd"), ("gsd", "lantern"), ("gsd",)):
        trace = raced(Toy((6, 6), 16), lanes, seed=7)
        lane, rule = opening(trace)
        assert lane is not None
        assert lanes[lane] != rule
        every = [
            rejudge(trace, at, name, DECODERS[name].Settings()).accepted
            for _, at in lane_choices(trace)
            for name in RULES
            if name != lanes[at]
        ]
        accepted = rejudge(trace, lane, rule, DECODERS[rule].Settings()).accepted
        assert accepted or not any(every)
    assert opening(AR) == (None, "gsd")
    assert opening(BLIND) == (1, "gsd"), "where nothing can be judged, the first lane"


def test_the_answer_has_the_tally_in_it() -> None:
    tally = rejudge(TRACE, 1, "gsd", GSDSettings())
    text = answer(TRACE, 1, "gsd", KNOBS)
    asked = "GSD with G = 10, d = 0.5, delta = 0.15"
    share = f"{tally.accepted} ({tally.accepted / tally.rejections:.0%})"
    assert f"{asked} would have accepted {share} of the {tally.rejections} drafts" in text
    assert "this counts single decisions, not a race" in text


def test_each_rule_has_its_own_knobs() -> None:
    knobs = KNOBS | {"lantern.k": 5, "lantern.delta": 1}
    assert "LANTERN with k = 5, delta = 1 would" in answer(TRACE, 1, "lantern", knobs)


def test_rejections_of_a_tree_of_drafts_are_judged_again() -> None:
    trace = raced(Toy((6, 6), 16), ["lantern:drafts=tree;depth=2;nodes=4;width=2;k=5"], seed=7)
    rejected = len(trace.table(0).rejections)
    assert rejected > 3
    for delta, accepted in ((0.0, 0), (1.0, rejected)):
        text = answer(trace, 0, "lantern", KNOBS | {"lantern.k": 16, "lantern.delta": delta})
        assert f"accepted {accepted} (" in text


def test_the_papers_share_is_stated_as_the_number_it_is() -> None:
    assert "LANTERN with k = 1, delta" in answer(TRACE, 1, "lantern", KNOBS | {"lantern.k": 0})


def test_a_race_without_rejections_says_so() -> None:
    assert "No draft was rejected" in answer(AR, 0, "gsd", KNOBS)


def test_a_trace_without_a_codebook_says_so() -> None:
    assert "cannot be judged again" in answer(BLIND, 1, "gsd", KNOBS)


@pytest.mark.parametrize(
    ("lane", "rule", "knobs", "words"),
    [
        *((lane, "gsd", {}, "Choose a lane") for lane in (0, "1", True, None)),
        *((1, rule, {}, "Choose a rule") for rule in ("sjd", ["gsd"])),
        (1, "gsd", {"gsd.G": 0}, "G is a whole number from 1 to 100, not 0"),
        (1, "gsd", {"gsd.d": None}, "d is a number from 0 to 10, not None"),
        (1, "lantern", {"lantern.delta": float("nan")}, "delta is a number from 0 to 1, not nan"),
    ],
)
def test_invalid_questions_are_rejected_with_a_message(lane, rule, knobs, words) -> None:
    with pytest.raises(SettingError, match=words):
        answer(TRACE, lane, rule, KNOBS | knobs)


@given(
    lane=ANYTHING,
    rule=ANYTHING | st.sampled_from(list(RULES)),
    knobs=st.fixed_dictionaries(dict.fromkeys(SLIDERS, ANYTHING)),
)
def test_any_question_is_answered_in_words(lane, rule, knobs) -> None:
    for chosen in (lane, 1):
        try:
            text = answer(TRACE, chosen, rule, knobs)
        except SettingError as error:
            text = str(error)
        assert 10 < len(text) < 500


def test_rules_are_decoders_knobs() -> None:
    for rule, names in RULES.items():
        assert set(names) <= {field.name for field in dataclasses.fields(DECODERS[rule].Settings)}


def test_the_drafts_are_marked_and_counted_against_every_knob() -> None:
    recording = RecordedRace(TRACE, None)
    for rule, settings in (("gsd", GSDSettings()), ("lantern", LanternSettings(k=5, delta=0.1))):
        tally = rejudge(TRACE, 1, rule, settings)
        picture, *curves = plots(recording, 1, rule, KNOBS | {"lantern.k": 5})
        marks = {(x, y) for x, y in zip(picture.data[0].x, picture.data[0].y, strict=True)}
        cells = [TRACE.header.cells[position] for position in tally.positions]
        assert marks == {(cell % 6, cell // 6) for cell in cells}
        assert len(cells) == tally.accepted
        names = {trace.name for plot in (picture, *curves) for trace in plot.data}
        assert names == {f"SJD, judged again by {DECODERS[rule].title}"}  # in their files, too
        assert [curve.layout.xaxis.title.text for curve in curves] == list(RULES[rule])
        for knob, curve in zip(RULES[rule], curves, strict=True):
            line, dot = curve.data
            assert (dot.x[0], dot.y[0]) == (getattr(settings, knob), tally.accepted)
            for value, count in zip(line.x, line.y, strict=True):
                changed = dataclasses.replace(settings, **{knob: value})
                assert count == rejudge(TRACE, 1, rule, changed).accepted


def test_where_nothing_can_be_judged_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plots(RecordedRace(AR, None), 0, "gsd", KNOBS) == []
    assert plots(RecordedRace(BLIND, None), 1, "gsd", KNOBS) == []
    with pytest.raises(SettingError, match="Choose a lane"):
        plots(RecordedRace(TRACE, None), 0, "gsd", KNOBS)
    monkeypatch.setattr("app.page.what_if.MOST_ENTRIES", 1)  # all models are large then
    assert len(plots(RecordedRace(TRACE, None), 1, "gsd", KNOBS)) == 1


def test_a_slider_spans_a_part_of_its_knobs_range_that_holds_the_default() -> None:
    for field, (low, high) in SPANS.items():
        knob, default = FORM_KNOBS[field].knob, FORM_KNOBS[field].default
        assert knob.low <= low <= default <= high <= knob.high
