"""Settings: frozen dataclasses that check their values and describe their own fields.

A field is a `knob` with its range or its choices and one line of help, for a page or a command
line. Numbers out of range, wrong types and unknown choices raise `SettingError`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


class SettingError(ValueError):
    """Invalid setting value; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Knob:
    """The allowed values of one setting.

    A number lies between `low` and `high`, both included; a text is one of `choices`. `needs` names
    another setting, and the value that the other must have for this setting to take effect.
    """

    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    needs: tuple[str, str] | None = None


def knob(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    needs: tuple[str, str] | None = None,
) -> Any:
    """Return a dataclass field that has a Knob in `metadata["knob"]`."""
    spec = Knob(help, low, high, choices, needs)
    return dataclasses.field(default=default, metadata={"knob": spec})


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A setting of older traces that races no longer have.

    `values` are the values that the setting could have, the default first. `instead` is a clause
    that says what to do now.
    """

    values: tuple[bool | str, ...]
    instead: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Base of every settings class; checks each value by its knob and its default's type."""

    withdrawn: ClassVar[Mapping[str, Withdrawn]] = {}

    def __post_init__(self) -> None:
        for name, spec, default in knobs(type(self)):
            object.__setattr__(self, name, _validate(name, getattr(self, name), spec, default))


def knobs(settings: type[Settings]) -> list[tuple[str, Knob, Any]]:
    """Return (name, knob, default) of every field, in order."""
    return [(f.name, f.metadata["knob"], f.default) for f in dataclasses.fields(settings)]


def check_recorded(settings: type[Settings], values: Mapping[str, Any]) -> None:
    """Raise SettingError for a traced lane's setting or value that no race has ever had.

    `values` are the lane's settings by name. Each value is checked alone, because an older race may
    have allowed other combinations.
    """
    known = {name: (spec, default) for name, spec, default in knobs(settings)}
    for name, value in values.items():
        if name in known:
            _validate(name, value, *known[name])
        elif name not in settings.withdrawn:
            raise SettingError(f"there is no setting {_short_repr(name)}")
        elif value not in settings.withdrawn[name].values:
            raise SettingError(f"{name} was never {_short_repr(value)}")


def _validate(name: str, value: Any, spec: Knob, default: Any) -> Any:
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise SettingError(f"{name} is on or off, not {_short_repr(value)}")
        return value
    if isinstance(default, str):
        if value not in spec.choices:
            raise SettingError(
                f"{name} is one of {', '.join(spec.choices)}, not {_short_repr(value)}"
            )
        return value
    whole = isinstance(default, int)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # The comparison comes first: it is exact for whole numbers beyond a float's range, and false
    # for NaN.
    if not (number and spec.low <= value <= spec.high and (not whole or value == int(value))):
        raise SettingError(
            f"{name} is a {'whole ' * whole}number from {spec.low:g} to {spec.high:g}, not"
            f" {_short_repr(value)}"
        )
    return int(value) if whole else value


def _short_repr(value: Any) -> str:
    """Return any value's repr, short enough for a message."""
    if isinstance(value, int) and abs(value) > 10**18:  # over 4,300 digits, repr raises
        return "a number beyond all bounds"
    return f"{value!r:.40}"


@dataclass(frozen=True, slots=True)
class Sampling(Settings):
    """How logits become a distribution, for every lane of a race.

    top-k 0 turns top-k off, and top-p 1 turns top-p off.
    """

    guidance: float = knob(
        2.0,
        "Classifier-free guidance: how strictly the picture follows the prompt.",
        low=1.0,
        high=20.0,
    )
    guided_tokens: int = knob(
        0,
        "Guides the first n tokens alone; 0 guides all. Behind them a pass computes half as much:"
        " worth it where the prompt has little left to decide.",
        low=0,
        high=65536,
    )
    temperature: float = knob(
        1.0, "Below 1 the model is surer of itself, above 1 more daring.", low=0.1, high=2.0
    )
    top_k: int = knob(
        256, "Only the k likeliest tokens can be drawn; 0 allows all.", low=0, high=65536
    )
    top_p: float = knob(
        1.0,
        "Only the likeliest tokens that together hold this much of the distribution.",
        low=0.05,
        high=1.0,
    )

    def check(self, length: int) -> None:
        """Raise SettingError where a value does not fit a picture of `length` positions."""
        if self.guided_tokens > length:
            raise SettingError(
                f"Sampling: guided_tokens is a whole number from 0 to {length}, the tokens of a"
                f" picture, not {self.guided_tokens}"
            )
