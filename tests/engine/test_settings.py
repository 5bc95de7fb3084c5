"""Settings cannot exist with a bad value, and the message says what a good one is."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders import DECODERS
from engine.settings import (
    Knob,
    Sampling,
    SettingError,
    Settings,
    Withdrawn,
    check_recorded,
    knob,
    knobs,
)

CLASSES = sorted(
    {Sampling, *(decoder.Settings for decoder in DECODERS.values())},
    key=lambda kind: kind.__qualname__,
)
EXTREME = (10**400, -(10**400), 10**5000, 1e308, -0.0, "16", object(), int)
HOSTILE = (
    st.sampled_from(EXTREME)
    | (st.integers() | st.floats() | st.booleans() | st.none() | st.complex_numbers())
    | (st.text(max_size=20) | st.binary(max_size=5) | st.lists(st.integers(), max_size=2))
)


@dataclass(frozen=True, slots=True)
class Some(Settings):
    whole: int = knob(3, "A whole number.", low=1, high=5)
    part: float = knob(0.5, "A part.", low=0.0, high=1.0)
    on: bool = knob(True, "A switch.")
    word: str = knob("a", "A word.", choices=("a", "b"))

    withdrawn: ClassVar = {"old": Withdrawn(("c", "d"), "word does.")}


def valid(settings: Settings) -> bool:
    """Whether every field is of its knob's type, and in its range or choices."""
    for name, spec, default in knobs(type(settings)):
        value = getattr(settings, name)
        if isinstance(default, (bool, str)):
            good = type(value) is type(default) and (
                isinstance(default, bool) or value in spec.choices
            )
        else:
            good = not isinstance(value, bool) and spec.low <= value <= spec.high
            good = good and isinstance(value, int if isinstance(default, int) else (int, float))
        if not good:
            return False
    return True


@pytest.mark.parametrize("kind", CLASSES)
def test_defaults_are_valid_and_explained(kind: type[Settings]) -> None:
    assert valid(kind())
    for _, spec, default in knobs(kind):
        assert spec.help.endswith(".")
        ranged = spec.low is not None and spec.high is not None
        assert isinstance(default, bool) or spec.choices or ranged


@pytest.mark.parametrize(
    ("kind", "name", "spec", "default"),
    [pytest.param(c, *k, id=f"{c.__name__}.{k[0]}") for c in CLASSES for k in knobs(c)],
)
def test_the_message_names_the_range(
    kind: type[Settings], name: str, spec: Knob, default: object
) -> None:
    if isinstance(default, bool):
        with pytest.raises(SettingError, match=f"{name} is on or off"):
            kind(**{name: 1})
        return
    if isinstance(default, str):
        with pytest.raises(SettingError) as caught:
            kind(**{name: "no such choice"})
        assert all(choice in str(caught.value) for choice in spec.choices)
        return
    wrong = [spec.low - 1, spec.high + 1, float("nan"), float("inf"), None]
    wrong += ["1", 10**400, 10**5000, "x" * 10**6]
    for value in [*wrong, spec.low + 0.5] if isinstance(default, int) else wrong:
        with pytest.raises(SettingError) as caught:
            kind(**{name: value})
        message = str(caught.value)
        assert name in message
        assert f"{spec.low:g} to {spec.high:g}" in message, message
        assert len(message) < 200


@pytest.mark.parametrize("kind", CLASSES)
@given(st.data())
def test_hostile_values_never_make_settings_out_of_range(
    kind: type[Settings], data: st.DataObject
) -> None:
    names = [name for name, _, _ in knobs(kind)]
    values = st.dictionaries(st.sampled_from(names), HOSTILE, max_size=3) if names else st.just({})
    try:
        settings = kind(**data.draw(values))
    except SettingError:
        return
    assert valid(settings)


def test_a_whole_number_may_come_as_a_float_and_becomes_whole() -> None:
    assert type(Some(whole=4.0).whole) is int
    assert Some(whole=4.0) == Some(whole=4)


def test_settings_are_frozen_and_comparable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Some().whole = 4  # type: ignore[misc]
    assert Some() == Some(3, 0.5, True, "a")
    assert len({Some(), Some()}) == 1


def test_both_ends_of_a_range_are_allowed() -> None:
    assert [Some(whole=end).whole for end in (1, 5)] == [1, 5]
    assert [Some(part=end).part for end in (0, 1)] == [0, 1]


@dataclass(frozen=True, slots=True)
class Bound(Some):
    """Its defaults do not go together."""

    def __post_init__(self) -> None:
        raise SettingError("whole is never 3.")


def test_a_traces_settings_are_checked_one_by_one_withdrawn_ones_too() -> None:
    for good in ({}, {"whole": 3, "word": "b"}, {"old": "c"}, {"old": "d", "part": 1.0}):
        check_recorded(Bound, good)
    for bad, words in (
        ({"whole": 6}, "whole is a whole number from 1 to 5, not 6"),
        ({"old": "<b>"}, "old was never '<b>'"),
        ({"older": "c"}, "there is no setting 'older'"),
    ):
        with pytest.raises(SettingError, match=words):
            check_recorded(Bound, bad)
