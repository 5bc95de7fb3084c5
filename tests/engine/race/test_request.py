"""The request for a race, and the reader of lanes and settings from text."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders import DECODERS
from engine.infilling import FORK, MASKED, Infilling
from engine.race import Lane, RaceRequest
from engine.race.request import (
    GROUPS,
    build_settings,
    format_lane,
    format_value,
    lane_names,
    parse_lane,
    parse_value,
    rule_of,
)
from engine.settings import Sampling, SettingError, knobs
from engine.trace import TraceLane

WITHDRAWN = [
    (group, knob, old) for group, kind in GROUPS.items() for knob, old in kind.withdrawn.items()
]
REQUEST = RaceRequest("red apple", 7, (Lane("sjd"), Lane("sjd")), Sampling(), "embedded")


@pytest.mark.parametrize("model", ["", None, 5, ["emu3"]])
def test_a_request_names_its_model(model) -> None:
    with pytest.raises(SettingError, match="name of a model"):
        dataclasses.replace(REQUEST, model=model)


def test_requests_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        REQUEST.seed = 8


def test_lanes_without_knobs_have_the_defaults() -> None:
    for name, decoder in DECODERS.items():
        assert parse_lane(name) == parse_lane(f"{name}:") == Lane(name, decoder.Settings())
    with pytest.raises(SettingError):
        parse_lane(":window=3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jet", "There is no decoder called 'jet'; there are ar,"),
        ("sjd:speed=9", "sjd has no knob 'speed'; it has window, init"),
        ("ar:speed=9", "ar has no knob 'speed'; it has none"),
        ("sjd:window=many", "SJD: window is a whole number from 2 to 96, not 'many'"),
        ("sjd:window", "SJD: window is a whole number from 2 to 96, not ''"),
        ("sjd:window=1e999", "SJD: window is a whole number from 2 to 96, not inf"),
        ("sjd-pac:AC=yes", "SJD-PAC: AC is on or off, not 'yes'"),
        ("gsd:G=4;G=4", "GSD: G is given twice"),
        ("gsd:d=nan", "GSD: d is a number from 0 to 10, not 'nan'"),
    ],
)
def test_lanes_that_cannot_be_raced_are_rejected(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        parse_lane(text)


@pytest.mark.parametrize(("group", "knob", "old"), WITHDRAWN)
def test_a_withdrawn_setting_is_rejected_with_what_to_do_instead(group, knob, old) -> None:
    """Whatever its value; an old trace's lane keeps it in its name."""
    assert old.instead.endswith(".")
    for value in old.values:
        with pytest.raises(SettingError) as caught:
            parse_lane(f"{group}:{knob}={format_value(value)}")
        start = f"{DECODERS[group].title} has no setting {knob} any more: "
        assert str(caught.value) == start + old.instead
    lanes = [TraceLane(group, {knob: value}) for value in old.values]
    shown = [f" {knob}={format_value(value)}" for value in old.values[1:]]
    assert lane_names(lanes) == [DECODERS[group].title + name for name in ("", *shown)]
    assert knob not in {name for name, _, _ in knobs(GROUPS[group])}


def test_a_lane_comes_back_from_its_text() -> None:
    for text in ("ar", "gsd", "gsd:G=50;d=0.3", "sjd:init=vertical repeat", "sjd-pac:AC=false"):
        assert format_lane(parse_lane(text).plain()) == text
    assert format_lane(parse_lane("gsd:G=10;d=0.30").plain()) == "gsd:d=0.3"
    assert parse_lane("sjd-pac:AC=true;K=2").settings.AC is True


def test_knobs_from_elsewhere_hold_where_the_text_says_nothing() -> None:
    assert parse_lane("gsd:G=50", {"G": "4", "d": "0.3"}) == parse_lane("gsd:G=50;d=0.3")


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["ar", "gsd"], ["Vanilla AR", "GSD"]),
        (["gsd:G=50", "gsd"], ["GSD G=50", "GSD"]),
        (["gsd:G=50;d=0.25", "sjd:window=8"], ["GSD G=50 d=0.25", "SJD window=8"]),
        (["sjd-pac:AC=false"], ["SJD-PAC AC=false"]),
        (["sjd", "gsd:G=10", "gsd"], ["SJD", "GSD (2)", "GSD (3)"]),
        # what six digits do not tell apart
        (["gsd:d=0.1234567", "gsd:d=0.1234568"], ["GSD d=0.123457 (1)", "GSD d=0.123457 (2)"]),
    ],
)
def test_names_say_what_differs_from_the_defaults(texts, names) -> None:
    assert lane_names([parse_lane(text).plain() for text in texts]) == names


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("sjd", "sjd"),
        ("sjd:verification=block", "block"),
        ("sjd-relaxed:relax=add", "sjd-relaxed"),
        ("sjd-relaxed:relax=typical", "typical"),
        ("sjd-relaxed:relax=runs", "runs"),
        ("sjd-pac:AC=false;verification=traversal", "traversal"),
    ],
)
def test_the_rule_that_tests_a_lane_s_drafts_is_its_decoder_s_or_a_knob_s(text, rule) -> None:
    assert rule_of(parse_lane(text).plain()) == rule


def test_the_rule_of_a_decoder_from_outside_is_not_known() -> None:
    assert rule_of(TraceLane("my-rule", {"verification": "block"}, ())) == "outside"


@given(st.data())
def test_every_value_of_every_knob_comes_back_from_its_text(data: st.DataObject) -> None:
    group = data.draw(st.sampled_from(list(GROUPS)))
    _, knob, default = data.draw(st.sampled_from(knobs(GROUPS[group])))
    if isinstance(default, bool):
        values = st.booleans()
    elif knob.choices:
        values = st.sampled_from(knob.choices)
    elif isinstance(default, int):
        values = st.integers(int(knob.low), int(knob.high))
    else:
        values = st.floats(knob.low, knob.high)
    value = data.draw(values)
    assert parse_value(default, format_value(value)) == value


@given(st.sampled_from([True, 5, 0.5, "text"]), st.text() | st.just("9" * 5000))
def test_any_text_becomes_a_value_or_stays_text(default: object, text: str) -> None:
    assert isinstance(parse_value(default, text), (bool, int, float, str))


def test_rejected_settings_are_named_with_their_group() -> None:
    with pytest.raises(SettingError, match="Sampling: top_k is a whole number"):
        build_settings("sampling", {"top_k": -1})
    with pytest.raises(SettingError, match="GSD: G is a whole number from 1 to 100"):
        build_settings("gsd", {"G": 10**400})


@pytest.mark.parametrize(("lane", "words"), [("assd", "out of order"), ("zipar", "whole pictures")])
def test_a_lane_that_cannot_draw_a_picture_on_says_so(lane: str, words: str) -> None:
    lanes, fork = (parse_lane(lane),), Infilling((1, MASKED), FORK)
    with pytest.raises(SettingError, match=words):
        RaceRequest("a prompt", 0, lanes, Sampling(), "embedded", fork)
