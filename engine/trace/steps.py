"""The step table: what every step of a decoder did, as arrays with the dtypes of rows.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.trace.rows import DTYPES, Source
from engine.trace.seconds import PARTS, Seconds
from engine.trace.shares import NONE

_HAS_GROUP, _CANDIDATES_SHIFT = 4, 4


@dataclass(frozen=True, eq=False)
class StepTable:
    """Some steps of one lane, in order.

    The table has an array for each of DTYPES, and `start`, the frontier before the first step.
    In the shapes below, S is the number of steps.
    """

    start: int
    steps: np.ndarray
    positions: np.ndarray
    distributions: np.ndarray
    groups: np.ndarray
    candidates: np.ndarray
    rejections: np.ndarray
    prices: np.ndarray
    places: np.ndarray

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
        """Return the arrays by their names in DTYPES."""
        return {table: getattr(self, table) for table in DTYPES}

    @staticmethod
    def join(tables: Sequence[StepTable]) -> StepTable:
        """Join the tables of successive steps into one."""
        if not tables:
            return StepTable(0, *(np.zeros(0, dtype) for dtype in DTYPES.values()))
        parts = [table.arrays() for table in tables]
        # Join the bytes: NumPy would compare the dtypes of all parts, which takes longer.
        whole = (bytearray().join([part[name].tobytes() for part in parts]) for name in DTYPES)
        arrays = map(np.frombuffer, whole, DTYPES.values())
        return StepTable(tables[0].start, *arrays)

    @cached_property
    def first(self) -> np.ndarray:
        """The index in `positions` at which each step's rows begin [S + 1].

        The final entry is the number of rows of `positions`.
        """
        return _ends(self.steps["positions"])

    @cached_property
    def frontier(self) -> np.ndarray:
        """Number of committed positions before each step and after the last [S + 1]."""
        return self.start + _ends(self.steps["committed"])

    @cached_property
    def step(self) -> np.ndarray:
        """The step, counted from 0, of each row of `positions`."""
        return np.repeat(np.arange(len(self)), self.steps["positions"])

    @cached_property
    def offset(self) -> np.ndarray:
        """The index of each row of `positions` within its step, counted from 0."""
        offset: np.ndarray = np.arange(len(self.positions)) - self.first[:-1][self.step]
        return offset

    @cached_property
    def position(self) -> np.ndarray:
        """The sequence position of each row of `positions`."""
        if len(self.places):
            return self.places["position"].astype(np.int64)
        position: np.ndarray = self.offset + self.frontier[:-1][self.step]
        return position

    @cached_property
    def in_sequence(self) -> np.ndarray:
        """Indices that sort `positions` by sequence position; equal ones keep their order."""
        return np.argsort(self.position, kind="stable")

    @cached_property
    def earlier(self) -> np.ndarray:
        """For each row of `positions`, the index of its position's previous row, or -1."""
        order, earlier = self.in_sequence, np.full(len(self.positions), -1)
        same = np.diff(self.position[order]) == 0
        earlier[order[1:][same]] = order[:-1][same]
        return earlier

    @cached_property
    def committed(self) -> np.ndarray:
        """True for each row of `positions` that its step committed."""
        committed: np.ndarray = self.offset < self.steps["committed"][self.step]
        return committed

    @cached_property
    def tokens(self) -> list[int]:
        """The committed tokens in the order of their positions."""
        order = self.position[self.committed].argsort(kind="stable")
        tokens: list[int] = self.positions["token"][self.committed][order].tolist()
        return tokens

    @cached_property
    def rejecting(self) -> np.ndarray:
        """For each row of `rejections`, the index of the row of `positions` that it belongs to."""
        last: np.ndarray = self.first[:-1] + self.steps["committed"] - 1
        rows: np.ndarray = last[self.steps["rejected"] > 0]
        return rows

    @cached_property
    def shift(self) -> np.ndarray:
        """The shift of each row of `positions`, as a share (u16).

        If the table has `prices`, a committed row has the price of its position instead. If the
        table has `places`, its lane draws several rows of the picture at once, and a test measures
        only part of the shift. Then each row of `positions` without a price has NONE.
        """
        shift: np.ndarray = self.positions["shift"].copy()
        if len(self.places):
            shift[:] = NONE
        if len(self.prices):
            shift[self.committed] = self.prices["shift"][self.position[self.committed]]
        return shift

    @cached_property
    def source(self) -> np.ndarray:
        """The Source of each row of `positions`."""
        return np.asarray(self.positions["refs"] & 3)

    @cached_property
    def has_group(self) -> np.ndarray:
        """True for each row of `positions` that has a row in `groups`."""
        return np.asarray(self.positions["refs"] & _HAS_GROUP > 0)

    @cached_property
    def candidate_counts(self) -> np.ndarray:
        """For each row of `positions`, the number of its rows in `candidates`."""
        return self.positions["refs"] >> _CANDIDATES_SHIFT

    @cached_property
    def seconds(self) -> np.ndarray:
        """The seconds of each part of each step, float64 [S, 4] in the order of PARTS."""
        return np.stack([self.steps[part] / 1e6 for part in PARTS], -1)

    @cached_property
    def clock(self) -> np.ndarray:
        """The lane's seconds before each step and after the last [S + 1]."""
        return _ends(np.sum([self.steps[part] for part in PARTS], 0)) / 1e6

    @cached_property
    def _ends(self) -> np.ndarray:
        """Each table's number of rows before each step and after the last [8, S + 1].

        The 8 tables are in the order of DTYPES.
        """
        steps = np.arange(len(self) + 1)
        ends = {"steps": steps, "positions": self.first}
        counts = {
            "distributions": self.source == Source.OWN,
            "groups": self.has_group,
            "candidates": self.candidate_counts,
        }
        ends |= {table: _ends(count)[self.first] for table, count in counts.items()}
        ends["rejections"] = _ends(self.steps["rejected"])
        ends["prices"] = len(self.prices) * (steps == len(self))
        ends["places"] = self.first * bool(len(self.places))
        return np.stack([ends[table] for table in DTYPES])

    def only(self, step: int) -> StepTable:
        """Return the table of one step; its arrays are views."""
        bounds = zip(self.arrays().values(), self._ends[:, step : step + 2].tolist(), strict=True)
        return StepTable(int(self.frontier[step]), *(rows[i:j] for rows, (i, j) in bounds))

    def split(self) -> list[StepTable]:
        """Return one table for each step; their arrays are views."""
        return [self.only(step) for step in range(len(self))]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of a decoder: one target forward pass and the verification after it.

    In the step's table, the first rows of `positions` are the committed positions, which are final.
    The other rows are drafts: the next step finds them in its window, except those that this step
    dropped (`Status.DROPPED`). A lane may build the rows of many steps together, when the rows of
    one of them are first read. Raises ValueError if no token is committed.

    Attributes:
        nfe: the decoder's target passes so far, including this one.
        before: number of committed positions before the step. They are the sequence's first
            positions, unless the table has `places`.
        after: number of committed positions after the step.
        drafter_passes: the drafter's passes in this step.
        micros: the step's microseconds, in the order of PARTS.
        table: a function that returns the step's table.
    """

    nfe: int
    before: int
    after: int
    drafter_passes: int
    micros: tuple[int, ...]
    table: Callable[[], StepTable]

    def __post_init__(self) -> None:
        if not (self.nfe > 0 and self.before >= 0 and self.after > self.before):
            raise ValueError(
                f"a step commits at least one token: nfe {self.nfe}, frontier {self.before} to"
                f" {self.after}"
            )

    @staticmethod
    def of(table: StepTable) -> Step:
        """Return the step of a table that has only one.

        Raises ValueError if no token is committed, or if a committed position has no row.
        """
        row = table.steps[0]
        before, committed = table.start, int(row["committed"])
        if not committed <= row["positions"] == len(table.positions):
            raise ValueError(
                f"positions {before} to {before + committed} are committed, and each has a row"
            )
        micros = tuple(int(row[part]) for part in PARTS)
        passes = int(row["drafter_passes"])
        return Step(int(row["nfe"]), before, before + committed, passes, micros, lambda: table)

    def __eq__(self, other: object) -> bool:
        return self.rows == other.rows if isinstance(other, Step) else NotImplemented

    @property
    def rows(self) -> StepTable:
        """The step's table."""
        return self.table()

    @property
    def seconds(self) -> Seconds:
        return Seconds(*(spent / 1e6 for spent in self.micros))

    @property
    def positions(self) -> np.ndarray:
        """The rows of the touched positions, the committed ones first."""
        return self.rows.positions

    @property
    def committed(self) -> np.ndarray:
        """The rows of the positions that the step committed."""
        return self.positions[: self.after - self.before]

    @property
    def window(self) -> np.ndarray:
        """The rows of the touched positions that the step did not commit."""
        return self.positions[self.after - self.before :]


def steps_of(table: StepTable) -> Iterator[Step]:
    """Yield a table's steps.

    A step's rows are cut out of the table each time they are read, not in advance: a table that
    anyone may have written can have many steps.
    """
    rows, frontier = table.steps, table.frontier.tolist()
    micros = zip(*(rows[part].tolist() for part in PARTS), strict=True)
    nfe, passes = rows["nfe"].tolist(), rows["drafter_passes"].tolist()
    numbers = zip(nfe, frontier[:-1], frontier[1:], passes, micros, strict=True)
    for step, each in enumerate(numbers):
        yield Step(*each, partial(table.only, step))


def recorded(steps: Sequence[Step]) -> list[object]:
    """Return all that is recorded of steps, except their seconds and window widths.

    The widths are left out because windows with static shapes keep their width to the image's end.
    """
    return [(step.before, step.after, *_compared(step.rows)) for step in steps]


def _compared(table: StepTable) -> list[bytes]:
    steps = table.steps.copy()
    for field in (*PARTS, "rows"):
        steps[field] = 0
    return [rows.tobytes() for rows in (table.arrays() | {"steps": steps}).values()]


def step_row(
    nfe: int,
    rows: int,
    positions: int,
    committed: int,
    drafter_passes: int,
    micros: Sequence[int],
    rejected: bool,
) -> np.ndarray:
    """Return one row of the table `steps`, as an array [1]; `micros` are in the order of PARTS.

    Raises OverflowError for a number that does not fit its field.
    """
    row = (nfe, rows, positions, committed, drafter_passes, *micros, rejected, 0)
    return np.array([row], DTYPES["steps"])


def refs(source: np.ndarray, group: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Pack what rows of `positions` refer to into one u1 each, their field `refs`.

    `source` has each row's Source, `group` whether the row has a row in `groups`, and `candidates`
    its number of rows in `candidates`. `StepTable.source`, `has_group` and `candidate_counts`
    unpack the field.
    """
    return np.asarray(source | _HAS_GROUP * group | candidates << _CANDIDATES_SHIFT, "u1")


def _ends(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
