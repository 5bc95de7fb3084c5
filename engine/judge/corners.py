"""Which settings of a decoder are judged: its defaults, and settings in which every two corners of
two knobs meet."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from engine.settings import Knob, SettingError, Settings, knobs

Pair = tuple[tuple[str, Any], tuple[str, Any]]


def corners(spec: Knob, default: Any) -> list[Any]:
    """Of one knob: every choice; or the default, the ends of the range, and for whole numbers the
    two behind the lower end, since small pictures leave a difference between small numbers alone.
    """
    if isinstance(default, bool):
        return [default, not default]
    if isinstance(default, str):
        return [default, *(choice for choice in spec.choices if choice != default)]
    assert spec.low is not None
    assert spec.high is not None
    ends = [spec.low, spec.high]
    if isinstance(default, int):
        ends = [int(spec.low), int(spec.low) + 1, int(spec.low) + 2, int(spec.high)]
    values = [default, *(value for value in ends if spec.low <= value <= spec.high)]
    return list(dict.fromkeys(values))


def settings_to_judge(kind: type[Settings]) -> list[Settings]:
    """The defaults first. A pair of values that no valid settings hold is left out."""
    specs = {name: (spec, default) for name, spec, default in knobs(kind)}
    values = {name: corners(*spec) for name, spec in specs.items()}
    defaults = {name: default for name, (_, default) in specs.items()}
    found = {kind(): defaults}
    left = dict.fromkeys(_pairs(values))  # in order
    for name in values:  # of a decoder with a single knob
        for value in values[name] if len(values) == 1 else ():
            found.setdefault(kind(**{name: value}), {name: value})
    for pair in _held(defaults):
        left.pop(pair, None)
    while left:
        pair = next(iter(left))
        row = _filled(dict(pair), values, left)
        for candidate in (row, defaults | dict(pair), _with_needs(dict(pair), specs, defaults)):
            try:
                settings = kind(**candidate)
            except SettingError:
                continue
            found.setdefault(_in_use(settings, specs), candidate)
            for held in _held(candidate):
                left.pop(held, None)
            break
        left.pop(pair, None)
    return list(found)


def _pairs(values: dict[str, list[Any]]) -> Iterable[Pair]:
    for (a, first), (b, second) in itertools.combinations(values.items(), 2):
        for x, y in itertools.product(first, second):
            yield (a, x), (b, y)


def _held(row: dict[str, Any]) -> Iterable[Pair]:
    return itertools.combinations(row.items(), 2)


def _filled(
    row: dict[str, Any], values: dict[str, list[Any]], left: dict[Pair, None]
) -> dict[str, Any]:
    """With the other knobs so that as many pairs that are left as possible meet, one knob after
    another; in the knobs' order."""
    for name in values:
        if name not in row:
            row[name] = max(
                values[name],
                key=lambda value, name=name: sum(  # type: ignore[misc]
                    _ordered(values, (name, value), other) in left for other in row.items()
                ),
            )
    return {name: row[name] for name in values}


def _ordered(values: dict[str, list[Any]], a: tuple[str, Any], b: tuple[str, Any]) -> Pair:
    order = list(values)
    return (a, b) if order.index(a[0]) < order.index(b[0]) else (b, a)


def _with_needs(
    row: dict[str, Any], specs: dict[str, tuple[Knob, Any]], defaults: dict[str, Any]
) -> dict[str, Any]:
    """With the settings that those in `row` do nothing without."""
    needs = [specs[name][0].needs for name in row]
    return defaults | dict(need for need in needs if need is not None) | row


def _in_use(settings: Settings, specs: dict[str, tuple[Knob, Any]]) -> Settings:
    """With the default of each knob that does nothing there, if that is valid."""
    idle = {
        name: default
        for name, (spec, default) in specs.items()
        if spec.needs and getattr(settings, spec.needs[0]) != spec.needs[1]
    }
    row = {name: getattr(settings, name) for name in specs}
    try:
        return type(settings)(**row | idle)
    except SettingError:
        return settings
