"""Packing: a lane's step table as compressed texts, and back.

The texts may come from anyone. docs/trace-format.md describes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.trace import rejections, residuals
from engine.trace.checks import check_details, check_positions, check_refs, check_step_rows
from engine.trace.rejections import HEAD, LISTED, Rounded
from engine.trace.rows import DTYPES, SUPPORT
from engine.trace.steps import StepTable
from engine.trace.streams import MAX_UNPACKED, PackingError, pack, unpack, unpack_zlib

# The tables of a file, which stores rejections in two tables.
STORED = DTYPES | {"rejections": HEAD, "listed": LISTED}
_TOGETHER = "top"  # a field stored row by row, because it often repeats the row before


@dataclass(frozen=True, slots=True)
class Room:
    """The most that a file's unread lanes may hold together.

    `steps` and `positions` limit the rows of the tables with these names. `bytes` limits the memory
    that the rows of all tables take once they are unpacked.
    """

    steps: int
    positions: int
    bytes: int

    def beside(self, table: StepTable) -> Room:
        """Return the room that `table` leaves for the other lanes."""
        byte_count = sum(rows.nbytes for rows in table.arrays().values())
        positions = self.positions - len(table.positions)
        return Room(self.steps - len(table), positions, self.bytes - byte_count)


def pack_table(table: StepTable) -> dict[str, str]:
    """Return a lane's step table as compressed texts, by the tables' names in STORED."""
    stored = rejections.rounded(table)
    rows = table.arrays() | {"rejections": stored.heads, "listed": stored.listed}
    rows["positions"] = residuals.residuals(table)[table.in_sequence]
    if not len(table.places):
        del rows["places"]
    return {name: pack(_bytes(rows[name])) for name in STORED if name in rows}


def unpack_table(packed: dict[str, Any], cells: np.ndarray, codes: int, room: Room) -> StepTable:
    """Return a lane's step table from its texts, and check it.

    `cells` are as in the trace's header; `codes` is the size of the vocabulary. Raises PackingError
    if a check fails, or if the table holds more than there is `room` for. If a text is missing or
    is no text, KeyError or TypeError is raised.
    """
    most = min(MAX_UNPACKED, room.bytes)
    rows = _unpacked(packed, STORED, unpack, _rows, most)
    stored = Rounded(rows.pop("rejections"), rows.pop("listed"))
    _check_size(rows, room)
    _check_heads(stored, most - sum(table.nbytes for table in rows.values()))
    table = StepTable(0, **rows, rejections=np.zeros(0, DTYPES["rejections"]))
    check_step_rows(table, len(cells), len(stored.heads))
    positions = np.empty_like(table.positions)
    positions[table.in_sequence] = table.positions
    table = replace(table, positions=positions)
    check_refs(table)
    table = replace(table, positions=residuals.positions_of(table))
    check_positions(table, cells, codes)
    table = replace(table, rejections=rejections.restored(stored, table))
    check_details(table, codes)
    if rejections.rounded(table) != stored:
        raise PackingError("a rejection is not as it would be stored")
    return table


def unpack_table_4(packed: dict[str, Any], cells: np.ndarray, codes: int, room: Room) -> StepTable:
    """Return a lane's step table from a file of version 4.

    In that version the texts are zlib streams that hold the rows of DTYPES, transposed but
    otherwise unchanged. Arguments and errors are those of `unpack_table`.
    """
    most = min(MAX_UNPACKED, room.bytes)
    rows = _unpacked(packed, DTYPES, unpack_zlib, _transposed, most)
    _check_size(rows, room)
    table = StepTable(0, **rows)
    check_step_rows(table, len(cells), len(table.rejections))
    check_refs(table)
    check_positions(table, cells, codes)
    check_details(table, codes)
    return table


def _unpacked(
    packed: dict[str, Any],
    dtypes: dict[str, np.dtype],
    stream: Callable[[Any, int], bytes],
    read: Callable[[np.ndarray, np.dtype], np.ndarray],
    room: int,
) -> dict[str, np.ndarray]:
    """Return the rows of each table, by the table's name.

    `stream` decompresses a table's text, and `read` makes N rows of `width` bytes from the result
    [width, N]. All tables together may take `room` bytes.
    """
    rows = {}
    for name, dtype in dtypes.items():
        # The oldest traces have no prices, and few lanes have places.
        optional = name in ("prices", "places") and name not in packed
        raw = b"" if optional else stream(packed[name], room)
        if len(raw) % dtype.itemsize:
            raise PackingError("a table breaks off in the middle of a row")
        room -= len(raw)
        rows[name] = read(np.frombuffer(raw, "u1").reshape(dtype.itemsize, -1), dtype)
    return rows


def _check_size(rows: dict[str, np.ndarray], room: Room) -> None:
    for name, most in (("positions", room.positions), ("steps", room.steps)):
        if len(rows[name]) > most:
            raise PackingError(f"it holds more {name} than a race can leave")


def _check_heads(stored: Rounded, room: int) -> None:
    """Check what `rejections.restored` requires of stored rejections.

    Each rejection has a row in `stored.heads`; the row's `count` is the number of its tokens in
    `stored.listed`. Raises PackingError if a count exceeds SUPPORT, or if the counts do not add up
    to the rows of `stored.listed`. Also raises it if p(x) or q(x) of a rejected draft x lies
    outside 0 to 1, or if the restored rows would take more than `room` bytes.
    """
    counts = stored.heads["count"]
    if len(counts) * DTYPES["rejections"].itemsize > room:
        raise PackingError("it holds more than a race can leave")
    if (counts > SUPPORT).any() or counts.sum(dtype=np.int64) != len(stored.listed):
        raise PackingError("its rejections do not add up")
    own = np.stack([stored.heads["p"], stored.heads["q"]])
    if not ((own >= 0) & (own <= 1.001)).all():
        raise PackingError("a probability lies outside 0 to 1")


def _bytes(rows: np.ndarray) -> bytes:
    """Return the first byte of every row, then the second byte of every row, and so on.

    The field _TOGETHER is the exception: its bytes follow row by row.
    """
    columns = rows.view("u1").reshape(len(rows), rows.itemsize).T.copy()
    together = _together(columns, rows.dtype)
    together[:] = together.T.reshape(together.shape)
    return columns.tobytes()


def _rows(columns: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the N rows whose bytes `_bytes` returned as `columns` [width, N]."""
    columns = columns.copy()
    together = _together(columns, dtype)
    together[:] = together.reshape(together.shape[::-1]).T
    return _transposed(columns, dtype)


def _together(columns: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a view of the bytes of the field _TOGETHER; empty if the rows have no such field."""
    if not dtype.fields or _TOGETHER not in dtype.fields:
        return columns[:0]
    kind, start, *_ = dtype.fields[_TOGETHER]
    return columns[start : start + kind.itemsize]


def _transposed(columns: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(columns.T).reshape(-1).view(dtype)
