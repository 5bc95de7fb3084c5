"""Which settings of a decoder are judged: its defaults, and settings in which every three corners
of three knobs meet."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from engine.settings import Knob, SettingError, Settings, knobs

TOGETHER = 3  # knobs
Some = tuple[tuple[str, Any], ...]  # of the knobs, in their order, each with a value


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
    """The defaults first. Values that no valid settings hold together are left out."""
    specs = {name: (spec, default) for name, spec, default in knobs(kind)}
    values = {name: corners(*spec) for name, spec in specs.items()}
    defaults = {name: default for name, (_, default) in specs.items()}
    found, left = {kind(): None}, dict.fromkeys(_every(values))  # both in order
    for held in _held(defaults):
        left.pop(held, None)
    while left:
        first = next(iter(left))
        del left[first]
        for row in _rows(dict(first), specs, values, left):
            try:
                settings = _in_use(kind(**row), specs)
            except SettingError:
                continue
            found.setdefault(settings)
            for held in _held({name: getattr(settings, name) for name in specs}):
                left.pop(held, None)
            break
    return list(found)


def _rows(
    some: dict[str, Any],
    specs: dict[str, tuple[Knob, Any]],
    values: dict[str, list[Any]],
    left: dict[Some, None],
) -> Iterator[dict[str, Any]]:
    """Values of all knobs with these among them, of which some may not be valid."""
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
            return  # one of these does nothing where another is
        needed |= dict(needs)
    yield _filled(needed, values, left)
    yield defaults | needed
    for name in values:  # another value, where a default does not go with them
        if name not in needed:
            yield from (defaults | needed | {name: value} for value in values[name])


def _every(values: dict[str, list[Any]]) -> Iterator[Some]:
    for names in itertools.combinations(values, min(TOGETHER, len(values))):
        for row in itertools.product(*(values[name] for name in names)):
            yield tuple(zip(names, row, strict=True))


def _held(row: dict[str, Any]) -> Iterator[Some]:
    return itertools.combinations(row.items(), min(TOGETHER, len(row)))


def _filled(
    some: dict[str, Any], values: dict[str, list[Any]], left: dict[Some, None]
) -> dict[str, Any]:
    """With values of the other knobs, one after another those that meet most of what is left."""
    row = dict(some)
    order = list(values)

    def meets(name: str, value: Any) -> int:
        others = itertools.combinations(row.items(), min(TOGETHER, len(values)) - 1)
        return sum(
            tuple(sorted(((name, value), *each), key=lambda pair: order.index(pair[0]))) in left
            for each in others
        )

    for name in values:
        if name not in row:
            row[name] = max(values[name], key=lambda value: meets(name, value))
    return {name: row[name] for name in values}


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
