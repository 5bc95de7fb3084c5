"""Packing: a lane's step table as compressed text, and back from text that anyone may have written.

A table's bytes are transposed before they are compressed, all first bytes of its rows, then all
second ones: a third smaller.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from engine.trace.rows import DTYPES, Source, Status
from engine.trace.shares import NONE
from engine.trace.steps import StepTable

MAX_UNPACKED = 64 * 2**20  # bytes of one lane's tables together
MAX_TOKEN = 2**31 - 1  # a forced id
_TRIED = ("p", "q", "acceptance", "uniform")  # the shares of a candidate
_FLOATS = {"groups": ("p", "q"), "rejections": ("uniform", "p", "q")}


class PackingError(ValueError):
    """Rows that no race can have left; the message says what is wrong with them."""


def pack(data: bytes) -> str:
    """Bytes as base64 of a zlib stream."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


def unpack(text: Any, room: int = MAX_UNPACKED) -> bytes:
    """The bytes that `pack` took. Raises PackingError; unpacks no more than `room` bytes, whatever
    the text says."""
    if not isinstance(text, str):
        raise PackingError("a table is not text")
    try:
        stream = zlib.decompressobj()
        raw = stream.decompress(base64.b64decode(text, validate=True), room + 1)
    except (ValueError, zlib.error) as error:
        raise PackingError("a table is not readable") from error
    if len(raw) > room:
        raise PackingError("it holds more than a race can leave")
    if not stream.eof:
        raise PackingError("a table is cut off")
    return raw


def pack_rows(rows: np.ndarray) -> str:
    """Rows of one dtype as text."""
    return pack(rows.view("u1").reshape(len(rows), rows.itemsize).T.tobytes())


def unpack_rows(text: Any, dtype: np.dtype, room: int = MAX_UNPACKED) -> np.ndarray:
    """The rows that `pack_rows` took. Raises PackingError."""
    raw = unpack(text, room)
    if len(raw) % dtype.itemsize:
        raise PackingError("a table breaks off in the middle of a row")
    planes = np.frombuffer(raw, "u1").reshape(dtype.itemsize, -1)
    return np.ascontiguousarray(planes.T).reshape(-1).view(dtype)


_NOTHING = pack(b"")


def pack_table(table: StepTable) -> dict[str, str]:
    """A lane's step table, packed."""
    return {name: pack_rows(rows) for name, rows in table.arrays().items()}


def unpack_table(packed: dict[str, Any], cells: np.ndarray, codes: int, most: int) -> StepTable:
    """A lane's step table, checked: `cells` as in the trace's header, `codes` in the vocabulary,
    at most `most` touched positions. Raises PackingError."""
    room, arrays = MAX_UNPACKED, {}
    for name, dtype in DTYPES.items():
        # Traces from before there were prices have none.
        text = packed.get(name, _NOTHING) if name == "prices" else packed[name]
        arrays[name] = unpack_rows(text, dtype, room)
        room -= arrays[name].nbytes
    table = StepTable(0, **arrays)
    if len(table.positions) > most:
        raise PackingError("it holds more positions than a race can leave")
    _check_steps(table, len(cells))
    _check_positions(table, cells, codes)
    _check_details(table, codes)
    return table


def _check_steps(table: StepTable, length: int) -> None:
    steps = table.steps
    if (steps["positions"] < 1).any() or table.first[-1] != len(table.positions):
        raise PackingError("its steps do not add up to its positions")
    if (steps["committed"] < 1).any() or (steps["committed"] > steps["positions"]).any():
        raise PackingError("a step commits nothing, or more than it touched")
    if (np.diff(steps["nfe"].astype(np.int64), prepend=0) < 1).any():
        raise PackingError("its forward passes do not count up")
    if (table.frontier[:-1] + steps["positions"] > length).any():
        raise PackingError("a position lies outside the grid")
    if (steps["rejected"] > 1).any() or steps["rejected"].sum() != len(table.rejections):
        raise PackingError("its rejections do not add up")
    if len(table.prices) and not len(table.prices) == length == table.frontier[-1]:
        raise PackingError("its prices do not add up")


def _check_positions(table: StepTable, cells: np.ndarray, codes: int) -> None:
    rows = table.positions
    forced = cells[table.position] < 0
    if (rows["token"] >= np.where(forced, MAX_TOKEN, codes)).any():
        raise PackingError("a token lies outside the vocabulary")
    drafted = rows["draft"] != NONE
    if (rows["draft"][drafted] >= codes).any():
        raise PackingError("a draft lies outside the vocabulary")
    if (rows["status"] > max(Status)).any():
        raise PackingError("a position has no status that there is")
    if (rows["top1"] == NONE).any():
        raise PackingError("a probability is not a number")
    if (rows["refs"] & 8).any():
        raise PackingError("a position refers to what there is not")
    _check_top(rows, codes)
    earlier = np.ones(len(rows), bool)
    earlier[np.unique(table.position, return_index=True)[1]] = False
    possible = {Source.CERTAIN: drafted, Source.BEFORE: earlier}
    if any((~where[table.source == source]).any() for source, where in possible.items()):
        raise PackingError("a draft's distribution is not where its position says")


def _check_details(table: StepTable, codes: int) -> None:
    counts = {
        "distributions": table.source == Source.OWN,
        "groups": table.has_group,
        "candidates": table.candidate_counts,
    }
    arrays = table.arrays()
    for name, count in counts.items():
        if count.sum(dtype=np.int64) != len(arrays[name]):
            raise PackingError(f"its {name} do not add up")
    _check_top(table.distributions, codes)
    _check_tokens(table.groups["neighbours"], codes)
    _check_tokens(table.rejections["tokens"], codes)
    count = table.groups["count"]
    listed = (table.groups["neighbours"] != NONE).sum(-1)
    if (count < 1 + listed).any() or (count > codes).any():
        raise PackingError("a group has more tokens than there can be")
    if (table.candidates["token"] >= codes).any():
        raise PackingError("a candidate lies outside the vocabulary")
    if any((table.candidates[name] == NONE).any() for name in _TRIED):
        raise PackingError("a probability is not a number")
    rejecting = table.first[:-1] + table.steps["committed"] - 1
    if (table.positions["draft"][rejecting[table.steps["rejected"] > 0]] == NONE).any():
        raise PackingError("a rejection has no draft in the vocabulary")
    for name, fields in _FLOATS.items():
        for values in (arrays[name][field] for field in fields):
            if not np.isfinite(values).all():
                raise PackingError("a probability is not a number")
            if ((values < -1e-3) | (values > 1.001)).any():
                raise PackingError("a probability lies outside 0 to 1")


def _check_top(rows: np.ndarray, codes: int) -> None:
    _check_tokens(rows["top"], codes)
    if (rows["top_shares"] == NONE).any():
        raise PackingError("a probability is not a number")


def _check_tokens(tokens: np.ndarray, codes: int) -> None:
    """Lists of tokens that end with NONE."""
    known = tokens != NONE
    if (tokens[known] >= codes).any():
        raise PackingError("a token lies outside the vocabulary")
    if (known[:, 1:] & ~known[:, :-1]).any():
        raise PackingError("a list of tokens has a gap")
