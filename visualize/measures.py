"""Measures: the numbers behind the figures, each from the recorded steps of one lane.

Lengths count sequence positions, forced ones included, as `records.Standing` does; whatever is
about laws leaves forced positions out, since nothing is drawn there.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.decoders import DECODERS
from engine.records import Badge, LaneState, Position, Seconds, Standing, Status, Step
from engine.trace import Trace

BINS = 10
CONFIDENCE = 1.959964  # standard deviations of a 95% interval


@dataclass(frozen=True, slots=True)
class Runner:
    """A lane that made at least one step; `index` is its place in the race, and `name` its
    decoder's title, with its number where several lanes share that. `lossless` is whether the
    decoder promises the model's own law."""

    index: int
    name: str
    decoder: str
    lossless: bool
    finished: bool
    steps: Sequence[Step]


def runners(trace: Trace) -> list[Runner]:
    """The lanes that made a step, in the race's order."""
    titles = [DECODERS[lane.decoder].title for lane in trace.header.lanes]
    states = {frame.lane: frame.state for frame in trace.frames}
    return [
        Runner(
            i,
            titles[i] if titles.count(titles[i]) == 1 else f"{titles[i]} ({i + 1})",
            lane.decoder,
            DECODERS[lane.decoder].badge is not Badge.CHANGED_DISTRIBUTION,
            states[i] is LaneState.FINISHED,
            steps,
        )
        for i, lane in enumerate(trace.header.lanes)
        if (steps := trace.steps(i))
    ]


@dataclass(frozen=True, slots=True)
class Progress:
    """Committed tokens [S + 1] against target passes [S + 1] and the lane's own seconds [S + 1],
    from the start on."""

    tokens: np.ndarray
    passes: np.ndarray
    seconds: np.ndarray


def progress(steps: Sequence[Step]) -> Progress:
    """How the frontier advanced; the first entry is the start, before any step."""
    return Progress(
        np.array([0, *(step.after for step in steps)]),
        np.array([0, *(step.nfe for step in steps)]),
        np.cumsum([0.0, *(step.seconds.total for step in steps)]),
    )


@dataclass(frozen=True, slots=True)
class Lengths:
    """Acceptance lengths [K] that occurred, ascending; steps [K] that had each; share [K] of all
    steps; and gain [K], the share of the speed-up that came from each. `mean` is the mean
    acceptance length."""

    lengths: np.ndarray
    steps: np.ndarray
    share: np.ndarray
    gain: np.ndarray
    mean: float


def acceptance_lengths(steps: Sequence[Step]) -> Lengths:
    """SJD-PAC Fig. 1a and 1b. The acceptance length l of a step is the tokens it committed, the
    last sampled one included.

    With n_l steps of length l out of N, a pass yields sum l n_l / N = 1 + sum (l - 1) n_l / N
    tokens. The first of each step is what vanilla AR gets too, so a length's gain is (l - 1) n_l /
    sum (l' - 1) n_l': the paper counts "additionally accepted tokens" alone. Where no step was
    longer than 1 there is no speed-up to share, and every gain is 0.
    """
    standing = Standing()
    for step in steps:
        standing.add(step)
    histogram = standing.acceptance_histogram
    lengths, counts = np.array(list(histogram)), np.array(list(histogram.values()))
    extra = (lengths - 1) * counts
    return Lengths(
        lengths,
        counts,
        counts / counts.sum(),
        extra / max(extra.sum(), 1),
        standing.mean_acceptance_length,
    )


def sorted_top1(steps: Sequence[Step]) -> np.ndarray:
    """Top-1 of the target's law at every committed position, largest first [n] (GSD Fig. 2 c to
    e)."""
    values = [p.top1 for step in steps for p in step.committed if p.status is not Status.FORCED]
    return np.sort(np.array(values, float))[::-1]


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Tested drafts in ten bins of 1 - TV, each 0.1 wide: trials [10] and accepted [10] of them,
    the mean 1 - TV of a bin's trials [10], the share accepted [10] and its 95% Wilson interval
    [10]; the last four are NaN in an empty bin.

    `rate` and `promised` are the means over all trials of what was accepted and of 1 - TV; `z` is
    how many standard deviations the first lies above the second if every trial passes with
    probability 1 - TV.
    """

    trials: np.ndarray
    accepted: np.ndarray
    promise: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rate: float
    promised: float
    z: float


def acceptance(steps: Sequence[Step]) -> Acceptance | None:
    """Measured acceptance against 1 - TV(p, q) (GSD Proposition 1: for x ~ q the lossless rule
    accepts with 1 - TV exactly).

    A trial is a committed position whose draft was held against a uniform number: status accepted
    or resampled. Where several candidates were tried (SJD-PAC), the first one's own outcome counts,
    since only it was drawn from q and met all of p. Forced positions are none, nor are drafts
    behind a refusal, nor what Jacobi and fixed-point iteration do: they compare a draft with a new
    sample, for which 1 - TV is not the law. None where nothing was tested.
    """
    outcomes = [
        (1 - p.tv, _first_passed(p)) for step in steps for p in step.committed if _tested(p)
    ]
    if not outcomes:
        return None
    promise, passed = np.array(outcomes, float).T
    bins = np.clip((promise * BINS).astype(int), 0, BINS - 1)
    trials, accepted, sums = (
        np.bincount(bins, weights, BINS) for weights in (None, passed, promise)
    )
    filled = np.where(trials > 0, trials, np.nan)
    low, high = wilson(accepted, filled)
    spread = math.sqrt((promise * (1 - promise)).clip(0).sum())
    excess = passed.sum() - promise.sum()
    return Acceptance(
        trials,
        accepted.astype(int),
        sums / filled,
        accepted / filled,
        low,
        high,
        float(passed.mean()),
        float(promise.mean()),
        float(excess / spread) if spread > 0 else 0.0,
    )


def _tested(p: Position) -> bool:
    drafted = p.draft is not None and p.tv is not None
    return drafted and p.uniform is not None and p.status in (Status.ACCEPTED, Status.RESAMPLED)


def _first_passed(p: Position) -> bool:
    return p.siblings[0].accepted if p.siblings else p.status is Status.ACCEPTED


def wilson(accepted: np.ndarray, trials: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The 95% Wilson score interval of each share accepted / trials; NaN where trials is."""
    share, z2 = accepted / trials, CONFIDENCE**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = (
        CONFIDENCE
        / (1 + z2 / trials)
        * np.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    )
    return (middle - half).clip(0), (middle + half).clip(None, 1)


def step_seconds(steps: Sequence[Step]) -> Seconds:
    """Where the time of an average step went."""
    total = sum((step.seconds for step in steps), Seconds())
    return Seconds(
        *(part / len(steps) for part in (total.forward, total.verify, total.cache, total.draft))
    )


@dataclass(frozen=True, slots=True)
class Distances:
    """Distances [D] behind a refused position, ascending, in sequence positions; the mean TV at
    each [D], and how many pairs of steps it is of [D]."""

    distance: np.ndarray
    tv: np.ndarray
    pairs: np.ndarray


def tv_by_distance(steps: Sequence[Step]) -> Distances:
    """How far a refusal moves the laws behind it (after SJD-PAC Fig. 4), measured from the race.

    A step that refuses the draft at position i and puts another token there leaves drafts at i + j
    whose q is this step's p, computed behind the refused token. The next step computes p at i + j
    behind the new one: its TV(p, q) there is the total variation between the laws before and after
    the change, at distance j. Averaged over all refusals of the lane, j by j.

    Two things differ from the paper, which masks position i alone in the cache: what was redrawn
    between i and i + j changed the laws as well, and what fills the far end of a window is recent.
    Drafts that the next step did not find in its window, or that came from another law than this p
    (an EAGLE drafter's), are left out, and forced positions.
    """
    found: dict[int, list[float]] = defaultdict(list)
    for step, after in itertools.pairwise(steps):
        refused = step.committed[-1]
        if refused.status is not Status.RESAMPLED or refused.draft is None:
            continue
        now = {p.position: p for p in after.positions}
        for draft in step.window:
            p = now.get(draft.position)
            if (
                p is not None
                and p.tv is not None
                and p.top_draft == draft.top
                and p.status is not Status.FORCED
            ):
                found[p.position - refused.position].append(p.tv)
    distances = sorted(found)
    return Distances(
        np.array(distances, int),
        np.array([np.mean(found[j]) for j in distances], float),
        np.array([len(found[j]) for j in distances], int),
    )
