"""Which settings are judged."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders import DECODERS
from engine.decoders.base import NoSettings
from engine.decoders.jacobi_window import JacobiWindowSettings
from engine.settings import SettingError, Settings, knob, knobs
from tools.judge.corners import corners, covering, inside, settings_to_judge

Row = dict[str, Any]


def test_the_corners_of_one_knob() -> None:
    found = {name: corners(spec, default) for name, spec, default in knobs(JacobiWindowSettings)}
    assert found["window"] == [16, 2, 3, 4, 96]
    assert found["init"][0] == "random"
    assert len(found["init"]) == 5

    @dataclasses.dataclass(frozen=True, slots=True)
    class Own(Settings):
        on: bool = knob(True, "On.")
        share: float = knob(0.5, "A share.", low=0.0, high=0.5)
        few: int = knob(1, "Few.", low=1, high=2)

    found = {name: corners(spec, default) for name, spec, default in knobs(Own)}
    assert found == {"on": [True, False], "share": [0.5, 0.0], "few": [1, 2]}


def test_a_number_has_a_value_inside_its_range() -> None:
    found = {name: inside(spec, default) for name, spec, default in knobs(JacobiWindowSettings)}
    assert found == {"window": [56], "init": []}

    @dataclasses.dataclass(frozen=True, slots=True)
    class Own(Settings):
        on: bool = knob(True, "On.")
        share: float = knob(0.5, "A share.", low=0.0, high=0.5)
        few: int = knob(1, "Few.", low=1, high=3)
        many: int = knob(9, "Many.", low=1, high=12)

    found = {name: inside(spec, default) for name, spec, default in knobs(Own)}
    assert found == {"on": [], "share": [0.25], "few": [], "many": [5]}
    values = {name: {rows(each)[name] for each in settings_to_judge(Own)} for name in found}
    assert {0.0, 0.25, 0.5} == values["share"]
    assert {1, 2, 3, 5, 9, 12} == values["many"]


def test_a_few_settings_have_all_values_that_the_defaults_lack() -> None:
    for kind in (DECODERS["sjd"], DECODERS["scd"]):
        every = settings_to_judge(kind.Settings)
        few = covering(every)
        judged, chosen = (
            {pair for each in some for pair in rows(each).items()} for some in (every, few)
        )
        assert chosen | set(rows(every[0]).items()) == judged
        assert len(few) < len(every) / 5
    assert covering([NoSettings()]) == []


def test_settings_without_a_knob_are_one() -> None:
    assert settings_to_judge(NoSettings) == [NoSettings()]


@st.composite
def classes(draw: st.DrawFn) -> type[Settings]:
    """Up to five knobs, some of which need another's value, and two values that do not go
    together."""
    fields: list[tuple[str, type, Any]] = []
    for i in range(draw(st.integers(1, 5))):
        name, kind = f"knob_{i}", draw(st.sampled_from(["choice", "flag", "whole", "share"]))
        choices = [name for name, type_, _ in fields if type_ is str]
        needs = None
        if choices and draw(st.booleans()):
            needs = draw(st.sampled_from(choices)), draw(st.sampled_from("abc"))
        if kind == "choice":
            default = draw(st.sampled_from("abc"))
            spec = knob(default, "A choice.", choices=("a", "b", "c"), needs=needs)
            fields.append((name, str, spec))
        elif kind == "flag":
            fields.append((name, bool, knob(draw(st.booleans()), "On.", needs=needs)))
        elif kind == "whole":
            fields.append((name, int, knob(3, "Whole.", low=1, high=9, needs=needs)))
        else:
            fields.append((name, float, knob(0.5, "A share.", low=0.0, high=1.0, needs=needs)))
    made = dataclasses.make_dataclass("Made", fields, bases=(Settings,), frozen=True)
    defaults = {name: default for name, _, default in knobs(made)}
    bad: Row = {}
    if len(fields) > 1 and draw(st.booleans()):
        for name in draw(
            st.lists(st.sampled_from([*defaults]), min_size=2, max_size=2, unique=True)
        ):
            spec = next(spec for each, spec, _ in knobs(made) if each == name)
            bad[name] = draw(st.sampled_from(corners(spec, defaults[name])))
    if bad.items() <= defaults.items():
        return made

    def checked(self: Settings) -> None:
        Settings.__post_init__(self)
        if all(getattr(self, name) == value for name, value in bad.items()):
            raise SettingError("these do not go together")

    return dataclasses.make_dataclass(
        "Checked", [], bases=(made,), frozen=True, namespace={"__post_init__": checked}
    )


def test_a_knob_is_judged_where_it_does_something() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Own(Settings):
        test: str = knob("p", "The test.", choices=("p", "q"))
        share: float = knob(0.5, "A share.", low=0.0, high=1.0, needs=("test", "q"))
        few: int = knob(1, "Few.", low=1, high=2)

    shares = [("p", 0.5), ("q", 0.5), ("q", 0.0), ("q", 1.0)]
    expected = {Own(test, share, few) for test, share in shares for few in (1, 2)}
    found = settings_to_judge(Own)
    assert {each for each in found if each.share != 0.25} == expected
    assert {each.test for each in found if each.share == 0.25} == {"q"}


def rows(settings: Settings) -> Row:
    return {name: getattr(settings, name) for name, _, _ in knobs(type(settings))}


def threes(row: Row) -> set[tuple[tuple[str, Any], ...]]:
    return set(itertools.combinations(row.items(), min(3, len(row))))


def in_use(kind: type[Settings]) -> Iterator[Row]:
    """Every valid row of corners in which no knob does nothing that is not its default."""
    specs = knobs(kind)
    for values in itertools.product(*(corners(spec, default) for _, spec, default in specs)):
        row = {name: value for (name, _, _), value in zip(specs, values, strict=True)}
        idle = any(
            spec.needs and row[spec.needs[0]] != spec.needs[1] and row[name] != default
            for name, spec, default in specs
        )
        if not idle:
            try:
                yield rows(kind(**row))
            except SettingError:
                continue


@given(classes())
def test_every_three_corners_meet_that_can(kind: type[Settings]) -> None:
    found = settings_to_judge(kind)
    assert found[0] == kind()
    assert len(set(found)) == len(found)
    assert found == settings_to_judge(kind)
    met = set().union(*(threes(rows(settings)) for settings in found))
    assert met >= set().union(*map(threes, in_use(kind)))


@pytest.mark.parametrize("name", ["sjd", "scd", "sjd-relaxed"])
def test_every_three_corners_of_a_decoder_meet(name: str) -> None:
    kind = DECODERS[name].Settings
    every = list(in_use(kind))
    met = set().union(*(threes(rows(settings)) for settings in settings_to_judge(kind)))
    assert met >= set().union(*map(threes, every))
    assert len(settings_to_judge(kind)) < len(every)
