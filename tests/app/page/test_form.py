from __future__ import annotations

import json

import pytest

from app.page.form import Fields
from app.page.lane_list import lane_list
from engine.decoders import DECODERS
from engine.race.request import format_value, parse_lane
from engine.settings import knobs


def test_every_decoders_knobs_are_on_the_form() -> None:
    listed = json.loads(lane_list([]).props["facts"])["decoders"]
    assert [each["name"] for each in listed] == list(DECODERS)
    for each, decoder in zip(listed, DECODERS.values(), strict=True):
        found = [(knob["name"], knob["default"], bool(knob["choices"])) for knob in each["knobs"]]
        assert found == [
            (name, format_value(default), bool(knob.choices) or isinstance(default, bool))
            for name, knob, default in knobs(decoder.Settings)
        ]
        presets = {title: parse_lane(text).settings for title, text in each["presets"].items()}
        assert presets == decoder.presets


def test_fields_that_are_not_named_are_not_updated() -> None:
    class Component:
        preprocess = None

    fields = Fields({"a": Component(), "b": Component()})
    kept, changed = fields.updates({"b": 5})
    assert changed == 5
    assert kept["__type__"] == "update"
    assert fields.named([1, 2]) == {"a": 1, "b": 2}
    with pytest.raises(ValueError, match="shorter"):
        fields.named([1])
