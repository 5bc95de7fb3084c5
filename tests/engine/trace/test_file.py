"""Traces: what is written is read back, and nothing that anyone may send does harm."""

from __future__ import annotations

import base64
import copy
import functools
import hashlib
import json
import operator
import os
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoders import WHOLE
from engine.decoders.sjd import SJD
from engine.race import MAX_LANES, MAX_PROMPT, Lane
from engine.trace import MAX_BYTES, Frame, LaneState, Status, StepTable, Trace, TraceError
from engine.trace import streams as current
from engine.trace.file import MAX_VALUES, VERSION
from engine.trace.packing import STORED, _bytes, _rows, pack_table
from engine.trace.reduce import Dropped
from engine.trace.rejections import HEAD, LISTED
from engine.trace.rows import DTYPES, Source
from engine.trace.shares import NONE
from engine.trace.streams import pack, unpack
from tests.clocks import set_clocks
from tests.engine.trace import version_4
from tests.engine.trace.reread import reread
from tests.races import race_of
from tests.stopped import run_until
from tests.variants import further
from tools.judge.toys import Toy

HOSTILE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.lists(st.integers(), max_size=4),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
    st.sampled_from([10**400, -1, 2**31, 2**63, 1e308, float("nan"), float("inf")]),
    st.sampled_from([[[[]]] * 3, "9" * 5000, "\ud800", "AAAA"]),
)


Path = tuple[str | int, ...]


@set_clocks()
def raced(names: list[str], *, forced: bool = False, stop: int | None = None) -> Trace:
    model = Toy((2, 3), 6, forced=forced)
    race = race_of(model, [Lane(name) for name in names], "a prompt, “quoted” 🍎", 3)
    return run_until(race, stop)


@functools.cache
def whole() -> Trace:
    return raced(["ar", "lantern", "sjd-pac"], forced=True)


@functools.cache
def data() -> dict[str, Any]:
    return json.loads(whole().dumps())


@functools.cache
def data_4() -> dict[str, Any]:
    return version_4.plain(whole())


def read(value: Any) -> Trace:
    return Trace.loads(json.dumps(value))


@pytest.mark.parametrize("names", [list(WHOLE)[:8], list(WHOLE)[8:]])
@pytest.mark.parametrize("forced", [False, True])
def test_a_trace_of_every_decoder_is_read_back_equal(names: list[str], forced: bool) -> None:
    trace = raced(names, forced=forced)
    again = Trace.loads(trace.dumps())
    assert again == reread(trace)
    assert again.dumps() == trace.dumps()
    assert Trace.loads(trace.dumps().encode()) == again


def test_a_file_of_version_4_is_read_as_its_program_read_it() -> None:
    trace = Trace.loads(version_4.FILE.read_bytes())
    tables = [trace.table(i) for i in range(len(trace.header.lanes))]
    assert not any(len(table.places) for table in tables)
    names = [name for name in DTYPES if name != "places"]  # which that version did not have
    raw = b"".join(table.arrays()[name].tobytes() for table in tables for name in names)
    assert hashlib.sha256(raw).hexdigest() == version_4.SHA256
    assert all(any(len(table.arrays()[name]) for table in tables) for name in names)
    assert Trace.loads(json.dumps(version_4.plain(trace))) == trace
    again = json.loads(trace.dumps())
    assert again["version"] == VERSION
    assert read(again) == reread(trace)


def test_the_oldest_traces_have_no_prices() -> None:
    older = copy.deepcopy(data_4())
    for lane in older["lanes"]:
        del lane["prices"]
    assert read(older) == read(data_4())


def test_a_lane_takes_few_bytes_a_token() -> None:
    """Of a small race: at most three quarters of what version 4 took, and no more than 600."""
    model = Toy((8, 8), 64)
    trace = run_until(race_of(model, [Lane("ar"), Lane("sjd"), Lane("gsd"), Lane("scd")]), None)
    lanes, before = (
        [sum(map(len, lane.values())) / 64 for lane in file["lanes"]]
        for file in (json.loads(trace.dumps()), version_4.plain(trace))
    )
    assert lanes[0] < 60
    assert max(lanes) < 600
    assert all(new < 0.75 * old for new, old in zip(lanes[1:], before[1:], strict=True))


def test_a_stopped_race_is_read_back_equal() -> None:
    trace = raced(["ar", "sjd"], stop=5)
    assert trace.frames[-1].state is LaneState.STOPPED
    assert Trace.loads(trace.dumps()) == reread(trace)


def test_a_failed_lane_is_read_back_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SJD, "verify", lambda *args: 1 / 0)
    trace = raced(["ar", "sjd"])
    assert any(frame.error == "ZeroDivisionError: division by zero" for frame in trace.frames)
    assert Trace.loads(trace.dumps()) == trace


def test_a_trace_says_which_weights_it_is_over_if_it_can_and_how_they_compute() -> None:
    model = Toy((2, 3), 6)
    model.weights, model.dtype = "c0ffee", torch.bfloat16
    header = race_of(model, [Lane("ar")]).header
    assert (header.weights, header.dtype) == ("c0ffee", "bfloat16")
    trace = Trace(header, ())
    assert Trace.loads(trace.dumps()) == trace
    older = json.loads(trace.dumps())
    head = older["header"]
    del head["weights"], head["dtype"], head["sampling"]["guided_tokens"]
    assert Trace.loads(json.dumps(older)).header == replace(header, weights="", dtype="")


def test_a_forced_position_has_no_cell() -> None:
    assert raced(["ar"]).header.cells == (0, 1, 2, 3, 4, 5)
    assert raced(["ar"], forced=True).header.cells == (0, 1, 2, -1, 3, 4, 5, -1)


@pytest.mark.parametrize("forced", [False, True])
def test_cells_may_be_filled_in_any_order(forced: bool) -> None:
    trace = raced(["sjd", "gsd"], forced=forced)
    order = tuple(5 - cell if cell >= 0 else -1 for cell in trace.header.cells)
    trace = replace(trace, header=replace(trace.header, cells=order))
    assert Trace.loads(trace.dumps()) == reread(trace)
    assert Trace.loads(trace.dumps()).header.cells == order


def inside(path: Path, file: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
    """A copy of the good trace, and what in it holds the value at this path."""
    copied = copy.deepcopy(file or data())
    return copied, functools.reduce(operator.getitem, path[:-1], copied)


def changed(path: Path, value: Any, file: dict[str, Any] | None = None) -> dict[str, Any]:
    """The good trace with one value changed."""
    copied, place = inside(path, file)
    place[path[-1]] = value
    return copied


def rows(lane: int, table: str, change: Any) -> dict[str, Any]:
    """The good trace as a file of version 4, with one table changed by a function of its rows."""
    good = version_4.unpack_rows(data_4()["lanes"][lane][table], DTYPES[table]).copy()
    return changed(("lanes", lane, table), version_4.pack_rows(change(good)), data_4())


def packed(lane: int, table: str, change: Any) -> dict[str, Any]:
    """The good trace with one table changed by a function of its bytes by row, [width, N]."""
    raw = np.frombuffer(unpack(data()["lanes"][lane][table]), "u1")
    columns = raw.reshape(STORED[table].itemsize, -1).copy()
    return changed(("lanes", lane, table), pack(change(columns).tobytes()))


def byte(*rows: int, value: int) -> Any:
    """Sets bytes of the first row."""

    def change(columns: np.ndarray) -> np.ndarray:
        columns[list(rows), 0] = value
        return columns

    return change


def head(field: str, value: float) -> dict[str, Any]:
    """The good trace with a number of the first rejection's head changed."""

    def change(columns: np.ndarray) -> np.ndarray:
        heads = _rows(columns, HEAD)
        heads[field][0] = value
        return np.frombuffer(_bytes(heads), "u1")

    return packed(1, "rejections", change)


def more_than_a_rejection_lists() -> dict[str, Any]:
    """The good trace with a rejection that lists 513 tokens, and as many there."""
    damaged = packed(1, "rejections", lambda columns: columns[:, :1])
    heads = np.frombuffer(unpack(damaged["lanes"][1]["rejections"]), HEAD).copy()
    heads["count"] = 513
    steps = version_4.unpack_rows(data_4()["lanes"][1]["steps"], DTYPES["steps"]).copy()
    steps["rejected"][np.flatnonzero(steps["rejected"])[1:]] = 0
    listed = bytes(513 * LISTED.itemsize)
    rows = {"rejections": heads.tobytes(), "listed": listed, "steps": _bytes(steps)}
    damaged["lanes"][1] |= {name: pack(raw) for name, raw in rows.items()}
    return damaged


def put(field: str, place: int | Callable[[np.ndarray], np.ndarray], value: Any) -> Any:
    """Sets a field of a row: by its number, or the first that the function finds."""

    def change(table: np.ndarray) -> np.ndarray:
        row = np.flatnonzero(place(table))[0] if callable(place) else place
        table[field][row] = value(table[field][row]) if callable(value) else value
        return table

    return change


def refer(source: Source) -> Any:
    """Makes the first row with a q of its own say that its q is elsewhere."""
    return put("refs", lambda t: t["refs"] & 3 == Source.OWN, lambda refs: refs & 252 | source)


def more_than_the_grid() -> dict[str, Any]:
    """The good trace with a row more than there are positions, in its last step."""
    damaged = rows(0, "steps", put("positions", -1, lambda count: count + 1))
    good = version_4.unpack_rows(data_4()["lanes"][0]["positions"], DTYPES["positions"])
    damaged["lanes"][0]["positions"] = version_4.pack_rows(np.concatenate([good, good[-1:]]))
    return damaged


def resampled(table: np.ndarray) -> np.ndarray:
    return table["status"] == Status.RESAMPLED


def many(refs: int) -> int:
    """With more candidates than a trace has."""
    return refs | 15 << 4


SIXTY = {str(i): 1 for i in range(60)}
DAMAGED = [
    (lambda: changed(("format",), "other"), "not a trace of Photo Finish"),
    (lambda: changed(("version",), VERSION + 1), "version"),
    (lambda: changed(("version",), [4]), "version"),
    (lambda: changed(("version",), "5"), "version"),
    (lambda: changed(("version",), 4), "not readable"),
    (lambda: changed(("version",), 2), "of version 2; this program reads versions 4 and 5"),
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
    (lambda: changed(("header", "weights"), "x" * 300), "names"),
    (lambda: changed(("header", "weights"), ["a"]), "names"),
    (lambda: changed(("header", "dtype"), 16), "names"),
    (lambda: changed(("header", "lanes"), []), "lanes"),
    (lambda: changed(("header", "lanes"), data()["header"]["lanes"] * (MAX_LANES + 1)), "lanes"),
    (lambda: changed(("header", "lanes", 0, "decoder"), "x" * 300), "names"),
    (lambda: changed(("header", "lanes", 0, "decoder"), 7), "names"),
    (lambda: changed(("header", "lanes", 2, "settings"), {"x" * 300: 1}), "names"),
    (lambda: changed(("header", "lanes", 2, "settings", "K"), "x" * 300), "names"),
    (lambda: changed(("header", "lanes", 2, "settings", "K"), [4]), "numbers or texts"),
    (lambda: changed(("header", "lanes", 2, "settings", "K"), None), "numbers or texts"),
    (lambda: changed(("header", "lanes", 2, "settings", "K"), float("nan")), "numbers or texts"),
    (lambda: changed(("header", "lanes", 2, "settings"), SIXTY), "numbers or texts"),
    (lambda: changed(("header", "sampling", "temperature"), 0), "temperature"),
    (lambda: changed(("header", "sampling"), {"colour": 1}), "not what it should be"),
    (lambda: changed(("header", "cells"), [-1] * 10), "layout"),
    (lambda: changed(("header", "cells"), [0, 1, 2, -1, 3, 4, 4, -1]), "layout"),
    (lambda: changed(("header", "cells"), [0, 1, 2, -1, 3, 4, 6, -1]), "layout"),
    (lambda: changed(("header", "cells"), [0, 1, 2, -2, 3, 4, 5, -1]), "layout"),
    (lambda: changed(("header", "cells"), [0, 1, 2, 3, 4, 5] + [-1] * 20), "layout"),
    (lambda: changed(("header", "cells", 0), float("inf")), "damaged"),
    (lambda: changed(("lanes",), data()["lanes"][:2]), "events|lanes|damaged"),
    (lambda: changed(("lanes",), [*data()["lanes"], data()["lanes"][0]]), "no event|lanes"),
    (lambda: changed(("lanes", 0, "steps"), "not base64!"), "damaged"),
    (lambda: changed(("lanes", 0, "steps"), "AAAA"), "damaged"),
    (lambda: changed(("lanes", 0, "steps"), ""), "cut off"),
    (lambda: changed(("lanes", 0, "steps"), 7), "not text"),
    (lambda: changed(("lanes", 0, "steps"), pack(b"")), "add up"),
    (lambda: changed(("lanes", 0, "steps"), pack(b"abc")), "middle of a row"),
    (lambda: changed(("lanes", 0, "steps"), pack(bytes(2**27))), "more than a race"),
    (lambda: changed(("codebook",), pack(bytes(7))), "codebook"),
    (lambda: changed(("codebook",), pack(np.full(12, np.nan, "<f4").tobytes())), "codebook"),
    (lambda: changed(("order",), data()["order"][:-1]), "no event"),
    (lambda: changed(("order", 5, 0), 99), "no lane"),
    (lambda: changed(("order", 5, 0), -1), "no lane"),
    (lambda: changed(("order", 0, 0), 0.5), "not what it should be"),
    (lambda: changed(("order", 5, 2), 1), "do not fit its steps"),
    (lambda: changed(("header", "grid"), [4.5, 4]), "not what it should be"),
    (lambda: changed(("header", "grid"), ["4", 4]), "not what it should be"),
    (lambda: changed(("header", "cells", 0), 0.5), "not what it should be"),
    (lambda: changed(("order", 5, 1), "flying"), "damaged"),
    (lambda: changed(("order", 5, 3), "an error without a failure"), "damaged"),
    (lambda: changed(("order", 5), [0, "racing"]), "damaged"),
    (lambda: rows(0, "steps", put("nfe", 0, 0)), "damaged"),
    (lambda: rows(0, "steps", put("nfe", 3, 1)), "count up"),
    (lambda: rows(0, "steps", put("committed", 1, 0)), "commits nothing|damaged"),
    (lambda: rows(0, "steps", put("committed", -1, 2**16 - 1)), "damaged"),
    (lambda: rows(0, "steps", lambda table: np.concatenate([table, table[-1:]])), "add up"),
    (lambda: rows(0, "steps", put("positions", 0, 2**16 - 1)), "add up"),
    (lambda: rows(0, "steps", put("positions", 0, 0)), "add up"),
    (lambda: more_than_the_grid(), "outside the grid"),
    (lambda: rows(0, "positions", put("token", 0, 10**6)), "vocabulary"),
    (lambda: rows(0, "positions", put("token", 3, 2**32 - 1)), "vocabulary"),
    (lambda: rows(0, "positions", put("draft", 0, 6)), "vocabulary"),
    (lambda: rows(0, "positions", put("status", 0, 77)), "damaged"),
    (lambda: rows(0, "positions", put("refs", 0, 8)), "refers"),
    (lambda: rows(0, "positions", put("top1", 0, NONE)), "probability"),
    (lambda: rows(0, "positions", put("top_shares", 0, NONE)), "probability"),
    (lambda: rows(1, "positions", put("top", 0, 6)), "vocabulary"),
    (lambda: rows(1, "positions", put("top", 0, [0, NONE, *[0] * 6])), "gap"),
    (lambda: rows(1, "positions", refer(Source.BEFORE)), "not where"),
    (lambda: rows(1, "positions", refer(Source.NONE)), "distributions do not add up"),
    (lambda: rows(0, "positions", put("refs", 0, Source.CERTAIN)), "not where"),
    (lambda: rows(0, "positions", put("refs", 0, Source.OWN)), "distributions do not add up"),
    (lambda: rows(1, "distributions", put("top", 0, 6)), "vocabulary"),
    (lambda: rows(1, "distributions", put("top_shares", 0, NONE)), "not a number"),
    (lambda: rows(1, "positions", put("refs", lambda t: t["refs"] & 4, 0)), "do not add up"),
    (lambda: rows(1, "groups", put("count", 0, 0)), "damaged"),
    (lambda: rows(1, "groups", put("count", 0, 7)), "damaged"),
    (lambda: rows(1, "groups", put("neighbours", 0, 6)), "vocabulary"),
    (lambda: rows(1, "groups", put("p", 0, np.nan)), "not a number"),
    (lambda: rows(1, "groups", put("p", 0, 1.5)), "probability"),
    (lambda: rows(1, "groups", put("q", 0, -3)), "probability"),
    (lambda: rows(1, "groups", put("q", 0, np.inf)), "probability"),
    (lambda: rows(1, "steps", put("rejected", 0, 1)), "rejections do not add up"),
    (lambda: rows(1, "steps", put("rejected", 0, 200)), "rejections do not add up"),
    (lambda: rows(1, "rejections", lambda table: table[:-1]), "rejections do not add up"),
    (lambda: rows(1, "rejections", put("uniform", 0, 2)), "probability"),
    (lambda: rows(1, "rejections", put("uniform", 0, np.nan)), "probability"),
    (lambda: rows(1, "rejections", put("tokens", 0, 6)), "vocabulary"),
    (
        lambda: rows(1, "rejections", put("tokens", 0, lambda t: t[[1, 0, *range(2, 512)]])),
        "ascend",
    ),
    (lambda: rows(1, "rejections", put("p", 0, np.inf)), "probability"),
    (lambda: rows(1, "rejections", put("q", 0, -1)), "probability"),
    (lambda: rows(1, "positions", put("draft", resampled, NONE)), "not where|vocabulary"),
    (lambda: rows(2, "positions", put("refs", 0, many)), "candidates do not add up"),
    (lambda: rows(0, "prices", lambda _: np.zeros(1, DTYPES["prices"])), "prices do not add up"),
    (lambda: changed(("header", "lanes", 0, "cells"), [0, 0, 1]), "draws other cells"),
    (lambda: rows(2, "candidates", put("uniform", 0, NONE)), "probability"),
    (lambda: rows(2, "candidates", put("token", 0, 6)), "vocabulary"),
    (lambda: packed(1, "rejections", lambda columns: columns[:, 1:]), "rejections do not add up"),
    (lambda: packed(1, "listed", lambda columns: columns[:, 1:]), "rejections do not add up"),
    (lambda: head("count", 2**16 - 1), "rejections do not add up"),
    *(
        (lambda field=field, value=value: head(field, value), "outside 0 to 1|not a number")
        for field in ("uniform", "p", "q")
        for value in (-0.5, 1.5, np.nan, np.inf)
    ),
    (lambda: packed(1, "listed", byte(0, value=6)), "vocabulary|ascend"),
    (lambda: packed(1, "listed", byte(3, value=255)), "outside 0 to 1"),
    (lambda: packed(1, "listed", byte(2, 3, 4, 5, value=0)), "not as it would be stored"),
    (more_than_a_rejection_lists, "rejections do not add up"),
    (lambda: packed(1, "positions", byte(7, value=8)), "refers"),
    (lambda: packed(1, "positions", byte(7, value=Source.BEFORE)), "not where"),
    (lambda: changed(("lanes", 1, "rejections"), pack(bytes(14 * 2**14))), "more than a race"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGED)
def test_a_damaged_trace_is_rejected_in_words(damage: Any, message: str) -> None:
    damaged = damage()
    with pytest.raises(TraceError, match=message) as caught, np.errstate(all="raise"):
        read(damaged)
    assert len(str(caught.value)) < 400
    assert not re.search(r"Error|object|argument|NoneType|unpack", str(caught.value))


@pytest.mark.parametrize("name", ["header", "lanes", "order", "codebook"])
def test_what_a_trace_lacks_is_named(name: str) -> None:
    lacking = {key: value for key, value in data().items() if key != name}
    with pytest.raises(TraceError, match=f"it has no '{name}'"):
        read(lacking)


@pytest.mark.parametrize("value", [b"[]", b"{}", b"[[[]]]", b'""'])
def test_a_file_of_millions_of_empty_values_is_rejected_unparsed(
    value: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("json.loads", None)
    with pytest.raises(TraceError, match="more values than a trace has"):
        Trace.loads(b"[" + b",".join([value] * (MAX_VALUES + 1)) + b"]")


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "null", "[]", "7", '"text"', "[" * 100_000, "NaN", "{}"),
        *(b"\xff\xfe\x00", b"\x80\x04"),
    ],
)
def test_what_is_no_trace_is_rejected_in_words(text: str | bytes) -> None:
    with pytest.raises(TraceError, match="not a trace"):
        Trace.loads(text)


def test_a_huge_file_is_rejected_unread() -> None:
    with pytest.raises(TraceError, match="MB; a trace has at most"):
        Trace.loads(" " * (MAX_BYTES + 1))


def test_a_bomb_is_rejected_before_it_goes_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.trace.file.MAX_POSITIONS", 20)
    with pytest.raises(TraceError, match="more positions than a race can leave"):
        Trace.loads(whole().dumps())


@pytest.mark.parametrize(
    ("bound", "words"),
    [("STEPS", "more steps than a race"), ("ROWS", "more than a race can leave")],
)
def test_what_all_lanes_hold_has_one_bound(
    bound: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them alone would be let in."""
    tables = [whole().table(i) for i in range(len(whole().header.lanes))]
    sizes = [
        len(table) if bound == "STEPS" else sum(rows.nbytes for rows in table.arrays().values())
        for table in tables
    ]
    monkeypatch.setattr(f"engine.trace.file.MAX_{bound}", sum(sizes))
    assert read(data()) == reread(whole())
    monkeypatch.setattr(f"engine.trace.file.MAX_{bound}", sum(sizes) - 1)
    assert sum(sizes) - 1 > max(sizes)
    with pytest.raises(TraceError, match=words):
        read(data())


def test_of_many_steps_no_rows_are_cut_before_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut = Mock(side_effect=StepTable.only)
    monkeypatch.setattr(StepTable, "only", lambda *arguments: cut(*arguments))
    trace = read(data())
    assert sum(frame.step.after - frame.step.before for frame in trace.frames if frame.step) == 24
    assert cut.call_count == 0
    assert trace.frames[-1].step.rows == whole().frames[-1].step.rows
    assert cut.call_count == 1


def test_a_lane_has_few_events_that_are_no_steps() -> None:
    many = data()["order"] + [[0, "racing", False, None]] * 100
    with pytest.raises(TraceError, match="more events than its lanes can have"):
        read(data() | {"order": many})


def test_nothing_is_unpickled(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr(os, "getlogin", lambda: ran.append(True))
    evil = b"cos\ngetlogin\n(tR."
    pickle.loads(evil)
    assert ran == [True], "it would run if it were unpickled"
    npy = b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }" + evil
    columns = (base64.b64encode(each).decode() for each in (evil, npy))
    within = (json.dumps(changed(("lanes", 0, "steps"), column)) for column in columns)
    for text in (evil, evil.decode("latin1"), *within):
        with pytest.raises(TraceError):
            Trace.loads(text)
    assert ran == [True]


def survives(text: str | bytes) -> None:
    """Either it is rejected in the proper way, or it is a good trace."""
    try:
        trace = Trace.loads(text)
    except TraceError:
        return
    assert Trace.loads(trace.dumps()) == reread(trace)
    assert all(isinstance(frame, Frame) for frame in trace.frames)


def paths(value: Any, at: Path = ()) -> list[Path]:
    children = dict(enumerate(value)) if isinstance(value, list) else value
    nested = children.items() if isinstance(children, dict) else ()
    return [at] * bool(at) + [path for key, child in nested for path in paths(child, (*at, key))]


@settings(max_examples=300)
@given(st.data(), HOSTILE)
def test_any_value_anywhere_is_read_or_rejected(draw: st.DataObject, value: Any) -> None:
    survives(json.dumps(changed(draw.draw(st.sampled_from(paths(data()))), value)))


@settings(max_examples=150)
@given(st.data())
def test_any_key_left_out_is_read_or_rejected(draw: st.DataObject) -> None:
    path = draw.draw(st.sampled_from(paths(data())))
    less, place = inside(path)
    del place[path[-1]]
    survives(json.dumps(less))


@settings(max_examples=150)
@pytest.mark.parametrize("version", [*further(4), VERSION])
@given(st.data())
def test_any_numbers_in_a_column_are_read_or_rejected(version: int, draw: st.DataObject) -> None:
    file, streams = (data_4(), version_4) if version == 4 else (data(), current)
    lane = draw.draw(st.integers(0, 2))
    name = draw.draw(st.sampled_from(sorted(file["lanes"][lane])))
    raw = bytearray(streams.unpack(file["lanes"][lane][name]) or b"\0")
    for _ in range(draw.draw(st.integers(1, 4))):
        raw[draw.draw(st.integers(0, len(raw) - 1))] = draw.draw(st.integers(0, 255))
    raw = raw[: draw.draw(st.sampled_from([len(raw), len(raw) - 4, len(raw) - 1]))]
    survives(json.dumps(changed(("lanes", lane, name), streams.pack(bytes(raw)), file)))


@settings(max_examples=150)
@given(st.data())
def test_any_damage_to_the_text_is_read_or_rejected(draw: st.DataObject) -> None:
    text = bytearray(whole().dumps().encode())
    for _ in range(draw.draw(st.integers(1, 3))):
        text[draw.draw(st.integers(0, len(text) - 1))] = draw.draw(st.integers(0, 255))
    survives(bytes(text[: draw.draw(st.sampled_from([len(text), len(text) // 2, len(text) - 1]))]))


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60)))
def test_any_text_at_all_is_read_or_rejected(text: str | bytes) -> None:
    survives(text)


LONG = race_of(Toy((4, 4), 5), [Lane("sjd"), Lane("sjd-pac"), Lane("gsd")])


@pytest.mark.parametrize(
    ("shorter", "positions", "packings", "dropped"),
    [
        (0, 10**6, 1, ()),
        (1, 10**6, 2, (Dropped.REJECTIONS,)),
        (0, 60, 1, (Dropped.REJECTIONS, Dropped.DRAFTS)),
    ],
)
def test_a_race_too_long_for_a_file_leaves_out_detail_and_says_so(
    monkeypatch: pytest.MonkeyPatch, shorter: int, positions: int, packings: int, dropped: tuple
) -> None:
    whole = LONG.trace(list(LONG))
    monkeypatch.setattr("engine.trace.file.MAX_BYTES", len(whole.dumps()) - shorter)
    monkeypatch.setattr("engine.trace.file.MAX_POSITIONS", positions)
    packed = Mock(side_effect=pack_table)
    monkeypatch.setattr("engine.trace.file.pack_table", packed)
    read = Trace.loads(whole.dumps())
    assert packed.call_count == packings * 3, "positions are counted before a table is packed"
    assert read.header.dropped == dropped
    assert Trace.loads(read.dumps()).header.dropped == dropped, "also when it is written again"
    for lane in range(3):
        before, after = whole.table(lane), read.table(lane)
        assert (read.tokens(lane) == whole.tokens(lane)).all()
        assert len(after) == len(before)
        assert len(after.rejections) == (0 if dropped else len(before.rejections))
        assert after.committed.all() == (Dropped.DRAFTS in dropped)
        for share in ("p", "tv", "acceptance"):
            kept, all_ = (table.positions[share][table.committed] for table in (after, before))
            assert (kept == all_).all()
