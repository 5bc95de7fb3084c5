"""The rows of the step table, as NumPy structured dtypes.

These dtypes are the one description of a row. `StepRecorder` fills the rows from one device copy,
the trace file packs them, the board sends them, and JavaScript reads them at the offsets that
`dtypes` exports. Each size is a multiple of 3 bytes, so that the base64 of a longer table begins
with that of a shorter one.

Lists of tokens end with NONE.
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
SUPPORT = 512  # tokens kept of the two distributions behind a rejection

DTYPES = {
    # One of each step. Times are in microseconds; `rows` are those of the window, all that the
    # target read behind the prompt, `positions` how many it touched.
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
    # One of each touched position, those that the step committed first, in sequence order. `draft`
    # is what was
    # verified; `p` and `q` its probabilities, `tv` is TV(p, q), `acceptance` the probability with
    # which the rule accepts this draft, `uniform` the number drawn against it (accepted if
    # smaller). `shift` is TV(p', p) where the step committed what came of a test, p' being the
    # distribution of that; NONE elsewhere. `top` are the likeliest tokens of p, `top_shares` their
    # probabilities. Of `refs`, bits 0-1 are a Source, bit 2 says that `groups` has a row of this
    # position, bits 4-7 how many `candidates` has.
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
    # The likeliest tokens of q, of each position whose source is OWN.
    "distributions": np.dtype(
        [("top", "<u2", (TOP,)), ("top_shares", "<u2", (TOP,)), ("padding", "u1")]
    ),
    # GSD's group C, or LANTERN's neighbourhood A with the draft: how many tokens, those nearest to
    # the draft, and the two masses whose ratio is the acceptance probability (of the group under
    # p and q; of A with the draft under p, and of the draft alone under q). Of typical acceptance
    # (Relaxed SJD) the draft alone: `p` is its probability, `q` the threshold.
    "groups": np.dtype(
        [("count", "<u2"), ("p", "<f4"), ("q", "<f4"), ("neighbours", "<u2", (TOP - 1,))]
    ),
    # Candidates of SJD-PAC's or LANTERN's tree for a position in the order tried: `p` is the
    # probability in what earlier rejections left of the target's distribution (in LANTERN with the
    # neighbourhood's), `q` that in the distribution it was drawn from.
    "candidates": np.dtype(
        [
            ("token", "<u2"),
            *((name, "<u2") for name in ("p", "q", "acceptance", "uniform")),
            ("padding", "u1", (2,)),
        ]
    ),
    # p and q where a draft was rejected and replaced (a step's last committed position), on the
    # tokens with the largest p + q, ascending: other rules can then verify the draft again without
    # a forward pass.
    "rejections": np.dtype(
        [
            ("uniform", "<f4"),
            ("tokens", "<u2", (SUPPORT,)),
            ("p", "<f4", (SUPPORT,)),
            ("q", "<f4", (SUPPORT,)),
        ]
    ),
    # One of every sequence position, in the last step of a lane that verifies nothing, or whose
    # rows do not see all that is before them: TV between what its token was sampled from and the
    # model's p given all tokens before it; NONE where the layout forces it.
    "prices": np.dtype([("shift", "<u2"), ("padding", "u1")]),
    # One of each row of `positions`, of a lane whose rows of the picture advance each at its own
    # pace: the sequence position that it is about. Of other lanes none: there they follow one
    # another from the frontier on.
    "places": np.dtype([("position", "<u2"), ("padding", "u1")]),
}
# Those that are sent to the page.
SENT = ("steps", "positions", "distributions", "groups", "candidates", "prices", "places")
# Of a position.
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
    DROPPED = 6  # not committed: behind a rejection, never tested; the next step drafts anew


class Source(IntEnum):
    """Where the likeliest tokens of q are."""

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
    """Sizes and offsets of the rows that are sent, for JavaScript.

    `none` stands for no token and no share, `one` for a share of 1. `shares` are the fields that
    hold a share.
    """

    none: int
    one: int
    shares: tuple[ShareName, ...]
    tables: dict[str, Dtype]


@cache
def dtypes() -> Dtypes:
    """Return the layouts of the tables above."""
    tables = {}
    for table in SENT:
        dtype = DTYPES[table]
        fields = {
            name: (_NUMBER_TYPES[kind.base.str], offset, kind.itemsize // kind.base.itemsize)
            for name, (kind, offset, *_) in (dtype.fields or {}).items()
        }
        tables[table] = Dtype(dtype.itemsize, fields)
    return Dtypes(NONE, ONE, SHARES, tables)
