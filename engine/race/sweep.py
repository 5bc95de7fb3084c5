"""A sweep: a race whose lanes are one decoder with different values of one knob."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from engine.race.request import Lane, build_settings, group_title
from engine.settings import SettingError, knobs
from engine.trace import MAX_LANES


def swept_knobs(lane: Lane) -> list[str]:
    """Return the names of a lane's numeric knobs, in the order of its settings."""
    return [
        name
        for name, _, default in knobs(type(lane.settings))
        if isinstance(default, (int, float)) and not isinstance(default, bool)
    ]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Lanes that differ from `base` only in `knob`: one for each of `values`, ascending.

    Raises SettingError if the lane has no such numeric knob, if a value is not allowed or occurs
    twice, or if there are not 2 to MAX_LANES values.
    """

    base: Lane
    knob: str
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.knob not in swept_knobs(self.base):
            title = group_title(self.base.decoder)
            raise SettingError(f"{title} has no knob {self.knob!r:.40} that is a number.")
        values = tuple(sorted(set(self.values)))
        if len(values) != len(self.values) or not 2 <= len(values) <= MAX_LANES:
            raise SettingError(f"A sweep has 2 to {MAX_LANES} values, each of them once.")
        object.__setattr__(self, "values", values)
        _ = self.lanes  # their settings reject a value that is out of range

    @property
    def lanes(self) -> tuple[Lane, ...]:
        own = dataclasses.asdict(self.base.settings)
        decoder = self.base.decoder
        return tuple(
            Lane(decoder, build_settings(decoder, own | {self.knob: value}))
            for value in self.values
        )
