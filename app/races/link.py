"""A link to a race: the race's fields in the query of the page's address.

The query names a knob only if the knob's value is not the default:
`?prompt=red+apple&seed=7&model=embedded&lanes=ar,gsd:G=50;d=0.3,gsd`. A field `gsd.G=4`, as in
older links, applies to every lane of that decoder that does not set the knob itself. `known` is the
picture to fill in, in base64url: two bytes for each token, which are FFFF if the token is to be
filled in. `order` is the order in which tokens are filled in. `from` says from where a fork was
taken, in five values with commas between them: the race's seed, the cell, the lane's own token in
that cell, the probability p of the fork's token, and the lane's name. A value that is not known is
empty.

`race=<id>` names a race that was asked for here, and `recorded=<name>` one of the recorded races.
The link shows that race while it is kept. A link that shows no race fills in the form, and with
`go=1` it also starts the race.

Other fields say what the board shows. The page's scripts read them (static/controls/moment.js), and
this module does not. `t` is a time on the `clock`, or `end`. `costs` is the machine of the modelled
clock: its name, or its three costs in seconds. `pass` gives the same instant as `t` by a lane and
its number of passes, because a race that is run again takes other seconds. `layer` is the layer,
and `cell` is a token, as lane and cell. `lane` (`shown` in older links) has the lanes shown, by
number or by decoder. `tour` is the chapter of the tour. With `embed=1` the page is the board alone.

Links are untrusted. A field that is out of range, or that looks like a misspelt field of ours,
raises a SettingError, which names the field and what it accepts. Other fields, such as those
that mail programs and social networks add to follow a link, are not read.
"""

from __future__ import annotations

import base64
import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

import numpy as np

from app.races.request_values import KNOBS, SAMPLING_KNOBS
from engine.decoders import FILLING, WHOLE
from engine.infilling import MASKED, ORDERS, Infilling, Parent
from engine.race import MAX_LANES, MAX_SEED, RaceRequest
from engine.race.request import (
    GROUPS,
    SAMPLING,
    build_settings,
    format_lane,
    format_value,
    group_title,
    parse_lane,
    parse_value,
    reject_withdrawn,
)
from engine.settings import Sampling, SettingError

FIELDS = ("prompt", "seed", "model", "lanes", "known", "order", "from")  # of a race, besides knobs
# Fields of the page's address that say nothing of a race's settings.
MOMENT_FIELDS = ("clock", "costs", "t", "pass", "layer", "cell", "lane", "shown")
PAGE_FIELDS = (
    "go",
    "race",
    "recorded",
    "tour",
    "chapters",
    "present",
    "speaker",
    "embed",
    *MOMENT_FIELDS,
)
HOST_FIELDS = ("view", "logs", "deep_link", "footer", "header")  # gradio's and those of Spaces
OURS = (*FIELDS, "go", "present", *KNOBS)  # names that a misspelt field may have meant
MAX_FIELDS = 100
NEAR = 0.75  # likeness (difflib) from which a name counts as one of OURS misspelt
_WHOLE_NUMBER = re.compile(r"[0-9]{1,16}")
_HOLE = 0xFFFF  # no code: a token to be filled in


def write_link(request: RaceRequest, sampling: Sampling, *, go: bool = False) -> str:
    """Return a request as the query of a link.

    Sampling values are left out if they equal the model's own, `sampling`. With `go` the link
    starts the race.
    """
    fields = {"prompt": request.prompt, "seed": str(request.seed), "model": request.model}
    fields["lanes"] = ",".join(format_lane(lane.plain()) for lane in request.lanes)
    for field, each in SAMPLING_KNOBS.items():
        value = getattr(request.sampling, each.name)
        if value != getattr(sampling, each.name):
            fields[field] = format_value(value)
    if request.infilling:
        fields["known"] = _format_known(request.infilling.known)
        fields["order"] = request.infilling.order
        if request.infilling.parent:
            fields["from"] = _format_parent(request.infilling.parent)
    if go:
        fields["go"] = "1"
    return "?" + urlencode(fields, safe=",:;=")


def read_link(
    query: Sequence[tuple[str, str]], models: Mapping[str, Sampling], default: RaceRequest
) -> RaceRequest | None:
    """Return the request that a query's fields describe, or None if no field is about a race.

    A missing field has its value in `default`; a missing sampling value is the model's own.
    `models` has each model's sampling by the model's name.
    """
    if len(query) > MAX_FIELDS:
        raise SettingError(f"The link has {len(query)} fields; a race has at most {MAX_FIELDS}.")
    pairs = [(name, text) for name, text in query if _is_ours(name)]
    if not pairs:
        return None
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"{name} is given twice.")
    fields = dict(pairs)
    model = fields.get("model", default.model)
    if model not in models:
        raise SettingError(f"model must be one of {', '.join(models)} on this page.")
    infilling = _parse_infilling(fields)
    texts = (
        _split_lanes(fields["lanes"], FILLING if infilling else WHOLE)
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
        infilling=infilling,
    )


def starts_at_once(query: Sequence[tuple[str, str]]) -> bool:
    return ("go", "1") in query


def _is_ours(name: str) -> bool:
    """Return whether a field is about the race.

    Raises SettingError for a field that no longer exists, and for a field that was probably
    meant as a race's field: its name begins like a knob's, or nearly equals the name of a
    race's field.
    """
    if name in FIELDS or name in KNOBS:
        return True
    if name in PAGE_FIELDS or name in HOST_FIELDS or name.startswith("__"):
        return False
    group, _, knob = name.partition(".")
    reject_withdrawn(group, knob)
    shown = name[:40]
    close = difflib.get_close_matches(shown.lower(), OURS, 1, NEAR)
    if close or group in GROUPS:
        meant = f" Did you mean {close[0]}?" if close else ""
        raise SettingError(f"The link has a field {shown!r}, which this page does not know.{meant}")
    return False


def _parse_seed(text: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(text):
        raise SettingError(f"seed is a whole number from 0 to {MAX_SEED}, not {text!r:.40}.")
    return int(text)


def _format_known(known: Sequence[int]) -> str:
    codes = np.where(np.equal(known, MASKED), _HOLE, known).astype("<u2")
    return base64.urlsafe_b64encode(codes.tobytes()).decode().rstrip("=")


def _parse_infilling(fields: Mapping[str, str]) -> Infilling | None:
    """Return the infilling of a link's `known`, `order` and `from`; None for a whole picture."""
    order = fields.get("order", ORDERS[0])
    if "known" not in fields:
        for name in ("order", "from"):
            if name in fields:
                raise SettingError(
                    f"{name} needs a picture to fill in (known), which the link does not have."
                )
        return None
    text = fields["known"]
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        codes = np.frombuffer(data, "<u2").astype(int)
    except ValueError as error:
        raise SettingError(
            "known must be a picture to fill in, and this one is damaged."
        ) from error
    known = tuple(np.where(codes == _HOLE, MASKED, codes).tolist())
    return Infilling(known, order, _parse_parent(fields["from"]) if "from" in fields else None)


def _format_parent(parent: Parent) -> str:
    # Without the race's id, by which everyone could see the race.
    values = parent.seed, parent.cell, parent.instead, parent.p, parent.lane
    return ",".join("" if value is None else str(value) for value in values)


def _parse_parent(text: str) -> Parent:
    *numbers, lane = (text.split(",", 4) + [""] * 5)[:5]
    values: list[Any] = [parse_value(0, number) if number else None for number in numbers]
    seed, cell, instead, p = values
    return Parent("", seed, lane, cell, instead, p)


def _split_lanes(text: str, decoders: Collection[str]) -> list[str]:
    texts = text.split(",")
    known = all(each.partition(":")[0] in decoders for each in texts)
    if not known or len(texts) > MAX_LANES:
        raise SettingError(
            f"lanes must be at most {MAX_LANES} of {', '.join(decoders)}, separated by commas, not"
            f" {text!r:.40}."
        )
    return texts
