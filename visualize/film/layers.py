"""Layers: what each cell of a lane shows at an instant, computed from step tables alone."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from PIL import ImageColor

from engine.trace import Header, LaneState, Status, Trace
from engine.trace.shares import share_values
from visualize.look import LOOK


class Layer(Enum):
    """A quantity that a lane can show for each of its tokens; look.json says how."""

    PICTURE = "picture"
    TOP1 = "top1"
    TOP1_DRAFT = "top1_draft"
    TV = "tv"
    ACCEPTANCE = "acceptance"
    GAIN = "gain"
    SHIFT = "shift"
    DIFFERS = "differs"
    STATUS = "status"
    WAITING = "waiting"
    RUNS = "runs"
    ORDER = "order"

    @property
    def look(self) -> dict[str, Any]:
        """The layer's entry in look.json: title, kind, words, and the fields of that kind."""
        return next(layer for layer in LOOK["layers"] if layer["name"] == self.value)


SHARES = tuple(layer for layer in Layer if layer.look["kind"] == "share")  # from 0 to 1
COUNTS = {
    layer: layer.look["least"] for layer in Layer if layer.look["kind"] == "count"
}  # the smallest possible count of each layer of counts
COUNTED = (*COUNTS, Layer.ORDER)  # layers whose scale's end depends on the race
# Colours at evenly spaced places of each scale. The scales are perceptually uniform and safe for
# the colour-blind.
SCALES = {layer: LOOK["scales"][layer.look["scale"]] for layer in Layer if "scale" in layer.look}
# A status is shown by a shape as well as by a colour. The colours are Okabe and Ito's.
MARKS = {
    status: (mark["shape"], mark["colour"])
    for status, mark in zip(Status, LOOK["statuses"], strict=True)
}


@dataclass(frozen=True, slots=True)
class Instant:
    """A lane after its k-th step.

    `rows` are indices into the lane's step table: first the rows that committed the lane's n cells,
    in order, then the rows of the k-th step that hold drafts. `cells` has the grid cell of each of
    these rows.
    """

    k: int
    n: int
    state: LaneState
    passes: int
    drafter: int
    seconds: float
    compression: float
    rows: np.ndarray
    cells: np.ndarray

    def clock(self, name: str) -> float:
        return self.seconds if name == "seconds" else self.passes


class LaneReplay:
    """One lane of a trace, and its state after any of its steps."""

    def __init__(self, trace: Trace, lane: int) -> None:
        header = trace.header
        self._reference = trace.tokens(reference_lane(header))
        known = header.infilling.known if header.infilling else ()
        # an infilling's token in each cell, -1 in cells to fill in; empty for a whole picture
        self.known = np.array(known, int)
        parent = header.infilling.parent if header.infilling else None
        self.fork = parent.cell if parent else None  # the cell at which a fork leaves its parent
        self._columns, self._total = header.grid[1], sum(c >= 0 for c in header.cells_of(lane))
        frames = [frame for frame in trace.frames if frame.lane == lane]
        self.state = frames[-1].state if frames else LaneState.WAITING
        self.error = (frames[-1].error or "") if frames else ""
        self.table = table = trace.table(lane)
        self.cell = np.array(header.cells_of(lane))[table.position]
        self._drafts = ~table.committed & (self.cell >= 0)
        self._committed = np.flatnonzero(table.committed & (self.cell >= 0))
        done = np.bincount(table.step[self._committed], minlength=len(table))
        self._n = np.concatenate([[0], np.cumsum(done)])
        self._passes = np.concatenate([[0], table.steps["nfe"]]).astype(int)
        self._drafter = np.concatenate([[0], np.cumsum(table.steps["drafter_passes"], dtype=int)])

    def clock(self, name: str) -> np.ndarray:
        """Return the lane's clock at the start and after each of its steps.

        `name` is "seconds" or "passes".
        """
        return self.table.clock if name == "seconds" else self._passes

    def step_at(self, clock: str, t: float) -> int:
        """Return how many steps the lane has made when its clock `clock` shows `t`."""
        return int(np.searchsorted(self.clock(clock), t, "right")) - 1

    def at(self, k: int) -> Instant:
        """Return the lane after `k` steps; `k` is 0 at the start."""
        table = self.table
        last = k == len(table)
        n = int(self._n[k])
        drafts = np.arange(0)
        if k > 0 and not (last and self.state in (LaneState.STOPPED, LaneState.FAILED)):
            first = table.first[k - 1]
            drafts = first + np.flatnonzero(self._drafts[first : table.first[k]])
        passes = int(self._passes[k])
        rows = np.concatenate([self._committed[:n], drafts])
        return Instant(
            k=k,
            n=n,
            state=self.state if last else LaneState.RACING if k else LaneState.WAITING,
            passes=passes,
            drafter=int(self._drafter[k]),
            seconds=float(table.clock[k]),
            compression=int(table.frontier[k]) / passes if passes else 0.0,
            rows=rows,
            cells=self.cell[rows],
        )

    def values(self, layer: Layer, instant: Instant) -> np.ndarray:
        """Return the layer's value for each of `instant.cells`, float; NaN if a cell has none.

        A value is a share from 0 to 1, or a number of passes or tokens. For the layer DIFFERS, a
        value is 1 if the committed token differs from the reference lane's token, else 0.
        """
        rows = instant.rows
        if layer is Layer.GAIN:
            return self._gain[rows]
        if layer is Layer.SHIFT:
            return share_values(self.table.shift[rows])
        if layer in SHARES:
            return share_values(self.table.positions[layer.value][rows])
        out = np.full(len(rows), np.nan)
        if layer is Layer.DIFFERS:
            expected = self._reference[instant.cells[: instant.n]]
            differs = self.table.positions["token"][rows[: instant.n]] != expected
            out[: instant.n] = np.where(expected < 0, np.nan, differs)
        elif layer is Layer.WAITING:
            out = self._waits[rows].astype(float)
            out[instant.n :] += 1  # the latest step refined each standing draft once more
        elif layer in (Layer.RUNS, Layer.ORDER):
            steps = self.table.step[rows[: instant.n]]
            what = "committed" if layer is Layer.RUNS else "nfe"
            out[: instant.n] = self.table.steps[what][steps]
        return out

    @functools.cached_property
    def _gain(self) -> np.ndarray:
        """Return by how much a draft's group raised the draft's acceptance (GSD, Fig. 7).

        The result has one gain in acceptance probability for each row of the step table. The gain
        is at least 0 for a draft with a group, else NaN.
        """
        rows = self.table.positions
        acceptance = share_values(rows["acceptance"])
        p, q = share_values(rows["p"]), share_values(rows["q"])
        known = self.table.has_group & ~np.isnan(acceptance) & (q > 0)
        alone = np.divide(p, q, out=np.ones_like(p), where=known)
        return np.where(known, np.maximum(0, acceptance - np.minimum(1, alone)), np.nan)

    @functools.cached_property
    def _waits(self) -> np.ndarray:
        """Return for each row of the step table how many earlier rows have the same position.

        This is the number of passes that refined the token there before the row's own pass.
        """
        order = np.argsort(self.table.position, kind="stable")
        _, starts, counts = np.unique(
            self.table.position[order], return_index=True, return_counts=True
        )
        out = np.empty(len(order), int)
        out[order] = np.arange(len(order)) - np.repeat(starts, counts)
        return out

    def shift(self, instant: Instant) -> float | None:
        """Return the mean shift of the tests up to `instant`; None if there were no tests.

        If the lane's table has prices (see engine/decoders/priced.py), return the mean price of the
        committed tokens instead.
        """
        values = self.values(Layer.SHIFT, instant)
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else None

    def run_starts(self, instant: Instant) -> np.ndarray:
        """Return where runs begin: the first cell that each step up to `instant` committed.

        If the picture's rows advance independently, a step has a run in each picture row in which
        it commits cells.
        """
        cells = instant.cells[: instant.n]
        run = [self.table.step[instant.rows[: instant.n]]]
        if len(self.table.places):
            run.append(cells // self._columns)
        begins = np.any(np.diff(run, prepend=-1), 0)
        starts: np.ndarray = cells[begins]
        return starts

    def most(self, layer: Layer) -> int:
        """Return the number where the layer's scale would end if this were the only lane.

        The number is the largest count that the lane ever shows or, for the layer ORDER, the number
        of tokens.
        """
        if layer is Layer.ORDER:
            return self._total
        if layer is Layer.RUNS:
            return int(max(self.table.steps["committed"][np.diff(self._n) > 0], default=0))
        return int(max((self._waits + self._drafts)[self.cell >= 0], default=0))


def reference_lane(header: Header) -> int:
    """Return the index of the lane that others are compared with: vanilla AR's, else the first."""
    return next((i for i, lane in enumerate(header.lanes) if lane.decoder == "ar"), 0)


def shares(layer: Layer, values: np.ndarray, most: int) -> np.ndarray:
    """Return each value's place on the layer's scale: 0 at the scale's start, 1 at its end.

    A value beyond the end has a place above 1. If the scale's end depends on the race, it is
    `most`. Counts are placed by logarithms, because most runs and waits are short and a few long.
    """
    if layer is Layer.ORDER:
        return (values - 1) / max(1, most - 1)
    if layer not in COUNTS:
        return values / layer.look.get("most", 1)
    low = COUNTS[layer]
    return np.log1p(values - low) / np.log1p(max(low + 1, most) - low)


def colours(layer: Layer, places: np.ndarray) -> np.ndarray:
    """Return the RGB colour at each of `places` (0 to 1) on the layer's scale, uint8 [..., 3]."""
    stops = np.array([ImageColor.getrgb(stop) for stop in SCALES[layer]])
    at = np.clip(np.nan_to_num(places), 0, 1) * (len(stops) - 1)
    return (
        np.stack([np.interp(at, np.arange(len(stops)), channel) for channel in stops.T], -1)
        .round()
        .astype(np.uint8)
    )
