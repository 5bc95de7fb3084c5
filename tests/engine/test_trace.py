"""Traces: what is written is read back, and nothing that anyone may send does harm."""

from __future__ import annotations

import base64
import copy
import functools
import json
import os
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.columns import pack, unpack
from engine.decoders import DECODERS
from engine.decoders.sjd import SJD
from engine.race import MAX_LANES, MAX_PROMPT, Lane, Race
from engine.records import Frame, LaneState
from engine.trace import MAX_BYTES, VERSION, Trace, TraceError
from tests.clocks import set_clocks
from tests.toy import Toy

HOSTILE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.lists(st.integers(), max_size=4),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
    st.sampled_from(
        [
            10**400,
            -1,
            2**31,
            2**63,
            1e308,
            float("nan"),
            float("inf"),
            [[[]]] * 3,
            "9" * 5000,
            "\ud800",
            "AAAA",
        ]
    ),
)


@set_clocks()
def raced(names: list[str], *, forced: bool = False, stop: int | None = None) -> Trace:
    model = Toy((2, 3), 6, forced=forced)
    race = Race(model, [Lane(name) for name in names], "a prompt, “quoted” 🍎", 3)
    frames = []
    for frame in race:
        frames.append(frame)
        if len(frames) == stop:
            race.stop()
    return Trace.of(race, frames)


@functools.cache
def whole() -> Trace:
    return raced(["ar", "lantern", "sjd-pac"], forced=True)


@functools.cache
def data() -> dict[str, Any]:
    return json.loads(whole().dumps())


def read(value: Any) -> Trace:
    return Trace.loads(json.dumps(value))


@pytest.mark.parametrize("forced", [False, True])
def test_a_trace_of_every_decoder_is_read_back_equal(forced: bool) -> None:
    trace = raced(list(DECODERS), forced=forced)
    again = Trace.loads(trace.dumps())
    assert again == trace
    assert again.dumps() == trace.dumps()
    assert Trace.loads(trace.dumps().encode()) == trace


def test_a_stopped_race_is_read_back_equal() -> None:
    trace = raced(["ar", "sjd"], stop=5)
    assert trace.frames[-1].state is LaneState.STOPPED
    assert Trace.loads(trace.dumps()) == trace


def test_a_failed_lane_is_read_back_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SJD, "verify", lambda *args: 1 / 0)
    trace = raced(["ar", "sjd"])
    assert any(frame.error == "ZeroDivisionError: division by zero" for frame in trace.frames)
    assert Trace.loads(trace.dumps()) == trace


def test_a_trace_without_a_frame_is_read_back() -> None:
    trace = Trace(whole().header, ())
    assert Trace.loads(trace.dumps()) == trace


def test_a_forced_position_has_no_cell() -> None:
    assert raced(["ar"]).header.cells == [0, 1, 2, 3, 4, 5]
    assert raced(["ar"], forced=True).header.cells == [0, 1, 2, -1, 3, 4, 5, -1]


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The good trace with one value changed."""
    whole_thing = copy.deepcopy(data())
    at = whole_thing
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return whole_thing


def column(path: tuple[str | int, ...], kind: str, change: Any) -> dict[str, Any]:
    """The good trace with one column changed by a function of its numbers."""
    text = data()
    for key in path:
        text = text[key]
    numbers = change(np.frombuffer(unpack(text), kind).copy())
    return changed(path, pack(np.asarray(numbers, kind).tobytes()))


def put(place: int, value: float) -> Any:
    def change(numbers: np.ndarray) -> np.ndarray:
        numbers[place] = value
        return numbers

    return change


DAMAGED = [
    (lambda: changed(("format",), "other"), "not a trace of Photo Finish"),
    (lambda: changed(("version",), VERSION + 1), "version"),
    (lambda: changed(("header", "grid"), [300, 300]), "grid"),
    (lambda: changed(("header", "grid"), [0, 6]), "grid"),
    (lambda: changed(("header", "grid"), [2, 4]), "layout"),
    (lambda: changed(("header", "grid"), [2, 3, 4]), "damaged"),
    (lambda: changed(("header", "grid"), [float("inf"), 3]), "damaged"),
    (lambda: changed(("header", "vocab_size"), 1), "vocabulary"),
    (lambda: changed(("header", "vocab_size"), 10**9), "vocabulary"),
    (lambda: changed(("header", "vocab_size"), 6.5), "vocabulary"),
    (lambda: changed(("header", "vocab_size"), float("nan")), "vocabulary"),
    (lambda: changed(("header", "prompt"), "x" * (MAX_PROMPT + 1)), "prompt"),
    (lambda: changed(("header", "prompt"), 7), "prompt"),
    (lambda: changed(("header", "seed"), -1), "seed"),
    (lambda: changed(("header", "seed"), 0.5), "seed"),
    (lambda: changed(("header", "seed"), True), "seed"),
    (lambda: changed(("header", "machine"), "x" * 300), "names"),
    (lambda: changed(("header", "lanes"), []), "lanes"),
    (lambda: changed(("header", "lanes"), data()["header"]["lanes"] * (MAX_LANES + 1)), "lanes"),
    (lambda: changed(("header", "lanes", 0, "decoder"), "jet"), "not known here: 'jet'"),
    (
        lambda: changed(("header", "lanes", 2, "settings", "K"), 1000),
        "K is a whole number from 1 to 8",
    ),
    (
        lambda: changed(("header", "lanes", 2, "settings", "no_such"), 1),
        "settings of the lane sjd-pac",
    ),
    (lambda: changed(("header", "sampling", "temperature"), 0), "temperature"),
    (lambda: changed(("header", "forced_ids"), [-1] * 10), "layout"),
    (lambda: changed(("lanes",), data()["lanes"][:2]), "events|lanes|damaged"),
    (lambda: changed(("lanes",), [*data()["lanes"], data()["lanes"][0]]), "no event|lanes"),
    (lambda: changed(("lanes", 0, "nfe"), "not base64!"), "damaged"),
    (lambda: changed(("lanes", 0, "nfe"), "AAAA"), "damaged"),
    (lambda: changed(("lanes", 0, "nfe"), ""), "cut off"),
    (lambda: changed(("lanes", 0, "nfe"), 7), "not text"),
    (lambda: changed(("lanes", 0, "nfe"), pack(b"")), "differ in length"),
    (lambda: changed(("lanes", 0, "nfe"), pack(b"abc")), "middle of a number"),
    (lambda: changed(("lanes", 0, "nfe"), pack(bytes(2**27))), "more than a race"),
    (lambda: changed(("codebook",), pack(bytes(7))), "codebook"),
    (lambda: changed(("codebook",), pack(np.full(12, np.nan, "<f4").tobytes())), "codebook"),
    (lambda: changed(("order",), data()["order"][:-1]), "no event"),
    (lambda: changed(("order", 5, 0), 99), "no lane"),
    (lambda: changed(("order", 5, 0), -1), "no lane"),
    (lambda: changed(("order", 5, 1), "flying"), "damaged"),
    (lambda: changed(("order", 5, 3), "an error without a failure"), "damaged"),
    (lambda: changed(("order", 5), [0, "racing"]), "damaged"),
    (lambda: column(("lanes", 0, "nfe"), "<i4", put(0, 0)), "damaged"),
    (lambda: column(("lanes", 0, "before"), "<i4", put(1, 0)), "begin|damaged"),
    (lambda: column(("lanes", 0, "after"), "<i4", put(-1, 2**31 - 1)), "damaged"),
    (lambda: column(("lanes", 0, "touched"), "<i4", put(0, 2**31 - 1)), "add up"),
    (lambda: column(("lanes", 0, "touched"), "<i4", put(0, 0)), "add up"),
    (lambda: column(("lanes", 0, "forward"), "<f8", put(0, np.nan)), "time"),
    (lambda: column(("lanes", 0, "verify"), "<f8", put(0, -1)), "damaged"),
    (lambda: column(("lanes", 0, "cache"), "<f8", put(0, np.inf)), "time"),
    (lambda: column(("lanes", 0, "position"), "<i4", put(0, 10**6)), "outside the grid"),
    (lambda: column(("lanes", 0, "position"), "<i4", put(0, -5)), "damaged"),
    (lambda: column(("lanes", 0, "token"), "<i4", put(0, 10**6)), "vocabulary"),
    (lambda: column(("lanes", 0, "token"), "<i4", put(0, -1)), "damaged"),
    (lambda: column(("lanes", 0, "draft"), "<i4", put(0, 10**6)), "vocabulary"),
    (lambda: column(("lanes", 0, "status"), "u1", put(0, 77)), "damaged"),
    (lambda: column(("lanes", 0, "top1"), "<f4", put(0, np.nan)), "probability"),
    (lambda: column(("lanes", 0, "top1"), "<f4", put(0, 1.5)), "probability"),
    (lambda: column(("lanes", 1, "tv"), "<f4", put(0, -3)), "probability"),
    (lambda: column(("lanes", 1, "acceptance"), "<f4", put(0, np.inf)), "probability"),
    (lambda: column(("lanes", 1, "uniform"), "<f4", put(0, 2)), "probability"),
    (lambda: column(("lanes", 1, "law_token"), "<u2", put(0, 6)), "vocabulary"),
    (lambda: column(("lanes", 1, "law_share"), "<f4", put(0, np.nan)), "not a number"),
    (lambda: column(("lanes", 1, "top_size"), "<u1", put(0, 9)), "keeps more"),
    (lambda: column(("lanes", 1, "top_size"), "<u1", put(0, 1)), "laws do not add up"),
    (lambda: column(("lanes", 1, "kin_size"), "<u1", put(-1, 1)), "kin do not add up"),
    (lambda: column(("lanes", 1, "kin_count"), "<i4", put(0, 0)), "damaged"),
    (lambda: column(("lanes", 1, "refused"), "<u1", put(0, 1)), "refusals do not add up"),
    (lambda: column(("lanes", 1, "refusal_size"), "<i4", put(0, -1)), "refusals do not add up"),
    (lambda: column(("lanes", 1, "refusal_draft"), "<i4", put(0, -1)), "vocabulary"),
    (lambda: column(("lanes", 2, "siblings"), "<u1", put(0, 200)), "siblings do not add up"),
    (lambda: column(("lanes", 2, "sibling_uniform"), "<f4", put(0, -1)), "probability"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGED)
def test_a_damaged_trace_is_refused_in_words(damage: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message) as caught:
        read(damage())
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "7",
        '"text"',
        "[" * 100_000,
        "NaN",
        "{}",
        b"\xff\xfe\x00",
        b"\x80\x04",
    ],
)
def test_what_is_no_trace_is_refused_in_words(text: str | bytes) -> None:
    with pytest.raises(TraceError, match="not a trace"):
        Trace.loads(text)


def test_a_huge_file_is_refused_unread() -> None:
    with pytest.raises(TraceError, match="MB; a trace has at most"):
        Trace.loads(" " * (MAX_BYTES + 1))


def test_a_bomb_is_refused_before_it_goes_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.trace.MAX_POSITIONS", 20)
    with pytest.raises(TraceError, match="more positions than a race can leave"):
        Trace.loads(whole().dumps())


def test_nothing_is_unpickled(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr(os, "getlogin", lambda: ran.append(True))

    evil = b"cos\ngetlogin\n(tR."
    pickle.loads(evil)
    assert ran == [True], "it would run if it were unpickled"
    for text in (
        evil,
        evil.decode("latin1"),
        json.dumps(changed(("lanes", 0, "nfe"), base64.b64encode(evil).decode())),
    ):
        with pytest.raises(TraceError):
            Trace.loads(text)
    npy = b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }" + evil
    with pytest.raises(TraceError):
        read(changed(("lanes", 0, "nfe"), base64.b64encode(npy).decode()))
    assert ran == [True]


def survives(text: str | bytes) -> None:
    """Either it is refused in the proper way, or it is a good trace."""
    try:
        trace = Trace.loads(text)
    except TraceError:
        return
    assert Trace.loads(trace.dumps()) == trace
    assert all(isinstance(frame, Frame) for frame in trace.frames)


def paths(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [at] * bool(at) + [path for key, child in inside for path in paths(child, (*at, key))]


@settings(max_examples=300)
@given(st.data(), HOSTILE)
def test_any_value_anywhere_is_read_or_refused(draw: st.DataObject, value: Any) -> None:
    survives(json.dumps(changed(draw.draw(st.sampled_from(paths(data()))), value)))


@settings(max_examples=150)
@given(st.data())
def test_any_key_left_out_is_read_or_refused(draw: st.DataObject) -> None:
    path = draw.draw(st.sampled_from(paths(data())))
    less = copy.deepcopy(data())
    at = less
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    survives(json.dumps(less))


@settings(max_examples=150)
@given(st.data())
def test_any_numbers_in_a_column_are_read_or_refused(draw: st.DataObject) -> None:
    lane = draw.draw(st.integers(0, 2))
    name = draw.draw(st.sampled_from(sorted(data()["lanes"][lane])))
    raw = bytearray(unpack(data()["lanes"][lane][name]) or b"\0")
    for _ in range(draw.draw(st.integers(1, 4))):
        raw[draw.draw(st.integers(0, len(raw) - 1))] = draw.draw(st.integers(0, 255))
    raw = raw[: draw.draw(st.sampled_from([len(raw), len(raw) - 4, len(raw) - 1]))]
    survives(json.dumps(changed(("lanes", lane, name), pack(bytes(raw)))))


@settings(max_examples=150)
@given(st.data())
def test_any_damage_to_the_text_is_read_or_refused(draw: st.DataObject) -> None:
    text = bytearray(whole().dumps().encode())
    for _ in range(draw.draw(st.integers(1, 3))):
        text[draw.draw(st.integers(0, len(text) - 1))] = draw.draw(st.integers(0, 255))
    survives(bytes(text[: draw.draw(st.sampled_from([len(text), len(text) // 2, len(text) - 1]))]))


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60)))
def test_any_text_at_all_is_read_or_refused(text: str | bytes) -> None:
    survives(text)
