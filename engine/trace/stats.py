"""LaneStats: a lane's figures so far, summed up from its steps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.trace.seconds import PARTS, Seconds
from engine.trace.shares import NONE, ONE
from engine.trace.steps import Step, StepTable


@dataclass(slots=True)
class LaneStats:
    """Counts tokens, passes and time; the metrics have vLLM's and AIPerf's names.

    `lengths` has the number of tokens that each step committed.
    """

    nfe: int = 0
    frontier: int = 0
    drafter_passes: int = 0
    micros: list[int] = field(default_factory=lambda: [0] * len(PARTS))
    lengths: list[int] = field(default_factory=list)
    _shifts: int = 0  # sum over all tests, in units of 1 / ONE
    _tests: int = 0
    _unread: list[Step] = field(default_factory=list)  # steps whose shifts are not counted yet

    def add(self, step: Step) -> None:
        """Take in the next step."""
        self.nfe, self.frontier = step.nfe, step.after
        self.drafter_passes += step.drafter_passes
        self.micros = list(map(int.__add__, self.micros, step.micros))
        self.lengths.append(step.after - step.before)
        self._unread.append(step)

    @property
    def seconds(self) -> Seconds:
        return Seconds(*(spent / 1e6 for spent in self.micros))

    @property
    def clock(self) -> float:
        """The lane's seconds, summed in microseconds so that equal times are equal numbers."""
        return sum(self.micros) / 1e6

    @property
    def step_compression(self) -> float:
        """Committed tokens / NFE."""
        return self.frontier / self.nfe if self.nfe else 0.0

    @property
    def mean_acceptance_length(self) -> float:
        """Committed tokens per step, the bonus included; the name is vLLM's."""
        return self.frontier / len(self.lengths) if self.lengths else 0.0

    def mean_shift(self) -> float | None:
        """Return the lane's mean shift so far, or None if it is unknown.

        It is the mean of the shifts of all tests that decided a committed token. In some lanes the
        last step has `prices`: a shift for each token of the picture (`engine.trace.rows`). Once
        this step is added, the mean shift is the mean of the prices instead. A lane that draws
        several rows of the picture at once has no mean shift before its prices, because its tests
        measure only part of the shift. The call reads the rows of all steps since the last call,
        and builds them if necessary.
        """
        if self._unread:
            table = StepTable.join([step.rows for step in self._unread])
            self._unread.clear()
            shift = table.positions["shift"][: 0 if len(table.places) else None]
            if len(table.prices):  # they cover the whole picture
                shift, self._shifts, self._tests = table.prices["shift"], 0, 0
            self._shifts += int(shift[shift != NONE].sum(dtype=np.int64))
            self._tests += int((shift != NONE).sum())
        return self._shifts / (ONE * self._tests) if self._tests else None
