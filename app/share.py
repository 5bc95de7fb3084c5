"""A race as a link: prompt, seed, model, lanes and every knob that differs from its default, in the
query of the page's address, under the names of the form:
`?prompt=red+apple&seed=7&model=embedded&lanes=ar,sjd&sjd.window=32`.

Nothing is kept on the server, so a link outlives it. A link comes from anyone: what cannot be is
refused with a SettingError that names the field and what it may hold, and nothing in it is changed
or left out in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from app.form import GROUPS, MAX_MESSAGE, SAMPLING, Entry, made
from engine.decoders import DECODERS
from engine.race import MAX_SEED, Lane
from engine.settings import Sampling, SettingError, knobs

# Ours besides the race, and what Gradio or a Space adds to the page's address.
OTHERS = frozenset(["go", "present", "view", "logs", "deep_link", "footer", "header"])
MAX_FIELDS = 100
_WHOLE, _NUMBER = (
    re.compile(r"[0-9]{1,16}"),
    re.compile(r"-?[0-9]{1,20}(\.[0-9]{0,20})?(e[-+]?[0-9]{1,3})?"),
)


def query(entry: Entry, sampling: Sampling) -> str:
    """The link's query for an entry that names its model; `sampling` is the model's own, which is
    not spelled out."""
    fields = {
        "prompt": entry.prompt,
        "seed": str(entry.seed),
        "model": entry.model,
        "lanes": ",".join(lane.decoder for lane in entry.lanes),
    }
    groups = [(SAMPLING, entry.sampling, sampling)]
    groups += [
        (lane.decoder, lane.settings, DECODERS[lane.decoder].Settings()) for lane in entry.lanes
    ]
    for group, settings, usual in groups:
        for name, _, _ in knobs(type(settings)):
            if (value := getattr(settings, name)) != getattr(usual, name):
                fields[f"{group}.{name}"] = _written(value)
    return "?" + urlencode(fields, safe=",")


def entry(
    fields: Sequence[tuple[str, str]], models: Mapping[str, Sampling], usual: Entry
) -> Entry | None:
    """The race that a query's fields ask for, where they leave it open as in `usual`, but with the
    sampling that its model looks best with; None if they ask for none. `models` are those of the
    page, with that sampling."""
    asked = [
        (name, text) for name, text in fields if name not in OTHERS and not name.startswith("__")
    ]
    if not asked:
        return None
    if len(asked) > MAX_FIELDS:
        raise SettingError(f"The link has {len(asked)} fields; a race has at most {MAX_FIELDS}.")
    names = [name for name, _ in asked]
    for name in names:
        if name not in _known():
            raise SettingError(f"The link has a field {name[:40]!r}, which is none of this page's.")
        if names.count(name) > 1:
            raise SettingError(f"{name} is given twice.")
    given = dict(asked)
    model = given.pop("model", usual.model)
    if model not in models:
        raise SettingError(f"model can be {', '.join(models)} on this page, and nothing else.")
    prompt = given.pop("prompt", usual.prompt)
    seed = _seed(given.pop("seed")) if "seed" in given else usual.seed
    racing = (
        _lanes(given.pop("lanes")) if "lanes" in given else [lane.decoder for lane in usual.lanes]
    )
    turned: dict[str, dict[str, Any]] = {name: {} for name in (SAMPLING, *racing)}
    for name, text in given.items():
        group, knob = name.split(".")
        if group not in turned:
            raise SettingError(
                f"{name} is a knob of {DECODERS[group].title}, which is not among the link's lanes."
            )
        turned[group][knob] = _value(group, knob, text)
    own = {name: getattr(models[model], name) for name, _, _ in knobs(Sampling)}
    sampling = made(SAMPLING, own | turned[SAMPLING])
    lanes = tuple(
        Lane(name, made(name, turned[name]) if name in GROUPS else None) for name in racing
    )
    return Entry(prompt, seed, lanes, sampling, model)


def starts(fields: Sequence[tuple[str, str]]) -> bool:
    """Whether a link says that its race is to start at once."""
    return ("go", "1") in fields


def _known() -> list[str]:
    turned = [f"{group}.{name}" for group, kind in GROUPS.items() for name, _, _ in knobs(kind)]
    return ["prompt", "seed", "model", "lanes", *turned]


def _seed(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise SettingError(f"seed is a whole number from 0 to {MAX_SEED}, not {text!r:.40}.")
    return int(text)


def _lanes(text: str) -> list[str]:
    names = text.split(",") if len(text) <= MAX_MESSAGE else [text]
    if not set(names) <= set(DECODERS) or len(set(names)) < len(names):
        raise SettingError(
            f"lanes can be any of {', '.join(DECODERS)}, each once, with commas between them, not"
            f" {text!r:.40}."
        )
    return [name for name in DECODERS if name in names]


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(group: str, name: str, text: str) -> Any:
    """A knob's value from its text. What is not of its kind stays text: the settings refuse it and
    say what may be."""
    default = next(default for knob, _, default in knobs(GROUPS[group]) if knob == name)
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text, text)
    if isinstance(default, str) or not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)
