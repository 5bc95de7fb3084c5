"""A RaceRequest as plain values by name, as the form and programs send them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.decoders import FILLING, WHOLE
from engine.infilling import MASKED, ORDERS, Infilling, Parent
from engine.race import MAX_LANES, RaceRequest
from engine.race.request import GROUPS, SAMPLING, build_settings, format_lane, parse_lane
from engine.settings import Knob, Sampling, SettingError, knobs
from engine.trace import MAX_SIDE, Header


@dataclass(frozen=True, slots=True)
class KnobField:
    """A knob of a `group` of settings: a decoder's, or the sampling's.

    Its key in KNOBS is also its name in links, such as `sjd.window`.
    """

    group: str
    name: str
    knob: Knob
    default: Any


KNOBS: dict[str, KnobField] = {
    f"{group}.{name}": KnobField(group, name, knob, default)
    for group, settings in GROUPS.items()
    for name, knob, default in knobs(settings)
}
SAMPLING_KNOBS = {field: each for field, each in KNOBS.items() if each.group == SAMPLING}


def read_request(values: Mapping[str, Any], default_model: str) -> RaceRequest:
    """Return the request that a form's values describe; `parse_lane` reads the lanes' texts.

    Raises SettingError.
    """
    texts = values["lanes"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SettingError('lanes must be a list of texts such as "gsd" or "gsd:G=50;d=0.3".')
    if not texts:
        raise SettingError("Choose at least one lane.")
    if len(texts) > MAX_LANES:
        raise SettingError(f"A race has 1 to {MAX_LANES} lanes, not {len(texts)}.")
    prompt, seed, model = values["prompt"], values["seed"], values["model"]
    if isinstance(seed, float) and seed.is_integer():
        seed = int(seed)
    sampling = {each.name: values[field] for field, each in SAMPLING_KNOBS.items()}
    model = default_model if model in (None, "") else model
    infilling = values["infilling"]
    whole = infilling in (None, "")
    offered = WHOLE if whole else FILLING
    return RaceRequest(
        prompt=prompt,
        seed=seed,
        sampling=build_settings(SAMPLING, sampling),
        lanes=tuple(parse_lane(text, offered=offered) for text in texts),
        model=model,
        infilling=None if whole else read_infilling(infilling, model),
    )


def read_infilling(value: Any, model: Any) -> Infilling:
    """Return the infilling that `value` describes: {known, order, model, parent}.

    `infilling_value` makes such values. "model" is the model whose codes are in "known". If "model"
    is there, it must be the request's `model`, because one model's codes mean nothing to another.
    "parent" says from which lane and cell a fork was taken (`Parent`), and only a fork may have it.
    Raises SettingError if `value` is invalid.
    """
    if not isinstance(value, dict) or not isinstance(known := value.get("known"), list):
        raise SettingError(
            "The picture to fill in must be {known, order}: known has a code for each token, or"
            f" {MASKED} where it is to be filled in."
        )
    if len(known) > MAX_SIDE**2:
        raise SettingError(f"A picture has at most {MAX_SIDE**2} tokens, not {len(known)}.")
    if value.get("model", model) != model:
        raise SettingError(
            f"The picture to fill in is not from {model!r:.40}. Choose its model again, or go back"
            " to whole pictures."
        )
    parent = Parent.read(value.get("parent"))
    return Infilling(tuple(known), value.get("order", ORDERS[0]), parent)


def infilling_value(infilling: Infilling | None, model: str) -> dict[str, Any] | None:
    """Return an infilling as a value for `read_infilling`; None for a whole picture."""
    if infilling is None:
        return None
    return {**asdict(infilling), "known": list(infilling.known), "model": model}


def request_values(request: RaceRequest) -> dict[str, Any]:
    """Return a request as values for `read_request`."""
    return {
        "prompt": request.prompt,
        "seed": request.seed,
        "lanes": [format_lane(lane.plain()) for lane in request.lanes],
        "model": request.model,
        "infilling": infilling_value(request.infilling, request.model),
    } | sampling_values(request.sampling)


def recorded_values(header: Header) -> dict[str, Any]:
    """Return the form's values for a recorded race, without the race's model."""
    return {
        "prompt": header.prompt,
        "seed": header.seed,
        "lanes": [format_lane(lane) for lane in header.lanes],
        "infilling": infilling_value(header.infilling, header.model),
    } | sampling_values(header.sampling)


def sampling_values(sampling: Sampling) -> dict[str, Any]:
    """Return the form's values for a sampling."""
    return {field: getattr(sampling, each.name) for field, each in SAMPLING_KNOBS.items()}


def request_of(header: Header) -> RaceRequest:
    """Return the request for a trace's race. Raises SettingError if it cannot be run."""
    lanes = tuple(parse_lane(format_lane(lane)) for lane in header.lanes)
    return RaceRequest(
        header.prompt, header.seed, lanes, header.sampling, header.model, header.infilling
    )
