"""The form: its fields by name, and the RaceRequest that their values ask for. Links use the same
names (`sjd.window`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from engine.decoders import DECODERS
from engine.race import Lane, RaceRequest
from engine.race.request import GROUPS, SAMPLING, build_settings
from engine.settings import Knob, SettingError, Settings, knobs


@dataclass(frozen=True, slots=True)
class KnobField:
    """The field of one knob of a group's settings."""

    group: str
    name: str
    knob: Knob
    default: Any


KNOBS: dict[str, KnobField] = {
    f"{group}.{name}": KnobField(group, name, knob, default)
    for group, settings in GROUPS.items()
    for name, knob, default in knobs(settings)
}
# Options of an event: programs cannot call it; it shows no progress either.
PRIVATE: dict[str, Any] = {"api_visibility": "private"}
QUIET = PRIVATE | {"show_progress": "hidden"}


def unchecked(component: Any) -> Any:
    """Makes a component pass its value on as it was sent: gradio's own checks fail on wrong types
    without a message."""
    component.preprocess = lambda payload: payload
    return component


class Fields:
    """Components by name. Gradio passes their values by position; handlers get them by name."""

    def __init__(self, components: Mapping[str, gr.components.Component]) -> None:
        self._names = tuple(components)
        self.components = [unchecked(component) for component in components.values()]

    def named(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self._names, values, strict=True))

    def updates(self, values: Mapping[str, Any]) -> list[Any]:
        """One for each component; fields that are not named stay as they are."""
        return [values.get(name, gr.skip()) for name in self._names]


def read_form(values: Mapping[str, Any], default_model: str) -> RaceRequest:
    """The request of a form's values; knobs of decoders that do not race are ignored. Raises
    SettingError."""
    names = values["lanes"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SettingError("The lanes are a list of decoders' names.")
    if not names:
        raise SettingError("Choose at least one lane.")
    if len(set(names)) < len(names):
        raise SettingError("Each decoder has one lane at most.")
    if not set(names) <= set(DECODERS):
        raise SettingError(f"The lanes can be {', '.join(DECODERS)}.")
    prompt, seed, model = values["prompt"], values["seed"], values["model"]
    if isinstance(prompt, str):
        # half a surrogate pair cannot be sent back
        prompt = prompt.encode("utf-8", "replace").decode()
    if isinstance(seed, float) and seed.is_integer():
        seed = int(seed)
    return RaceRequest(
        prompt=prompt,
        seed=seed,
        sampling=_settings(SAMPLING, values),
        lanes=tuple(Lane(name, _settings(name, values)) for name in DECODERS if name in names),
        model=default_model if model in (None, "") else model,
    )


def form_values(request: RaceRequest) -> dict[str, Any]:
    """The inverse of `read_form`. Decoders that do not race have their defaults."""
    values = {"prompt": request.prompt, "seed": request.seed, "model": request.model}
    values["lanes"] = [lane.decoder for lane in request.lanes]
    values |= {field: each.default for field, each in KNOBS.items()}
    values |= knob_values(SAMPLING, request.sampling)
    for lane in request.lanes:
        values |= knob_values(lane.decoder, lane.settings)
    return values


def knob_values(group: str, settings: Settings) -> dict[str, Any]:
    """A group's part of the form's values."""
    return {
        field: getattr(settings, each.name) for field, each in KNOBS.items() if each.group == group
    }


def _settings(group: str, values: Mapping[str, Any]) -> Any:
    fields = {each.name: values[field] for field, each in KNOBS.items() if each.group == group}
    return build_settings(group, fields)
