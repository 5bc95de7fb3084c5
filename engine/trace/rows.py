"""The rows of the step table, as NumPy structured dtypes.

These dtypes are the one description of a row. `StepRecorder` fills the rows from one device copy,
the trace file packs them, the board sends them, and JavaScript reads them at the offsets that
`dtypes` exports. Each row's size is a multiple of 3 bytes, so that rows added to a table only add
to the end of its base64.

Lists of tokens are padded with NONE at their end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Literal, get_args

import numpy as np

from engine.trace.seconds import PARTS
from engine.trace.shares import NONE, ONE

TOP = 8  # tokens kept of a distribution
SUPPORT = 512  # tokens kept of a rejection's p and q

DTYPES = {
    # A row for each step. Times are in microseconds. `rows` counts the window's rows: all that the
    # target read after the prompt. `positions` counts the positions that the step touched.
    "steps": np.dtype(
        [
            ("nfe", "<u4"),
            ("rows", "<u2"),
            ("positions", "<u2"),
            ("committed", "<u2"),
            ("drafter_passes", "<u2"),
            *((part, "<u4") for part in PARTS),
            ("rejected", "u1"),  # 1: it has a row in `rejections`
            ("padding", "u1"),
        ]
    ),
    # A row for each touched position: first the positions that the step committed, then the others,
    # each in sequence order. `draft` is the verified token, `p` and `q` its probabilities, and `tv`
    # is TV(p, q). `acceptance` is the probability with which the rule accepts this draft; `uniform`
    # is the number drawn for the test, which accepts if it is smaller. If a test decided the
    # committed token, `shift` is TV(p', p), where p' is that token's distribution; otherwise it is
    # NONE. `top` has the likeliest tokens of p, `top_shares` their probabilities. In `refs`, bits
    # 0-1 are a Source, bit 2 says that `groups` has a row for this position, and bits 4-7 count its
    # rows in `candidates`.
    "positions": np.dtype(
        [
            ("draft", "<u2"),
            ("token", "<u4"),  # a code, or the id that the model's layout forces
            ("status", "u1"),
            ("refs", "u1"),
            ("top1", "<u2"),
            ("top1_draft", "<u2"),
            ("tv", "<u2"),
            ("acceptance", "<u2"),
            ("uniform", "<u2"),
            ("p", "<u2"),
            ("q", "<u2"),
            ("shift", "<u2"),
            ("top", "<u2", (TOP,)),
            ("top_shares", "<u2", (TOP,)),
            ("padding", "u1"),
        ]
    ),
    # A row for each position whose source is OWN: the likeliest tokens of its q.
    "distributions": np.dtype(
        [("top", "<u2", (TOP,)), ("top_shares", "<u2", (TOP,)), ("padding", "u1")]
    ),
    # GSD's group C, or LANTERN's neighbourhood A with the draft. `count` is its number of tokens,
    # and `neighbours` are those nearest to the draft. The ratio of the masses `p` and `q` is the
    # acceptance probability. In GSD they are the group's masses under p and q. In LANTERN `p` is
    # the mass of A with the draft under p, and `q` that of the draft alone under q. Under typical
    # acceptance (Relaxed SJD) the group is the draft alone: `p` is the draft's probability, `q` the
    # threshold.
    "groups": np.dtype(
        [("count", "<u2"), ("p", "<f4"), ("q", "<f4"), ("neighbours", "<u2", (TOP - 1,))]
    ),
    # The candidates of SJD-PAC's or LANTERN's tree for a position, in the order tried. `p` is a
    # candidate's probability in what earlier rejections left of the target's distribution; in
    # LANTERN `p` includes the neighbourhood's probability. `q` is the candidate's probability in
    # the distribution that the candidate was drawn from.
    "candidates": np.dtype(
        [
            ("token", "<u2"),
            *((name, "<u2") for name in ("p", "q", "acceptance", "uniform")),
            ("padding", "u1", (2,)),
        ]
    ),
    # p and q at the position where a draft was rejected and replaced (a step's last committed
    # one). They cover the tokens with the largest p + q, in ascending order of the tokens. Other
    # rules can then verify the draft again without a forward pass.
    "rejections": np.dtype(
        [
            ("uniform", "<f4"),
            ("tokens", "<u2", (SUPPORT,)),
            ("p", "<f4", (SUPPORT,)),
            ("q", "<f4", (SUPPORT,)),
        ]
    ),
    # A row for each sequence position, in the last step of a lane that verifies nothing, or whose
    # rows see only part of the prefix. `shift` is the TV between the distribution that the token
    # was sampled from and the model's p given all tokens before it. It is NONE if the layout forces
    # the token.
    "prices": np.dtype([("shift", "<u2"), ("padding", "u1")]),
    # A row for each row of `positions`: its sequence position. Only a lane that draws several rows
    # of the picture at once has them. In other lanes a step's positions follow one another, from
    # the frontier on.
    "places": np.dtype([("position", "<u2"), ("padding", "u1")]),
}
# The tables that are sent to the page.
SENT = ("steps", "positions", "distributions", "groups", "candidates", "prices", "places")
# The fields of `positions` that are shares.
ShareName = Literal["top1", "top1_draft", "tv", "acceptance", "uniform", "p", "q", "shift"]
SHARES: tuple[ShareName, ...] = get_args(ShareName)


class Status(IntEnum):
    """A step's effect on a position."""

    ACCEPTED = 0  # the draft passed and is committed
    RESAMPLED = 1  # the draft was rejected; a token drawn in its place is committed
    FRESH = 2  # committed without a draft: vanilla AR's token, or the bonus after full acceptance
    FORCED = 3  # fixed by the model's layout (an end of line); never sampled
    REFINED = 4  # not committed: the draft was kept or redrawn from the newer distribution
    # not committed: the draft was tested and rejected, and another put in its place
    REJECTED = 5
    DROPPED = 6  # not committed: after a rejection, never tested; the next step drafts anew


class Source(IntEnum):
    """Where the likeliest tokens of a draft's q are stored."""

    NONE = 0  # nowhere: nothing was drafted
    CERTAIN = 1  # all of q lies on the draft
    BEFORE = 2  # q is the p that this position had in the latest step that touched it
    OWN = 3  # in `distributions`


NumberType = Literal["Uint8", "Uint16", "Uint32", "Float32"]  # as a DataView names them
_NUMBER_TYPES: dict[str, NumberType] = {
    "|u1": "Uint8",
    "<u2": "Uint16",
    "<u4": "Uint32",
    "<f4": "Float32",
}


@dataclass(frozen=True, slots=True)
class Dtype:
    """The layout of a table's rows in bytes: each field's type, offset and count of numbers."""

    size: int
    fields: dict[str, tuple[NumberType, int, int]]


@dataclass(frozen=True, slots=True)
class Dtypes:
    """The numbers and layouts with which JavaScript reads the tables of SENT.

    A share is a u16 that stands for a number from 0 to 1. `one` is the u16 for 1, and `none` the
    u16 for a missing share or token. `shares` are the fields of `positions` that hold a share.
    `tables` has the layout of each table's rows.
    """

    none: int
    one: int
    shares: tuple[ShareName, ...]
    tables: dict[str, Dtype]


@cache
def dtypes() -> Dtypes:
    """Return the layouts of the tables in SENT."""
    tables = {}
    for table in SENT:
        dtype = DTYPES[table]
        fields = {
            name: (_NUMBER_TYPES[kind.base.str], offset, kind.itemsize // kind.base.itemsize)
            for name, (kind, offset, *_) in (dtype.fields or {}).items()
        }
        tables[table] = Dtype(dtype.itemsize, fields)
    return Dtypes(NONE, ONE, SHARES, tables)
