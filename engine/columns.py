"""Columns: a lane's steps as flat arrays, each compressed, and back from arrays that anyone may
have written.

A column holds one entry a step, one a touched position, or one a kin, sibling, law entry or
refusal, all after one another.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from engine.records import TOP, Kin, Law, Position, Refusal, Seconds, Sibling, Status, Step

MAX_UNPACKED = 64 * 2**20  # bytes of one lane's columns together

_STEP = {
    "nfe": "<i4",
    "before": "<i4",
    "after": "<i4",
    "touched": "<i4",
    "drafter_passes": "<i4",
    "refused": "<u1",
    "forward": "<f8",
    "verify": "<f8",
    "cache": "<f8",
    "draft_seconds": "<f8",
}
_POSITION = {
    "position": "<i4",
    "draft": "<i4",
    "token": "<i4",
    "status": "<u1",
    "top1": "<f4",
    "top1_draft": "<f4",
    "tv": "<f4",
    "acceptance": "<f4",
    "p": "<f4",
    "q": "<f4",
    "uniform": "<f4",
    "top_size": "<u1",
    "top_draft_size": "<u1",
    "kin_size": "<u1",
    "siblings": "<u1",
}
_SHARES = ("top1", "top1_draft", "tv", "acceptance", "p", "q", "uniform")
_LAW = {"law_token": "<u2", "law_share": "<f4"}  # a position's top, then its top_draft
_KIN = {"kin_count": "<i4", "kin_p": "<f4", "kin_q": "<f4"}
_KIN_TOKEN = {"kin_token": "<u2"}
_SIBLING = {
    "sibling_token": "<u2",
    "sibling_p": "<f4",
    "sibling_q": "<f4",
    "sibling_acceptance": "<f4",
    "sibling_uniform": "<f4",
}
_REFUSAL = {
    "refusal_position": "<i4",
    "refusal_draft": "<i4",
    "refusal_uniform": "<f4",
    "refusal_size": "<i4",
}
_SUPPORT = {"refusal_token": "<u2", "refusal_p": "<f4", "refusal_q": "<f4"}
_TABLES = (_STEP, _POSITION, _LAW, _KIN, _KIN_TOKEN, _SIBLING, _REFUSAL, _SUPPORT)


class ColumnError(ValueError):
    """Columns that no race can have left; the message says what is wrong with them."""


def pack(array: bytes) -> str:
    """Bytes as base64 of a zlib stream."""
    return base64.b64encode(zlib.compress(array, 9)).decode()


def unpack(text: Any, room: int = MAX_UNPACKED) -> bytes:
    """What `pack` was given. Raises ColumnError; unpacks no more than `room` bytes, whatever the
    text says."""
    if not isinstance(text, str):
        raise ColumnError("a column is not text")
    try:
        stream = zlib.decompressobj()
        raw = stream.decompress(base64.b64decode(text, validate=True), room + 1)
    except (ValueError, zlib.error) as error:
        raise ColumnError("a column is not readable") from error
    if len(raw) > room:
        raise ColumnError("it holds more than a race can leave")
    if not stream.eof:
        raise ColumnError("a column is cut off")
    return raw


def columns(steps: Sequence[Step]) -> dict[str, str]:
    """A lane's steps, packed."""
    touched = [p for step in steps for p in step.positions]
    laws = [entry for p in touched for law in (p.top, p.top_draft) for entry in law]
    kin = [p.kin for p in touched if p.kin]
    siblings = [s for p in touched for s in p.siblings]
    refusals = [s.refusal for s in steps if s.refusal]
    values: dict[str, list[Any]] = {
        "nfe": [s.nfe for s in steps],
        "before": [s.before for s in steps],
        "after": [s.after for s in steps],
        "touched": [len(s.positions) for s in steps],
        "drafter_passes": [s.drafter_passes for s in steps],
        "refused": [s.refusal is not None for s in steps],
        "forward": [s.seconds.forward for s in steps],
        "verify": [s.seconds.verify for s in steps],
        "cache": [s.seconds.cache for s in steps],
        "draft_seconds": [s.seconds.draft for s in steps],
        "draft": [-1 if p.draft is None else p.draft for p in touched],
        **{name: [getattr(p, name) for p in touched] for name in ("position", "token", "status")},
        **{
            name: [np.nan if (v := getattr(p, name)) is None else v for p in touched]
            for name in _SHARES
        },
        "top_size": [len(p.top) for p in touched],
        "top_draft_size": [len(p.top_draft) for p in touched],
        "kin_size": [len(p.kin.tokens) if p.kin else 0 for p in touched],
        "siblings": [len(p.siblings) for p in touched],
        "law_token": [token for token, _ in laws],
        "law_share": [share for _, share in laws],
        "kin_count": [k.count for k in kin],
        "kin_p": [k.p for k in kin],
        "kin_q": [k.q for k in kin],
        "kin_token": [token for k in kin for token in k.tokens],
        **{
            f"sibling_{name}": [getattr(s, name) for s in siblings]
            for name in ("token", "p", "q", "acceptance", "uniform")
        },
        **{
            f"refusal_{name}": [getattr(r, name) for r in refusals]
            for name in ("position", "draft", "uniform")
        },
        "refusal_size": [len(r.tokens) // 2 for r in refusals],
    }
    laws_of_refusals = (
        zip(*((r.tokens, r.p, r.q) for r in refusals), strict=True) if refusals else ((), (), ())
    )
    ready = {name: b"".join(parts) for name, parts in zip(_SUPPORT, laws_of_refusals, strict=True)}
    kinds = {name: kind for table in _TABLES for name, kind in table.items()}
    return {
        name: pack(ready.get(name) or np.asarray(values.get(name, []), kind).tobytes())
        for name, kind in kinds.items()
    }


def steps(packed: dict[str, Any], length: int, codes: int, ids: int, most: int) -> list[Step]:
    """The steps of a lane, checked: `length` positions in all, `codes` in the vocabulary, token ids
    below `ids`, and at most `most` touched positions.

    Raises ColumnError, and ValueError where a record refuses what it is given.
    """
    tables, room = [], MAX_UNPACKED
    for kinds in _TABLES:
        tables.append(_table(packed, kinds, room))
        room -= sum(column.nbytes for column in tables[-1].values())
    step, position, law, kin, kin_token, sibling, refusal, support = tables
    if _size(position) > most:
        raise ColumnError("it holds more positions than a race can leave")
    _fit(step, position, length, ids)
    counts = [
        ("laws", law, position["top_size"].astype(int) + position["top_draft_size"]),
        ("kin", kin_token, position["kin_size"]),
        ("siblings", sibling, position["siblings"]),
        ("refusals", support, refusal["refusal_size"]),
    ]
    for name, table, sizes in counts:
        if sizes.astype(np.int64).sum() != _size(table) or (len(sizes) and sizes.min() < 0):
            raise ColumnError(f"its {name} do not add up")
    if (position["kin_size"] > 0).sum() != _size(kin) or step["refused"].astype(int).sum() != _size(
        refusal
    ):
        raise ColumnError("its kin or refusals do not add up")
    for table in (law, kin_token, sibling, support, {"refusal_draft": refusal["refusal_draft"]}):
        tokens = next(iter(table.values()))
        if len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < codes:
            raise ColumnError("a token lies outside the vocabulary")
    shares = [
        law["law_share"],
        kin["kin_p"],
        kin["kin_q"],
        support["refusal_p"],
        support["refusal_q"],
        refusal["refusal_uniform"],
        *(sibling[f"sibling_{name}"] for name in ("p", "q", "acceptance", "uniform")),
    ]
    if not all(np.isfinite(column).all() for column in shares):
        raise ColumnError("a probability is not a number")
    _within(np.concatenate([position[name] for name in _SHARES] + shares))
    places = _places(position, law, kin, kin_token, sibling)
    refusals = _refusals(refusal, support)
    return list(_steps(step, places, refusals))


def _table(packed: dict[str, Any], kinds: dict[str, str], room: int) -> dict[str, np.ndarray]:
    table = {}
    for name, kind in kinds.items():
        raw = unpack(packed[name], room // len(kinds))
        if len(raw) % np.dtype(kind).itemsize:
            raise ColumnError("a column breaks off in the middle of a number")
        table[name] = np.frombuffer(raw, kind)
    if len({len(column) for column in table.values()}) != 1:
        raise ColumnError("its columns differ in length")
    return table


def _size(table: dict[str, np.ndarray]) -> int:
    return len(next(iter(table.values())))


def _fit(
    step: dict[str, np.ndarray], position: dict[str, np.ndarray], length: int, ids: int
) -> None:
    if (step["touched"] < 1).any() or step["touched"].astype(np.int64).sum() != _size(position):
        raise ColumnError("its steps do not add up to its positions")
    inside = not _size(position) or (
        position["position"].max() < length
        and max(position["token"].max(), position["draft"].max()) < ids
    )
    if _size(step) > length or not inside:
        raise ColumnError("a position or a token lies outside the grid or the vocabulary")
    if not all(
        np.isfinite(step[name]).all() for name in ("forward", "verify", "cache", "draft_seconds")
    ):
        raise ColumnError("a time is not a number")
    if not np.isfinite(position["top1"]).all():
        raise ColumnError("a probability is not a number")
    if (
        (position["top_size"] > TOP).any()
        or (position["top_draft_size"] > TOP).any()
        or (position["kin_size"] > TOP).any()
    ):
        raise ColumnError(f"a position keeps more than {TOP} tokens")


def _within(shares: np.ndarray) -> None:
    if ((shares < -1e-3) | (shares > 1.001)).any():
        raise ColumnError("a probability lies outside 0 to 1")


def _places(
    position: dict[str, np.ndarray],
    law: dict[str, np.ndarray],
    kin: dict[str, np.ndarray],
    kin_token: dict[str, np.ndarray],
    sibling: dict[str, np.ndarray],
) -> Iterator[Position]:
    laws = zip(law["law_token"].tolist(), law["law_share"].tolist(), strict=True)
    kins = zip(*(column.tolist() for column in kin.values()), strict=True)
    tokens = iter(kin_token["kin_token"].tolist())
    tried = zip(*(column.tolist() for column in sibling.values()), strict=True)

    def take(count: int) -> Law:
        return tuple(islice(laws, count))

    for at, draft, token, status, *shares, top, top_draft, kin_size, siblings in zip(
        *(column.tolist() for column in position.values()), strict=True
    ):
        family = None
        if kin_size:
            count, p, q = next(kins)
            family = Kin(count, tuple(islice(tokens, kin_size)), p, q)
        yield Position(
            at,
            None if draft < 0 else draft,
            token,
            Status(status),
            shares[0],
            *(None if v != v else v for v in shares[1:]),
            top=take(top),
            top_draft=take(top_draft),
            kin=family,
            siblings=tuple(Sibling(*row) for row in islice(tried, siblings)),
        )


def _refusals(refusal: dict[str, np.ndarray], support: dict[str, np.ndarray]) -> Iterator[Refusal]:
    start = 0
    for at, draft, uniform, size in zip(
        *(column.tolist() for column in refusal.values()), strict=True
    ):
        yield Refusal(
            at,
            draft,
            uniform,
            *(column[start : start + size].tobytes() for column in support.values()),
        )
        start += size


def _steps(
    step: dict[str, np.ndarray], places: Iterator[Position], refusals: Iterator[Refusal]
) -> Iterator[Step]:
    frontier = 0
    for nfe, before, after, count, drafter, refused, forward, verify, cache, draft in zip(
        *(column.tolist() for column in step.values()), strict=True
    ):
        if before != frontier:
            raise ColumnError("a step does not begin where the one before it ended")
        seconds = Seconds(forward, verify, cache, draft)
        refusal = next(refusals) if refused else None
        yield Step(nfe, before, after, tuple(islice(places, count)), seconds, drafter, refusal)
        frontier = after
