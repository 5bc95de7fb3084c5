"""One race run from several seeds: each lane's mean figures with 95% intervals, and its rank.

A lane has no rank if the noise over seeds could change the lane's place.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from engine.numerics.intervals import mean
from engine.trace import Trace
from visualize.figures.measures import runners


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds and the half-width of its 95% interval (Student's t).

    `half` is None for a single seed, which has no interval.
    """

    mean: float
    half: float | None

    @staticmethod
    def of(values: Sequence[float]) -> Estimate:
        summary = mean(list(values))
        return Estimate(summary["mean"], summary.get("plus_minus"))

    def text(self, digits: int, unit: str = "") -> str:
        """Return the mean and, if it is known, the half-width, each with `digits` decimals."""
        half = "" if self.half is None else f" ± {self.half:.{digits}f}"
        return f"{self.mean:.{digits}f}{unit}{half}"


@dataclass(frozen=True, slots=True)
class SeedFigures:
    """A lane's figures over all seeds; `index` is the lane's index in the race.

    `faster` is the mean over seeds of vanilla AR's seconds divided by this lane's seconds. It is
    None if vanilla AR did not finish from every seed. A rank is None if the lane is tied with a
    neighbour in the order of the means: the 95% interval of the difference between the two lanes
    contains zero.
    """

    index: int
    name: str
    passes: Estimate
    seconds: Estimate
    faster: Estimate | None
    rank_by_passes: int | None
    rank_by_seconds: int | None


def over_seeds(traces: Sequence[Trace]) -> list[SeedFigures]:
    """Return the figures of the lanes that finished from every seed, in the race's order.

    `traces` are runs of one race from several seeds. Raises ValueError if their lanes differ.
    """
    if any(trace.header.lanes != traces[0].header.lanes for trace in traces):
        raise ValueError("the traces are not of one race")
    raced = [{r.index: r for r in runners(trace) if r.finished} for trace in traces]
    lanes = [index for index in raced[0] if all(index in lane for lane in raced)]
    passes = {i: [float(race[i].table.steps["nfe"][-1]) for race in raced] for i in lanes}
    seconds = {i: [float(race[i].table.clock[-1]) for race in raced] for i in lanes}
    ar = next((seconds[i] for i in lanes if raced[0][i].decoder == "ar"), None)
    by_passes, by_seconds = ranks(passes), ranks(seconds)
    return [
        SeedFigures(
            i,
            raced[0][i].name,
            Estimate.of(passes[i]),
            Estimate.of(seconds[i]),
            Estimate.of([a / b for a, b in zip(ar, seconds[i], strict=True)]) if ar else None,
            by_passes[i],
            by_seconds[i],
        )
        for i in lanes
    ]


def ranks(values: dict[int, list[float]]) -> dict[int, int | None]:
    """Return the rank of each lane, 1 for the lowest mean; None for a tie within noise.

    `values` has one value a seed for each lane, by the lane's index.
    """
    order = sorted(values, key=lambda i: sum(values[i]))
    pairs = itertools.pairwise(order)
    tied = {i for pair in pairs if _within_noise(*(values[i] for i in pair)) for i in pair}
    return {i: None if i in tied else rank for rank, i in enumerate(order, 1)}


def _within_noise(a: Sequence[float], b: Sequence[float]) -> bool:
    difference = Estimate.of([x - y for x, y in zip(a, b, strict=True)])
    return difference.half is None or abs(difference.mean) <= difference.half
