"""Layers: what each cell of a lane shows at an instant, from the records alone; the twin of
static/replay.js and layers.js."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from PIL import ImageColor

from engine.records import LaneState, Status, Step
from engine.trace import Trace
from visualize.look import LOOK

CLOCKS = ("seconds", "passes")


class Layer(Enum):
    """What a lane can show of each of its tokens; look.json says how."""

    PICTURE = "picture"
    TOP1 = "top1"
    TOP1_DRAFT = "top1_draft"
    TV = "tv"
    ACCEPTANCE = "acceptance"
    STATUS = "status"
    WAITING = "waiting"
    RUNS = "runs"

    @property
    def look(self) -> dict[str, Any]:
        """Its entry in look.json: title, kind, words, and what its kind needs."""
        return next(layer for layer in LOOK["layers"] if layer["name"] == self.value)


SHARES = tuple(layer for layer in Layer if layer.look["kind"] == "share")  # from 0 to 1
# the least that there is
COUNTS = {layer: layer.look["least"] for layer in Layer if layer.look["kind"] == "count"}
# Perceptually uniform and safe for the colour-blind: evenly spaced stops.
SCALES = {layer: LOOK["scales"][layer.look["scale"]] for layer in Layer if "scale" in layer.look}
# A status is shown by shape as well as by colour (Okabe and Ito's).
MARKS = {
    status: (mark["shape"], mark["colour"])
    for status, mark in zip(Status, LOOK["statuses"], strict=True)
}


@dataclass(frozen=True, slots=True)
class Instant:
    """A lane after its k-th step. `records` is, for each cell that it has reached in raster order,
    the index of the record that tells of it: of the step that committed it for the first n, of the
    k-th step for the drafts that stand after them."""

    k: int
    n: int
    state: LaneState
    passes: int
    drafter: int
    seconds: float
    compression: float
    records: np.ndarray

    def clock(self, name: str) -> float:
        return self.seconds if name == "seconds" else self.passes


class LaneRecords:
    """One lane of a trace: its records as arrays, and where it stood after any of its steps."""

    def __init__(self, trace: Trace, lane: int) -> None:
        cells = trace.header.cells
        frames = [frame for frame in trace.frames if frame.lane == lane]
        self.state = frames[-1].state if frames else LaneState.WAITING
        self.error = (frames[-1].error or "") if frames else ""
        self.steps: list[Step] = list(trace.steps(lane))
        touched = [[p for p in step.positions if cells[p.position] >= 0] for step in self.steps]
        flat = [p for positions in touched for p in positions]
        self.cell = np.array([cells[p.position] for p in flat], int)
        self.token = np.array([p.token for p in flat], int)
        self.status = np.array([p.status for p in flat], int)
        self._values = {
            layer: np.array([getattr(p, layer.value) for p in flat], float) for layer in SHARES
        }
        self._first = np.cumsum([0, *map(len, touched)])
        fixed = [
            sum(p.position < step.after for p in positions)
            for step, positions in zip(self.steps, touched, strict=True)
        ]
        self._n = np.cumsum([0, *fixed])
        starts = zip(self._first, fixed, strict=False)
        self._committed = np.concatenate(
            [np.arange(at, at + count) for at, count in starts] or [np.arange(0)]
        )
        self._passes = np.array([0, *(step.nfe for step in self.steps)])
        self._seconds = np.cumsum([0.0, *(step.seconds.total for step in self.steps)])
        self._drafter = np.cumsum([0, *(step.drafter_passes for step in self.steps)])
        self._after = [0, *(step.after for step in self.steps)]
        self._step = np.repeat(
            np.arange(len(self.steps)), [len(positions) for positions in touched]
        )

    def clock(self, name: str) -> np.ndarray:
        """What the lane's clock shows after each of its steps; the first entry is the start."""
        return self._seconds if name == "seconds" else self._passes

    def step_at(self, clock: str, t: float) -> int:
        """How many steps the lane has made when its clock shows t."""
        return int(np.searchsorted(self.clock(clock), t, "right")) - 1

    def at(self, k: int) -> Instant:
        """The lane after its k-th step; 0 is the start."""
        last, n = k == len(self.steps), int(self._n[k])
        drafts = np.arange(0)
        if k > 0 and not (last and self.state in (LaneState.STOPPED, LaneState.FAILED)):
            drafts = np.arange(self._first[k - 1] + n - self._n[k - 1], self._first[k])
        passes = int(self._passes[k])
        return Instant(
            k,
            n,
            self.state if last else LaneState.RACING if k else LaneState.WAITING,
            passes,
            int(self._drafter[k]),
            float(self._seconds[k]),
            self._after[k] / passes if passes else 0.0,
            np.concatenate([self._committed[:n], drafts]),
        )

    def values(self, layer: Layer, instant: Instant) -> np.ndarray:
        """float [reached cells]: shares from 0 to 1, or passes, or tokens; NaN where a cell has no
        such number."""
        records = instant.records
        if layer in SHARES:
            return self._values[layer][records]
        out = np.full(len(records), np.nan)
        if layer is Layer.WAITING:
            out = self._waits[records].astype(float)
            out[instant.n :] += 1  # a draft that stands has just been refined
        elif layer is Layer.RUNS:
            steps = self._step[records[: instant.n]]
            out[: instant.n] = np.diff(self._after)[steps]
        return out

    @functools.cached_property
    def _waits(self) -> np.ndarray:
        """Of each record, how many earlier ones are of the same cell."""
        order = np.argsort(self.cell, kind="stable")
        _, starts, counts = np.unique(self.cell[order], return_index=True, return_counts=True)
        out = np.empty(len(order), int)
        out[order] = np.arange(len(order)) - np.repeat(starts, counts)
        return out

    def run_starts(self, instant: Instant) -> np.ndarray:
        """int: the cell at which each of the steps up to an instant began to commit."""
        return self._n[: instant.k]

    def most(self, layer: Layer) -> int:
        """The largest count that the layer ever shows of this lane."""
        if layer is Layer.RUNS:
            return int(max(np.diff(self._after)[np.diff(self._n) > 0], default=0))
        drafts = np.ones(len(self.cell), int)
        drafts[self._committed] = 0
        return int(max(self._waits + drafts, default=0))


def shares(layer: Layer, values: np.ndarray, most: int) -> np.ndarray:
    """Where values stand on their layer's scale, 0 to 1. Counts by logarithms: most runs and waits
    are short, a few are long."""
    if layer in SHARES:
        return values
    low = COUNTS[layer]
    return np.log1p(values - low) / np.log1p(max(low + 1, most) - low)


def colours(layer: Layer, places: np.ndarray) -> np.ndarray:
    """Places on the scale, 0 to 1, as uint8 [..., 3]."""
    stops = np.array([ImageColor.getrgb(stop) for stop in SCALES[layer]])
    at = np.clip(np.nan_to_num(places), 0, 1) * (len(stops) - 1)
    return (
        np.stack([np.interp(at, np.arange(len(stops)), channel) for channel in stops.T], -1)
        .round()
        .astype(np.uint8)
    )
