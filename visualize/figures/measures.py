"""Measures: the numbers of the figures, each from the step table of one lane.

Lengths count sequence positions, forced ones included, as `LaneStats` does. Measures of
distributions leave forced positions out, because nothing is sampled there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.decoders import BUILT_IN, DECODERS, badge_of, is_claim
from engine.numerics.intervals import wilson
from engine.race.request import TOGETHER, lane_names, rule_of
from engine.trace import LaneState, Seconds, Status, StepTable, Trace
from engine.trace.rows import Source
from engine.trace.shares import NONE, share_values

BINS = 10


@dataclass(frozen=True, slots=True)
class Runner:
    """A lane that made at least one step.

    Attributes:
        index: the lane's index in the race.
        name: the lane's short name.
        repeat: number of earlier lanes with the same decoder.
        lossless: whether the decoder's badge says that its distribution is the model's own.
        promise: the badge as sentences word it: "lossless", "relaxed" or the badge's words.
        together: whether the lane's rule tests several drafts together.
    """

    index: int
    name: str
    decoder: str
    repeat: int
    lossless: bool
    promise: str
    together: bool
    finished: bool
    table: StepTable


def runners(trace: Trace) -> list[Runner]:
    """Return the lanes that made a step, in the race's order."""
    names = lane_names(trace.header.lanes)
    states = {frame.lane: frame.state for frame in trace.frames}
    return [
        Runner(
            index=i,
            name=names[i],
            decoder=lane.decoder,
            repeat=sum(other.decoder == lane.decoder for other in trace.header.lanes[:i]),
            lossless=badge_of(lane.decoder).lossless,
            promise=_promise(lane.decoder),
            together=rule_of(lane) in TOGETHER,
            finished=states[i] is LaneState.FINISHED,
            table=table,
        )
        for i, lane in enumerate(trace.header.lanes)
        if len(table := trace.table(i))
    ]


def _promise(decoder: str) -> str:
    badge = badge_of(decoder)
    if badge.lossless:
        return "lossless"
    relaxed = (
        decoder in BUILT_IN and not DECODERS[decoder].whole_only
    )  # whole_only decoders change what tokens see
    return "relaxed" if relaxed else badge.value


@dataclass(frozen=True, slots=True)
class Progress:
    """Committed tokens, model passes and seconds at the start and after each of S steps [S + 1]."""

    tokens: np.ndarray
    passes: np.ndarray
    seconds: np.ndarray


def progress(table: StepTable) -> Progress:
    """Return a lane's committed tokens, passes and seconds, at the start and after each step."""
    passes = np.concatenate([[0], table.steps["nfe"]])
    return Progress(table.frontier, passes.astype(int), table.clock)


@dataclass(frozen=True, slots=True)
class Rows:
    """Mean number of window rows that the model read, per pass and per committed token."""

    per_pass: float
    per_token: float


def rows_read(table: StepTable) -> Rows:
    """Return the mean number of window rows that the model read, per pass and per committed token.

    The numbers show that passes of different lanes differ in work: a pass reads a whole window.
    """
    rows, committed = table.steps["rows"].sum(), table.steps["committed"].sum()
    return Rows(float(rows / len(table)), float(rows / committed))


@dataclass(frozen=True, slots=True)
class Lengths:
    """The acceptance lengths of a lane's steps.

    Attributes:
        lengths: the lengths that occurred, ascending [K].
        steps: number of steps of each length [K].
        share: share of all steps that have each length [K].
        gain: share of the speed-up that came from each length [K].
        mean: the mean acceptance length.
    """

    lengths: np.ndarray
    steps: np.ndarray
    share: np.ndarray
    gain: np.ndarray
    mean: float


def acceptance_lengths(table: StepTable) -> Lengths:
    """Return the acceptance lengths of a lane's steps (SJD-PAC Fig. 1a and 1b).

    The acceptance length l of a step is the number of tokens that the step committed, the last
    sampled token included. If n_l of N steps have length l, the mean number of tokens a pass is
    1 + sum (l - 1) n_l / N. Vanilla AR has the 1 too, so the speed-up comes from the sum alone: the
    paper's "additionally accepted tokens". The gain of length l is its share of this sum. If no
    step was longer than 1, there is no speed-up and every gain is 0.
    """
    committed = table.steps["committed"].astype(int)
    lengths, counts = np.unique(committed, return_counts=True)
    extra = (lengths - 1) * counts
    return Lengths(
        lengths, counts, counts / counts.sum(), extra / max(extra.sum(), 1), float(committed.mean())
    )


def sorted_top1(table: StepTable) -> np.ndarray:
    """Return the model's top-1 probability at each of n committed positions, largest first [n].

    Forced positions are left out. Source: GSD Fig. 2 c to e.
    """
    rows = table.positions[table.committed & (table.positions["status"] != Status.FORCED)]
    return np.sort(share_values(rows["top1"]))[::-1]


def sorted_shifts(table: StepTable) -> np.ndarray:
    """Return the shifts of the n tests that committed a token, largest first [n].

    If the table has prices (see engine/decoders/priced.py), return the prices of all tokens
    instead.
    """
    shifts = share_values(table.shift)
    return np.sort(shifts[~np.isnan(shifts)])[::-1]


def is_claimed(lane: Runner, shifts: np.ndarray) -> bool:
    """Return whether a lane's shifts are all 0, but only because its decoder's author claims so.

    `is_claim` explains when a 0 is only a claim. `shifts` are sorted, largest first, so all are 0
    if the first is. Without shifts the result is False.
    """
    return len(shifts) > 0 and is_claim(lane.decoder, shifts[0])


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The acceptance of tested drafts in ten bins of 1 - TV, each 0.1 wide.

    `promise`, `share`, `low` and `high` are NaN in an empty bin.

    Attributes:
        trials: number of tested drafts in each bin [10].
        accepted: number of accepted drafts in each bin [10].
        promise: mean 1 - TV of each bin's trials [10].
        share: share of each bin's trials that were accepted [10].
        low: lower end of the share's 95% Wilson interval [10].
        high: upper end of that interval [10].
        rate: share of all trials that were accepted.
        promised: mean 1 - TV of all trials.
        z: number of standard deviations by which `rate` exceeds `promised`. The standard deviation
            assumes that every trial passes with probability 1 - TV.
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


def acceptance(table: StepTable) -> Acceptance | None:
    """Measure acceptance against 1 - TV(p, q). Return None if no draft was tested.

    The lossless rule accepts a draft x ~ q with probability exactly 1 - TV (GSD Proposition 1). A
    trial is a position whose draft was compared with a uniform number and then committed or
    replaced: its status is accepted or resampled. In a lane that draws several rows of the picture
    at once, a trial can also have the status rejected: its draft failed, and a later step commits
    the position. If several candidates were tried (SJD-PAC), the outcome of the first counts,
    because only the first was drawn from q and tested against all of p.

    Forced positions and drafts after a rejection are not trials. Neither are the comparisons of
    Jacobi and fixed-point iteration: they compare a draft with a new sample, and the probability
    that draft and sample agree is not 1 - TV.
    """
    tested = _tested(table)
    if not tested.any():
        return None
    promise = 1 - share_values(table.positions["tv"][tested])
    passed = _first_passed(table)[tested]
    bins = np.clip((promise * BINS).astype(int), 0, BINS - 1)
    trials = np.bincount(bins, minlength=BINS)
    accepted = np.bincount(bins, passed, BINS)
    sums = np.bincount(bins, promise, BINS)
    filled = np.where(trials > 0, trials, np.nan)
    low, high = wilson(accepted, filled)
    spread = math.sqrt((promise * (1 - promise)).clip(0).sum())
    excess = passed.sum() - promise.sum()
    return Acceptance(
        trials=trials,
        accepted=accepted.astype(int),
        promise=sums / filled,
        share=accepted / filled,
        low=low,
        high=high,
        rate=float(passed.mean()),
        promised=float(promise.mean()),
        z=float(excess / spread) if spread > 0 else 0.0,
    )


@dataclass(frozen=True, slots=True)
class Depths:
    """The acceptance of tested drafts by depth.

    Attributes:
        depth: depths at which drafts were tested, ascending [K]. Depth 1 is the first draft after
            the frontier or, if rows advance independently, after the frontier of the draft's row.
        trials: number of tested drafts at each depth [K].
        share: share of these drafts that were accepted [K].
        low: lower end of the share's 95% Wilson interval [K].
        high: upper end of that interval [K].
    """

    depth: np.ndarray
    trials: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


def acceptance_by_depth(table: StepTable, stride: int) -> Depths | None:
    """Measure how often a draft at each depth is accepted, if all drafts before it were accepted.

    This is EAGLE's n-alpha: n accepted drafts precede the tested draft, whose depth here is n + 1.
    Trials are those of `acceptance`. Forced positions do not count towards the depth. `stride` is
    the number of sequence positions from one row of the picture to the next. Returns None if no
    draft was tested.
    """
    tested = _tested(table)
    if not tested.any():
        return None
    # A window is a whole step or, if rows advance independently, one picture row of a step.
    row = table.position // stride if len(table.places) else np.zeros_like(table.step)
    window = table.step * (1 + row.max()) + row
    order = np.argsort(window, kind="stable")
    free = np.cumsum(table.positions["status"][order] != Status.FORCED)
    begins = np.flatnonzero(np.diff(window[order], prepend=-1))
    before = np.concatenate([[0], free])[begins]
    depth = np.empty_like(free)
    depth[order] = free - before.repeat(np.diff([*begins, len(order)]))
    depth = depth[tested]
    trials = np.bincount(depth)
    some = np.flatnonzero(trials)
    accepted = np.bincount(depth, _first_passed(table)[tested])[some]
    low, high = wilson(accepted, trials[some].astype(float))
    return Depths(some, trials[some], accepted / trials[some], low, high)


def _tested(table: StepTable) -> np.ndarray:
    rows = table.positions
    decided = table.committed & np.isin(rows["status"], (Status.ACCEPTED, Status.RESAMPLED))
    if len(table.places):
        decided |= rows["status"] == Status.REJECTED
    known = [rows[name] != NONE for name in ("draft", "tv", "uniform")]
    return decided & np.all(known, 0)


def _first_passed(table: StepTable) -> np.ndarray:
    passed = table.positions["status"] == Status.ACCEPTED
    several = table.candidate_counts > 0
    first = (np.cumsum(table.candidate_counts, dtype=int) - table.candidate_counts)[several]
    tried = table.candidates[first]
    passed[several] = tried["uniform"] < tried["acceptance"]
    return passed


def step_seconds(table: StepTable) -> Seconds:
    """Return the mean seconds that a step spent on each of its parts."""
    return Seconds(*table.seconds.mean(0).tolist())


@dataclass(frozen=True, slots=True)
class Distances:
    """The mean TV at each distance after a rejected position.

    Attributes:
        distance: distances in sequence positions, ascending [D].
        tv: mean TV at each distance [D].
        pairs: number of TVs in each mean [D], one for each pair of a rejecting step and the next.
    """

    distance: np.ndarray
    tv: np.ndarray
    pairs: np.ndarray


def tv_by_distance(table: StepTable) -> Distances:
    """Measure how far a rejection moves the distributions of later positions (SJD-PAC Fig. 4).

    A step that rejects the draft at position i puts another token there and leaves drafts at i + j.
    The q of these drafts is this step's p, which was computed with the rejected token at i. The
    next step computes p at i + j with the new token at i. Its TV(p, q) therefore measures how far
    the change at i moved the distribution at i + j. The result is the mean of this TV for each
    distance j, over all rejections of the lane.

    The paper masks only position i in the cache. Here tokens between i and i + j may have been
    redrawn too, and these changes also move the distribution at i + j. Besides, fewer passes have
    refined the drafts at the far end of a window than those near the frontier.

    The mean leaves out forced positions, positions that the rejecting step's window did not reach,
    and drafts that were not drawn from that step's p but, for example, by an EAGLE drafter. Lanes
    whose rows advance independently have no distances, because such a lane rejects in several
    places at once.
    """
    if len(table.places):
        return Distances(np.zeros(0, int), np.zeros(0), np.zeros(0, int))
    rows = table.positions
    last = table.first[:-1] + table.steps["committed"] - 1  # last committed row of each step
    rejecting = (rows["status"][last] == Status.RESAMPLED) & (rows["draft"][last] != NONE)
    before = np.maximum(table.step - 1, 0)  # for each row, the step before its step
    reach = table.frontier[:-1] + table.steps["positions"]
    is_pair = (
        (table.step > 0)
        & rejecting[before]
        & (table.position < reach[before])
        & (table.source == Source.BEFORE)
        & (rows["tv"] != NONE)
        & (rows["status"] != Status.FORCED)
    )
    distance = (table.position - table.position[last][before])[is_pair]
    tv = np.bincount(distance, share_values(rows["tv"][is_pair]))
    pairs = np.bincount(distance)
    some = np.flatnonzero(pairs)
    return Distances(some, tv[some] / pairs[some], pairs[some])
