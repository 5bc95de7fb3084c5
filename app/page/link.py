"""A race as a link: its fields in the query of the page's address, knobs only where they differ
from their defaults: `?prompt=red+apple&seed=7&model=embedded&lanes=ar,gsd:G=50;d=0.3,gsd`. A field
`gsd.G=4`, as older links have it, is about every lane of that decoder which does not say otherwise.

Nothing is stored on the server. Links are untrusted: a field that is unknown or out of range raises
a SettingError that names it and what it accepts, and nothing is changed or left out silently.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

import gradio as gr

from app.page.form import KNOBS, Fields, form_values, sampling_values
from app.page.handlers import Races, user_error
from engine.decoders import DECODERS
from engine.race import MAX_LANES, MAX_SEED, RaceRequest
from engine.race.request import (
    SAMPLING,
    build_settings,
    format_lane,
    format_value,
    group_title,
    parse_lane,
    parse_value,
)
from engine.settings import Sampling, SettingError

# Other fields of the page's address: the page's own, and those of gradio and Spaces.
OTHER_FIELDS = frozenset(["go", "present", "view", "logs", "deep_link", "footer", "header"])
FIELDS = ("prompt", "seed", "model", "lanes")  # of a race, besides knobs
MAX_FIELDS = 100
_WHOLE_NUMBER = re.compile(r"[0-9]{1,16}")


def write_link(request: RaceRequest, sampling: Sampling) -> str:
    """The link's query. `sampling` is the model's own, which is not spelled out."""
    values, own = form_values(request), sampling_values(sampling)
    fields = {name: str(values[name]) for name in ("prompt", "seed", "model")}
    fields["lanes"] = ",".join(values["lanes"])
    fields |= {name: format_value(values[name]) for name in own if values[name] != own[name]}
    return "?" + urlencode(fields, safe=",:;=")


def read_link(
    query: Sequence[tuple[str, str]], models: Mapping[str, Sampling], default: RaceRequest
) -> RaceRequest | None:
    """The request of a query's fields, or None if they are not about a race. Missing fields are as
    in `default`, but sampling is the model's own. `models`: name -> its sampling."""
    pairs = [
        (name, text)
        for name, text in query
        if name not in OTHER_FIELDS and not name.startswith("__")
    ]
    if not pairs:
        return None
    if len(pairs) > MAX_FIELDS:
        raise SettingError(f"The link has {len(pairs)} fields; a race has at most {MAX_FIELDS}.")
    names = [name for name, _ in pairs]
    for name in names:
        if name not in KNOBS and name not in FIELDS:
            raise SettingError(f"The link has a field {name[:40]!r}, which is none of this page's.")
        if names.count(name) > 1:
            raise SettingError(f"{name} is given twice.")
    fields = dict(pairs)
    model = fields.get("model", default.model)
    if model not in models:
        raise SettingError(f"model can be {', '.join(models)} on this page, and nothing else.")
    texts = (
        _split_lanes(fields["lanes"])
        if "lanes" in fields
        else [format_lane(lane.plain()) for lane in default.lanes]
    )
    decoders = [text.partition(":")[0] for text in texts]
    sampling = asdict(models[model])
    others: dict[str, dict[str, str]] = {decoder: {} for decoder in decoders}
    for field in fields.keys() & KNOBS:
        each = KNOBS[field]
        if each.group == SAMPLING:
            sampling[each.name] = parse_value(each.default, fields[field])
        elif each.group in others:
            others[each.group][each.name] = fields[field]
        else:
            raise SettingError(
                f"{field} is a knob of {group_title(each.group)}, which is not among the link's"
                " lanes."
            )
    return RaceRequest(
        prompt=fields.get("prompt", default.prompt),
        seed=_parse_seed(fields["seed"]) if "seed" in fields else default.seed,
        lanes=tuple(
            parse_lane(text, others[decoder]) for text, decoder in zip(texts, decoders, strict=True)
        ),
        sampling=build_settings(SAMPLING, sampling),
        model=model,
    )


def starts_at_once(query: Sequence[tuple[str, str]]) -> bool:
    return ("go", "1") in query


def _parse_seed(text: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(text):
        raise SettingError(f"seed is a whole number from 0 to {MAX_SEED}, not {text!r:.40}.")
    return int(text)


def _split_lanes(text: str) -> list[str]:
    texts = text.split(",")
    known = all(each.partition(":")[0] in DECODERS for each in texts)
    if not known or len(texts) > MAX_LANES:
        raise SettingError(
            f"lanes can be any of {', '.join(DECODERS)}, {MAX_LANES} at most, with commas between"
            f" them, not {text!r:.40}."
        )
    return texts


class Links:
    """Copies the form into a link, and opens one in the form."""

    def __init__(self, races: Races, form: Fields) -> None:
        self._races, self._form = races, form
        self._starts = itertools.count(1)

    def copy(self, *values: Any) -> tuple[str, Any, str]:
        """Updates of the link's query, the field that shows it, and the notice."""
        try:
            request = self._races.read(self._form.named(values))
        except SettingError as error:
            raise user_error(error) from error
        sampling = self._races.pool.card(request.model).sampling
        return write_link(request, sampling), gr.update(visible=True), ""

    def open(self, request: gr.Request) -> list[Any]:
        """Updates of the notice, of a number that changes if the race starts at once, and of the
        form's fields, from the page's address."""
        query = request.query_params.multi_items()
        models = {card.name: card.sampling for card in self._races.pool.cards}
        notice, start, values = "", gr.skip(), {}
        try:
            linked = read_link(query, models, self._races.default)
            if linked is not None:
                self._races.pool.require(linked.model)
                values = form_values(linked)
                start = next(self._starts) if starts_at_once(query) else start
        except SettingError as error:
            text = f"This link cannot be used: {error} The form keeps its own values."
            notice = f'<p class="notice" role="alert">{html.escape(text)}</p>'
        return [notice, start, *self._form.updates(values)]
