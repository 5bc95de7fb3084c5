"""Every field of the form through the raw API, with what no form would send."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders import DECODERS
from engine.settings import Sampling
from tests.abuse.conftest import Site, words
from tests.app.conftest import ANYTHING
from tests.steps import EIGHT

ALL = list(DECODERS)
WRONG = (
    *("ten", "", "1e9999", "<img src=x onerror=alert(1)>"),
    *(10**400, -1e308, float("nan"), float("inf")),
    *([], [[]], {"a": 1}, {"__type__": "update", "value": 1}),
)


@pytest.mark.parametrize("wrong", WRONG, ids=[repr(value)[:30] for value in WRONG])
def test_no_knob_accepts_an_invalid_value(site: Site, wrong: object) -> None:
    """One at a time, the others as they are: each is rejected on its own account, and in words that
    name it. Sampling's are fields of their own, a decoder's are in its lane's text."""
    fields, labels = site.race_values(lanes=list(EIGHT)), site.labels
    sampling = [i for i in range(3, len(fields)) if labels[i] in Sampling.__slots__]
    assert len(sampling) == 5
    for i in sampling:
        message = site.rejection([*fields[:i], wrong, *fields[i + 1 :]])
        assert labels[i] in message, (labels[i], message)
    if isinstance(wrong, str):
        knobs = [(name, knob) for name in ALL for knob in DECODERS[name].Settings.__slots__]
        assert len(knobs) > 15
        for name, knob in knobs[:: 1 if wrong == "ten" else 5]:
            message = site.rejection(site.race_values(lanes=(f"{name}:{knob}={wrong}",)))
            assert knob in message, (knob, message)


@given(data=st.data())
def test_any_field_may_hold_anything(site: Site, data: st.DataObject) -> None:
    fields = site.race_values(lanes=("ar",))
    i = data.draw(st.integers(0, len(fields) - 1))
    event, answer = site.call([*fields[:i], data.draw(ANYTHING), *fields[i + 1 :]])
    assert event == "complete" or words(answer)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"data": null}',
        b'{"data": 5}',
        b'{"data": {"0": "x"}}',
        b'{"data": ["x"]}',
        b"\xff\xfe",
        b'{"data": []}',
        b'{"data": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        json.dumps({"data": ["x"] * 5000}).encode(),
        b'{"data": ["x", 7, ["ar"]], "fn_index": -1}',
        b'{"data": ["x", 7, ["ar"]], "fn_index": 99999}',
        b'{"data": ["x", 7, ["ar"]], "session_hash": {"a": 1}}',
        b'{"data": ["x", 7, ["ar"]], "trigger_id": "x"}',
    ],
)
def test_bodies_that_are_no_call_start_no_race(site: Site, body: bytes) -> None:
    passes = site.model.passes
    answer = site.client.post(
        "/gradio_api/call/board", content=body, headers={"content-type": "application/json"}
    )
    if answer.status_code == 200:
        event = answer.json()["event_id"]
        assert "event: complete" not in site.client.get(f"/gradio_api/call/board/{event}").text
    assert site.model.passes == passes
    assert "Traceback" not in answer.text


def test_the_queue_cannot_be_bypassed(site: Site) -> None:
    """Gradio's route for a call at once, and a call of the page's inner functions by number or
    name."""
    passes = site.model.passes
    for name in ("board", "race"):
        body = {"data": site.race_values() if name == "board" else ["x", 7, ["ar"]]}
        for route in ("run", "api"):
            answer = site.client.post(f"/gradio_api/{route}/{name}", json=body)
            assert answer.status_code >= 400, (route, name, answer.text[:200])
    assert site.model.passes == passes
