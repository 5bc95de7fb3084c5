from __future__ import annotations

import base64
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders import DECODERS
from engine.records import Kin, Law, Position, Seconds, Sibling, Status, Step
from tests.visualize.races import run
from visualize.wire import Columns, Source

# The format once more, as numpy has it: what is packed with struct is read by other means.
TABLES = {
    "steps": np.dtype(
        [
            ("nfe", "<u4"),
            *((name, "<u2") for name in ("touched", "committed", "tokens", "drafter_passes")),
            *((name, "<u4") for name in ("forward", "verify", "cache", "draft")),
            ("zero", "<u2"),
        ]
    ),
    "cells": np.dtype(
        [
            ("draft", "<u2"),
            ("token", "<u2"),
            ("status", "u1"),
            ("kind", "u1"),
            ("shares", "<u2", 7),
            ("zero", "u1"),
        ]
    ),
    "laws": np.dtype([("count", "u1"), ("entries", "<u2", (8, 2))]),
    "kin": np.dtype(
        [("count", "<u2"), ("p", "<u2"), ("q", "<u2"), ("tokens", "<u2", 8), ("zero", "<u2")]
    ),
    "siblings": np.dtype([("token", "<u2"), ("shares", "<u2", 4), ("zero", "<u2")]),
}
SIZES = {"steps": 30, "cells": 21, "laws": 33, "kin": 24, "siblings": 12}


def share(value: float | None) -> int:
    return 65535 if value is None else int(np.rint(65534 * np.clip(value, 0, 1)))


def shares(*values: float | None) -> list[int]:
    return [share(value) for value in values]


def law(entries: Law) -> list[list[int]]:
    return [[token, share(probability)] for token, probability in entries]


def read(texts: dict[str, str]) -> list[dict[str, Any]]:
    """The columns as steps, each cell's q followed to where its kind says it is."""
    tables = {
        name: iter(np.frombuffer(base64.b64decode(texts[name]), kind))
        for name, kind in TABLES.items()
    }
    steps, n, latest = [], 0, {}

    def next_law() -> list[list[int]]:
        entry = next(tables["laws"])
        assert not entry["entries"][entry["count"] :].any()
        return entry["entries"][: entry["count"]].tolist()

    for head in tables["steps"]:
        assert head["zero"] == 0
        cells = []
        for cell in range(n, n + int(head["touched"])):
            row = next(tables["cells"])
            assert row["zero"] == 0
            source = Source(int(row["kind"]) & 3)
            top = next_law()
            q = {
                Source.NONE: lambda: [],
                Source.CERTAIN: lambda row=row: [[int(row["draft"]), 65534]],
                Source.BEFORE: lambda cell=cell: latest[cell],
                Source.OWN: next_law,
            }[source]()
            latest[cell] = top
            kin = next(tables["kin"]) if row["kind"] & 4 else None
            tried = [next(tables["siblings"]) for _ in range(row["kind"] >> 4)]
            cells.append(
                {
                    "cell": cell,
                    "draft": int(row["draft"]),
                    "token": int(row["token"]),
                    "status": int(row["status"]),
                    "source": source,
                    "shares": row["shares"].tolist(),
                    "top": top,
                    "top_draft": q,
                    "kin": kin
                    and [int(kin["count"]), int(kin["p"]), int(kin["q"]), *kin["tokens"].tolist()],
                    "siblings": [[int(s["token"]), *s["shares"].tolist()] for s in tried],
                }
            )
        n += int(head["committed"])
        steps.append(
            {name: int(head[name]) for name in TABLES["steps"].names[:-1]} | {"cells": cells}
        )
    assert [next(table, None) for table in tables.values()] == [None] * 5, "nothing is left over"
    return steps


def expected(step: Step, cells: list[int]) -> dict[str, Any]:
    """What `read` should find of a step, but for the sources."""
    touched = [p for p in step.positions if cells[p.position] >= 0]
    s = step.seconds
    return {
        "nfe": step.nfe,
        "touched": len(touched),
        "committed": sum(p.position < step.after for p in touched),
        "tokens": step.after - step.before,
        "drafter_passes": step.drafter_passes,
        **{name: round(1e6 * getattr(s, name)) for name in ("forward", "verify", "cache", "draft")},
        "cells": [
            {
                "cell": cells[p.position],
                "draft": 65535 if p.draft is None else p.draft,
                "token": p.token,
                "status": int(p.status),
                "top": law(p.top),
                "top_draft": law(p.top_draft),
                "shares": shares(p.top1, p.top1_draft, p.tv, p.acceptance, p.uniform, p.p, p.q),
                "kin": p.kin
                and [p.kin.count, *shares(p.kin.p, p.kin.q), *([*p.kin.tokens] + [65535] * 8)[:8]],
                "siblings": [
                    [s.token, *shares(s.p, s.q, s.acceptance, s.uniform)] for s in p.siblings
                ],
            }
            for p in touched
        ],
    }


def without_sources(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        s | {"cells": [{k: v for k, v in cell.items() if k != "source"} for cell in s["cells"]]}
        for s in steps
    ]


def columns(steps: list[Step], cells: list[int]) -> Columns:
    made = Columns(cells)
    for step in steps:
        made.add(step)
    return made


@pytest.mark.parametrize("forced", [False, True])
def test_every_decoders_records_are_read_back(forced) -> None:
    names = list(DECODERS)
    header, frames = run(names, side=5, forced=forced)
    free = itertools.count()
    cells = [next(free) if token < 0 else -1 for token in header.forced_ids]
    sources = {}
    for i, name in enumerate(names):
        steps = [f.step for f in frames if f.lane == i and f.step]
        found = read(columns(steps, cells).texts())
        assert without_sources(found) == [expected(step, cells) for step in steps]
        assert sum(step["committed"] for step in found) == 25
        sources[name] = {cell["source"] for step in found for cell in step["cells"]}
        assert all(cell["top"] for step in found for cell in step["cells"]), (
            "decoders record the likeliest tokens of p"
        )
    assert sources["ar"] == {Source.NONE}
    assert {Source.CERTAIN, Source.BEFORE} <= sources["sjd"] & sources["gsd"]
    assert Source.OWN not in sources["sjd"]
    assert Source.OWN in sources["lantern"]
    assert {Source.BEFORE, Source.OWN} <= sources["sjd-pac"]


def test_a_longer_column_begins_with_the_shorter_one() -> None:
    _, frames = run(list(DECODERS), side=5)
    for i in range(len(DECODERS)):
        made = Columns(range(25))
        texts = made.texts()
        for step in (f.step for f in frames if f.lane == i and f.step):
            made.add(step)
            longer = made.texts()
            for name, size in SIZES.items():
                assert TABLES[name].itemsize == size
                assert longer[name].startswith(texts[name])
                assert len(base64.b64decode(longer[name])) % size == 0
            texts = longer


def one(**fields: Any) -> Position:
    return Position(
        **{"position": 0, "draft": 5, "token": 5, "status": Status.REFINED, "top1": 0.5} | fields
    )


def test_q_is_taken_from_before_only_if_it_is_the_same_to_the_last_bit() -> None:
    top = ((7, 0.5), (5, 0.25))

    def second(q: Law, top1_draft: float) -> Source:
        steps = [
            Step(1, 0, 1, (one(), one(position=1, top=top)), Seconds()),
            Step(2, 1, 2, (one(position=1, top_draft=q, top1_draft=top1_draft),), Seconds()),
        ]
        return read(columns(steps, [0, 1]).texts())[1]["cells"][0]["source"]

    assert second(top, 0.5) is Source.BEFORE
    assert second(top, np.nextafter(0.5, 1).item()) is Source.OWN
    assert second(((7, 0.5), (5, np.nextafter(0.25, 1).item())), 0.5) is Source.OWN
    assert second(((7, 0.5), (6, 0.25)), 0.5) is Source.OWN
    assert second(((5, 1.0),), 1.0) is Source.CERTAIN
    assert second(((4, 1.0),), 1.0) is Source.OWN, "certain means the draft, and nothing else"
    assert second(((5, 0.5),), 0.5) is Source.OWN
    assert second((), 0.5) is Source.NONE


def test_the_p_of_another_cell_is_not_taken_for_this_ones() -> None:
    top = ((7, 0.5), (5, 0.25))
    steps = [
        Step(1, 0, 1, (one(), one(position=1, top=top)), Seconds()),
        Step(2, 1, 2, (one(position=1), one(position=2, top_draft=top, top1_draft=0.5)), Seconds()),
    ]
    assert read(columns(steps, [0, 1, 2]).texts())[1]["cells"][1]["source"] is Source.OWN


UNIT = st.floats(-0.001, 1.001)
TOKEN = st.integers(0, 65534)
LAW = st.lists(st.tuples(TOKEN, UNIT), max_size=8).map(tuple)
KIN = st.builds(
    Kin,
    count=st.integers(8, 65535),
    tokens=st.lists(TOKEN, min_size=1, max_size=8).map(tuple),
    p=UNIT,
    q=UNIT,
)
SIBLINGS = st.lists(st.builds(Sibling, TOKEN, UNIT, UNIT, UNIT, UNIT), max_size=15).map(tuple)
PLACE = st.fixed_dictionaries(
    {
        "draft": st.none() | TOKEN,
        "token": TOKEN,
        "status": st.sampled_from(Status),
        "top1": UNIT,
        **dict.fromkeys(("top1_draft", "tv", "acceptance", "p", "q", "uniform"), st.none() | UNIT),
        "top": LAW,
        "top_draft": LAW,
        "kin": st.none() | KIN,
        "siblings": SIBLINGS,
    }
)
STEP = st.tuples(
    st.integers(1, 4),
    st.lists(PLACE, min_size=4, max_size=8),
    st.integers(0, 65535),
    st.lists(st.floats(0, 4294), min_size=4, max_size=4),
)


@given(st.lists(STEP, max_size=4), st.sets(st.integers(0, 24)))
def test_whatever_a_record_holds_is_read_back(drawn, forced) -> None:
    free = itertools.count()
    cells = [-1 if at in forced else next(free) for at in range(25)]
    steps, frontier = [], 0
    for i, (count, places, drafter, seconds) in enumerate(drawn):
        positions = tuple(
            Position(position=frontier + j, **place) for j, place in enumerate(places)
        )
        steps.append(Step(i + 1, frontier, frontier + count, positions, Seconds(*seconds), drafter))
        frontier += count
    assert without_sources(read(columns(steps, cells).texts())) == [
        expected(step, cells) for step in steps
    ]
