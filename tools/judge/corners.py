"""The settings of a decoder that are judged: its defaults, and combinations of knobs' corners.

A knob's corners are its choices, or its default and the ends of its range. For any three knobs,
every valid combination of their corners occurs in some of the settings. A value inside the range of
each knob that is a number occurs in some too. A knob that has no effect has its default, if that is
valid.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from engine.settings import Knob, SettingError, Settings, knobs

TOGETHER = 3  # every combination of the values of this many knobs is judged
Some = tuple[tuple[str, Any], ...]  # some knobs in their order, each with a value


def corners(spec: Knob, default: Any) -> list[Any]:
    """Return a knob's values to judge: every choice, or the default and the ends of the range.

    Whole numbers also have the two values above the lower end, because small pictures show only
    differences between small numbers.
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


def inside(spec: Knob, default: Any) -> list[Any]:
    """Return the value half-way from a number's default to the end of its range that is further.

    Returns an empty list for a knob with choices, and where that value is one of the corners.
    """
    if isinstance(default, bool | str):
        return []
    assert spec.low is not None
    assert spec.high is not None
    end = max(spec.low, spec.high, key=lambda value: abs(value - default))
    value = type(default)((default + end) / 2)
    return [] if value in corners(spec, default) else [value]


def covering(every: Sequence[Settings]) -> list[Settings]:
    """Return a few of some settings in which each value of a knob occurs that the first lack.

    Every value that occurs in `every`, but not in its first settings, occurs in at least one of the
    result. The choice is greedy: the next settings are those with the most values still missing.
    """
    missing = {pair for settings in every for pair in _values(settings)} - _values(every[0])
    chosen = list[Settings]()
    while missing:
        chosen.append(max(every, key=lambda settings: len(missing & _values(settings))))
        missing -= _values(chosen[-1])
    return chosen


def _values(settings: Settings) -> set[tuple[str, Any]]:
    return {(name, getattr(settings, name)) for name, _, _ in knobs(type(settings))}


def settings_to_judge(kind: type[Settings]) -> list[Settings]:
    """Return the settings to judge, the defaults first.

    A combination of values that occurs in no valid settings is left out.
    """
    specs = {name: (spec, default) for name, spec, default in knobs(kind)}
    values = {name: corners(*spec) for name, spec in specs.items()}
    defaults = {name: default for name, (_, default) in specs.items()}
    selection = {kind(): None}  # in order, as the combinations are
    inner = [((name, value),) for name in specs for value in inside(*specs[name])]
    combinations = dict.fromkeys([*inner, *_every(values)])
    for held in _held(defaults):
        combinations.pop(held, None)
    while combinations:
        first = next(iter(combinations))
        del combinations[first]
        for row in _rows(dict(first), specs, values, combinations):
            try:
                settings = _in_use(kind(**row), specs)
            except SettingError:
                continue
            selection.setdefault(settings)
            for held in _held({name: getattr(settings, name) for name in specs}):
                combinations.pop(held, None)
            break
    return list(selection)


def _rows(
    some: dict[str, Any],
    specs: dict[str, tuple[Knob, Any]],
    values: dict[str, list[Any]],
    combinations: dict[Some, None],
) -> Iterator[dict[str, Any]]:
    """Yield rows with the values `some`, best first, for the caller to take the first valid one.

    A row has a value for every knob. A knob of `some` may need another knob's value to take effect
    (`Knob.needs`); every row has that value too. If these values contradict each other, there is no
    row. All other knobs vary from row to row. In the first row their values complete many of
    `combinations`, the combinations that are still to be judged (`_filled`). In the second row they
    have their defaults. In each later row one of them has another value.
    """
    defaults = {name: default for name, (_, default) in specs.items()}
    needed = dict(some)
    while (
        needs := {
            need
            for name, value in needed.items()
            if value != defaults[name] and (need := specs[name][0].needs)
        }
        - needed.items()
    ):
        if {name for name, _ in needs} & {*needed}:
            return  # one of these values does nothing beside another
        needed |= dict(needs)
    yield _filled(needed, values, combinations)
    yield defaults | needed
    for name in values:  # with other values, since a default may not be valid beside these
        if name not in needed:
            yield from (defaults | needed | {name: value} for value in values[name])


def _every(values: dict[str, list[Any]]) -> Iterator[Some]:
    for names in itertools.combinations(values, min(TOGETHER, len(values))):
        for row in itertools.product(*(values[name] for name in names)):
            yield tuple(zip(names, row, strict=True))


def _held(row: dict[str, Any]) -> Iterator[Some]:
    return itertools.combinations(row.items(), min(TOGETHER, len(row)))


def _filled(
    some: dict[str, Any], values: dict[str, list[Any]], combinations: dict[Some, None]
) -> dict[str, Any]:
    """Return `some` with a value added for each of the other knobs.

    The knobs get their values in order. A knob gets the value that, with the values set so far,
    completes the most of `combinations`, which are still to be judged.
    """
    row = dict(some)
    order = list(values)

    def meets(name: str, value: Any) -> int:
        others = itertools.combinations(row.items(), min(TOGETHER, len(values)) - 1)
        return sum(
            tuple(sorted(((name, value), *each), key=lambda pair: order.index(pair[0])))
            in combinations
            for each in others
        )

    for name in values:
        if name not in row:
            row[name] = max(values[name], key=lambda value: meets(name, value))
    return {name: row[name] for name in values}


def _in_use(settings: Settings, specs: dict[str, tuple[Knob, Any]]) -> Settings:
    """Return the settings with each knob that has no effect in them set to its default.

    If the result is not valid, the settings are returned unchanged.
    """
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
