"""The step table: what every step of a decoder did, as NumPy structured rows.

These dtypes are the one description of a row. `StepRecorder` fills the rows from one device copy,
the trace file stores their bytes, the board sends them, and JavaScript reads them at the offsets
that `layout` exports. Each size is a multiple of 3 bytes: base64 of a longer table then begins with
that of a shorter one.

Lists of tokens end with NONE.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property
from typing import Any, Literal, get_args

import numpy as np

from engine.trace.seconds import PARTS, Seconds
from engine.trace.shares import NONE, ONE

TOP = 8  # tokens kept of a distribution
SUPPORT = 512  # tokens kept of the two distributions behind a rejection
_HAS_GROUP, _CANDIDATES_SHIFT = 4, 4

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
    # One of each touched position, in sequence order from the frontier on. `draft` is what was
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
    # p and q; of A with the draft under p, and of the draft alone under q).
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
    # One of every sequence position, in the last step of a lane that verifies nothing: TV between
    # what its token was sampled from and the model's p given all tokens before it; NONE where the
    # layout forces it.
    "prices": np.dtype([("shift", "<u2"), ("padding", "u1")]),
}
SENT = ("steps", "positions", "distributions", "groups", "candidates", "prices")  # to the page
# Of a position.
ShareName = Literal["top1", "top1_draft", "tv", "acceptance", "uniform", "p", "q", "shift"]
SHARES: tuple[ShareName, ...] = get_args(ShareName)


class Status(IntEnum):
    """What a step did to a position."""

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
    """The layout of a table's rows, in bytes: of each field its type, its offset and how many
    numbers it holds."""

    size: int
    fields: dict[str, tuple[NumberType, int, int]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes and offsets of the rows that are sent, for JavaScript. `none` stands for no token and
    no share, `one` for a share of 1; `shares` are the fields that hold one."""

    none: int
    one: int
    shares: tuple[ShareName, ...]
    tables: dict[str, Dtype]


@cache
def layout() -> Layout:
    """The layout of the tables above."""
    tables = {}
    for table in SENT:
        dtype = DTYPES[table]
        fields = {
            name: (_NUMBER_TYPES[kind.base.str], offset, kind.itemsize // kind.base.itemsize)
            for name, (kind, offset, *_) in (dtype.fields or {}).items()
        }
        tables[table] = Dtype(dtype.itemsize, fields)
    return Layout(NONE, ONE, SHARES, tables)


@dataclass(frozen=True, eq=False)
class StepTable:
    """Some steps of one lane, in order: one array of each of DTYPES, and `start`, the frontier
    before the first of them."""

    start: int
    steps: np.ndarray
    positions: np.ndarray
    distributions: np.ndarray
    groups: np.ndarray
    candidates: np.ndarray
    rejections: np.ndarray
    prices: np.ndarray

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StepTable):
            return NotImplemented
        mine, others = self.arrays(), other.arrays()
        return self.start == other.start and all(
            mine[table].tobytes() == others[table].tobytes() for table in DTYPES
        )

    def __len__(self) -> int:
        return len(self.steps)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by the names of their dtypes."""
        return {table: getattr(self, table) for table in DTYPES}

    @staticmethod
    def join(tables: Sequence[StepTable]) -> StepTable:
        """Tables that follow one another as one."""
        if not tables:
            return StepTable(0, *(np.zeros(0, dtype) for dtype in DTYPES.values()))
        parts = [table.arrays() for table in tables]
        whole = (np.concatenate([part[name] for part in parts]) for name in DTYPES)
        return StepTable(tables[0].start, *whole)

    @cached_property
    def first(self) -> np.ndarray:
        """The index in `positions` of each step's first row [S + 1]."""
        return _ends(self.steps["positions"])

    @cached_property
    def frontier(self) -> np.ndarray:
        """Committed positions before each step and after the last [S + 1]."""
        return self.start + _ends(self.steps["committed"])

    @cached_property
    def step(self) -> np.ndarray:
        """The step, counted from 0, of each row of `positions`."""
        return np.repeat(np.arange(len(self)), self.steps["positions"])

    @cached_property
    def position(self) -> np.ndarray:
        """The sequence position of each row of `positions`."""
        offset: np.ndarray = self.frontier[:-1] - self.first[:-1]
        position: np.ndarray = np.arange(len(self.positions)) + offset[self.step]
        return position

    @cached_property
    def committed(self) -> np.ndarray:
        """Whether each row's step committed it."""
        committed: np.ndarray = self.position < self.frontier[1:][self.step]
        return committed

    @cached_property
    def shift(self) -> np.ndarray:
        """The shift of each row, as stored: a committed one's is its price where there is one."""
        shift: np.ndarray = self.positions["shift"].copy()
        if len(self.prices):
            shift[self.committed] = self.prices["shift"][self.position[self.committed]]
        return shift

    @cached_property
    def source(self) -> np.ndarray:
        """The Source of each row."""
        return np.asarray(self.positions["refs"] & 3)

    @cached_property
    def has_group(self) -> np.ndarray:
        """Whether each row has one in `groups`."""
        return np.asarray(self.positions["refs"] & _HAS_GROUP > 0)

    @cached_property
    def candidate_counts(self) -> np.ndarray:
        """How many rows each has in `candidates`."""
        return self.positions["refs"] >> _CANDIDATES_SHIFT

    @cached_property
    def seconds(self) -> np.ndarray:
        """Where each step's time went, float64 [S, 4] in the order of PARTS."""
        return np.stack([self.steps[part] / 1e6 for part in PARTS], -1)

    @cached_property
    def clock(self) -> np.ndarray:
        """The lane's seconds before each step and after the last [S + 1]."""
        return _ends(np.sum([self.steps[part] for part in PARTS], 0)) / 1e6

    def split(self) -> list[Step]:
        """The steps, each a view on its rows."""
        ends = {"steps": np.arange(len(self) + 1), "positions": self.first}
        counts = {
            "distributions": self.source == Source.OWN,
            "groups": self.has_group,
            "candidates": self.candidate_counts,
        }
        ends |= {table: _ends(count)[self.first] for table, count in counts.items()}
        ends["rejections"] = _ends(self.steps["rejected"])
        ends["prices"] = len(self.prices) * (ends["steps"] == len(self))
        arrays = self.arrays()
        bounds = zip(*(ends[table].tolist() for table in DTYPES), strict=True)
        steps = []
        for (low, high), start in zip(
            itertools.pairwise(bounds), self.frontier.tolist(), strict=False
        ):
            pieces = zip(arrays.values(), low, high, strict=True)
            steps.append(Step(StepTable(start, *(array[i:j] for array, i, j in pieces))))
        return steps


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a decoder: one target forward pass and the verification after it.

    `rows` is its part of the step table. Rows of positions below `after` are final; the others are
    the drafts that the next step finds in its window. Raises ValueError where no token is
    committed, or a committed position has no row.
    """

    rows: StepTable

    def __post_init__(self) -> None:
        if not (self.nfe > 0 and self.before >= 0 and self.after > self.before):
            raise ValueError(
                f"a step commits at least one token: nfe {self.nfe}, frontier {self.before} to"
                f" {self.after}"
            )
        if not self.after - self.before <= self._row["positions"] == len(self.positions):
            raise ValueError(
                f"positions {self.before} to {self.after} are committed, and each has a row"
            )

    @property
    def _row(self) -> Any:
        return self.rows.steps[0]

    @property
    def nfe(self) -> int:
        """The decoder's target passes so far, this one included."""
        return int(self._row["nfe"])

    @property
    def before(self) -> int:
        """The frontier before the step."""
        return self.rows.start

    @property
    def after(self) -> int:
        """The frontier after the step."""
        return self.rows.start + int(self._row["committed"])

    @property
    def drafter_passes(self) -> int:
        """The drafter's passes in this step."""
        return int(self._row["drafter_passes"])

    @property
    def seconds(self) -> Seconds:
        return Seconds(*(int(self._row[part]) / 1e6 for part in PARTS))

    @property
    def positions(self) -> np.ndarray:
        """The rows of the touched positions, from `before` on."""
        return self.rows.positions

    @property
    def committed(self) -> np.ndarray:
        """The rows of the positions that the step committed."""
        return self.positions[: self.after - self.before]

    @property
    def window(self) -> np.ndarray:
        """The rows of the drafts left standing."""
        return self.positions[self.after - self.before :]


def step_row(
    nfe: int,
    rows: int,
    positions: int,
    committed: int,
    drafter_passes: int,
    seconds: Seconds,
    rejected: bool,
) -> np.ndarray:
    """A row of `steps` [1]."""
    micros = (round(1e6 * getattr(seconds, part)) for part in PARTS)
    row = (nfe, rows, positions, committed, drafter_passes, *micros, rejected, 0)
    return np.array([row], DTYPES["steps"])


def refs(source: np.ndarray, group: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The field `refs` from its parts."""
    return np.asarray(source | _HAS_GROUP * group | candidates << _CANDIDATES_SHIFT, "u1")


def _ends(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
