"""Wire: a lane's steps as columns that only grow, as the page gets them, live and recorded alike.

Each column is the base64 of little-endian records of a fixed size. Every size is a multiple of 3
bytes, so the text of a longer column begins with the text of the shorter one: what travels of a
snapshot is its tails (gradio's own diff).

* `steps`, 30 bytes a step: nfe u32; touched, committed u16, in grid cells; tokens u16, the sequence
  positions committed, forced ones included; drafter_passes u16; forward, verify, cache, draft u32,
  in microseconds; 2 zero bytes.
* `cells`, 21 bytes a touched grid cell, step after step. A step's cells are contiguous, from the
  number of cells committed before it: draft u16 (NONE: none), token u16, status u8
  (engine.records.Status), kind u8; top1, top1_draft, tv, acceptance, uniform, p, q: shares; 1 zero
  byte. Of `kind`, bits 0-1 are a `Source`, bit 2 says that `kin` has a record of this cell, bits
  4-7 how many `siblings` has.
* `laws`, 33 bytes: count u8, then 8 times token u16 and its probability, a share; unused ones 0.
  One record for each cell, the likeliest tokens of p, directly followed by one of q where the
  cell's source is OWN.
* `kin`, 24 bytes: count u16; p, q: shares, the most they can be being 1; 8 tokens u16 (NONE: none);
  2 zero bytes.
* `siblings`, 12 bytes: token u16; p, q, acceptance, uniform: shares; 2 zero bytes.

A share is a u16: round(65534 x), for x from 0 to 1, or NONE. Forced positions (ends of line) belong
to the sequence, not to the picture, and are left out.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from enum import IntEnum
from struct import Struct

from engine.records import TOP, Kin, Law, Position, Sibling, Step

LIMIT, LONGEST = 2**16 - 1, 2**32 / 1e6  # the largest u16; a u32 of microseconds, in seconds
NONE, ONE = LIMIT, LIMIT - 1
STEP, CELL, LAW, KIN, SIBLING = (
    Struct("<I4H4I2x"),
    Struct("<2H2B7Hx"),
    Struct("<B16H"),
    Struct("<11H2x"),
    Struct("<5H2x"),
)
HAS_KIN, SIBLINGS_SHIFT, MAX_SIBLINGS = 4, 4, 15
EMPTY_LAW = LAW.pack(*[0] * 17)
NO_KIN = (NONE,) * TOP


class Source(IntEnum):
    """Where the likeliest tokens of q are to be found."""

    NONE = 0  # nowhere: nothing was drafted
    CERTAIN = 1  # all of q lies on the draft
    BEFORE = 2  # q is the p that this cell had in this lane's previous step that touched it
    OWN = 3  # in `laws`, directly behind those of p


class Columns:
    """One lane's columns. `cells` is the grid cell of each sequence position, -1 where one is
    forced."""

    def __init__(self, cells: Sequence[int]) -> None:
        self._cells = cells
        self._texts = dict.fromkeys(("steps", "cells", "laws", "kin", "siblings"), "")
        self._new: dict[str, list[bytes]] = {name: [] for name in self._texts}
        # of each position ahead of the frontier, its latest p
        self._before: dict[int, tuple[float, Law]] = {}

    def add(self, step: Step) -> None:
        touched = [p for p in step.positions if self._cells[p.position] >= 0]
        committed = sum(p.position < step.after for p in touched)
        self._new["steps"].append(_step(step, len(touched), committed))
        cells, laws = bytearray(), bytearray()
        for position in touched:
            source = self._source(position)
            cells += _cell(position, source)
            laws += _law(position.top)
            if source is Source.OWN:
                laws += _law(position.top_draft)
            if position.kin is not None:
                self._new["kin"].append(_kin(position.kin))
            self._new["siblings"].extend(map(_sibling, position.siblings))
        self._new["cells"].append(bytes(cells))
        self._new["laws"].append(bytes(laws))
        for position in touched[:committed]:
            self._before.pop(position.position, None)
        for position in touched[committed:]:
            self._before[position.position] = (position.top1, position.top)

    def texts(self) -> dict[str, str]:
        """The columns so far."""
        for name, pieces in self._new.items():
            if pieces:
                self._texts[name] += base64.b64encode(b"".join(pieces)).decode()
                pieces.clear()
        return dict(self._texts)

    def _source(self, position: Position) -> Source:
        """BEFORE is told from equal numbers, to the last bit: the top-1 probability and the
        likeliest tokens of this q and of the previous p. Equal laws have them equal; laws that
        differ elsewhere alone would be shown the same anyway."""
        if not position.top_draft:
            return Source.NONE
        if position.top_draft == ((position.draft, 1.0),):
            return Source.CERTAIN
        if (position.top1_draft, position.top_draft) == self._before.get(position.position):
            return Source.BEFORE
        return Source.OWN


def _share(value: float | None) -> int:
    return NONE if value is None else round(ONE * min(1.0, max(0.0, value)))


def _step(step: Step, touched: int, committed: int) -> bytes:
    tokens, seconds = step.after - step.before, step.seconds
    times = (
        round(1e6 * x) for x in (seconds.forward, seconds.verify, seconds.cache, seconds.draft)
    )
    return STEP.pack(step.nfe, touched, committed, tokens, step.drafter_passes, *times)


def _cell(position: Position, source: Source) -> bytes:
    kind = source | HAS_KIN * (position.kin is not None) | len(position.siblings) << SIBLINGS_SHIFT
    return CELL.pack(
        NONE if position.draft is None else position.draft,
        position.token,
        position.status,
        kind,
        _share(position.top1),
        _share(position.top1_draft),
        _share(position.tv),
        _share(position.acceptance),
        _share(position.uniform),
        _share(position.p),
        _share(position.q),
    )


def _law(law: Law) -> bytes:
    if not law:
        return EMPTY_LAW
    flat = [number for token, probability in law for number in (token, _share(probability))]
    return LAW.pack(len(law), *flat, *[0] * (2 * (TOP - len(law))))


def _kin(kin: Kin) -> bytes:
    return KIN.pack(kin.count, _share(kin.p), _share(kin.q), *(kin.tokens + NO_KIN)[:TOP])


def _sibling(sibling: Sibling) -> bytes:
    return SIBLING.pack(
        sibling.token,
        _share(sibling.p),
        _share(sibling.q),
        _share(sibling.acceptance),
        _share(sibling.uniform),
    )
