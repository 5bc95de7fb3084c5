"""Tests sampled pictures against vanilla AR's distribution; the test may stop at any time.

The distribution p of a picture's token, given the tokens before it, is known exactly. Put all codes
in some order. The token's rank is the total probability of the codes that precede the token's code
in that order, plus a random share of the token's own probability. For vanilla AR's pictures the
ranks are independent uniform numbers, whatever the model. A statistic counts how many ranks of some
tokens lie in each eighth of (0, 1). These tokens are chosen by their place, and by the tokens
before them.

Tokens are never chosen by their status: a lossless decoder may accept likelier tokens more
often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
import torch

from engine.core import Plan
from engine.decoders.base import Decoder
from engine.trace import Status, Step, StepTable
from tools.judge.toys import Toy

EIGHTHS = 8
EQUAL = (1 / EIGHTHS,) * EIGHTHS
RUNS = 5  # classes by the number of likely tokens just before a token: 0, 1, .., 4 and more
FALSE_ALARM = 1e-7  # the chance with which a lossless decoder ever fails
PRIORS = (3.0, 30.0, 300.0)  # each prior's weight in observations
SURE = 0.99  # the probability of showing a deviation of `least_deviation`
BATCH = 50  # pictures between two looks at e
UNDECIDED = math.log(10)  # of e: a larger one needs more pictures
AGAIN = 8  # times as many pictures at most as planned, where e needs more
SPREAD = 0x9E3779B97F4A7C15  # odd, so that its multiples differ in high and low bits
PROMPTS = ("", "a cat")  # a small model's distribution does not depend on them


@dataclass
class Coverage:
    """The behaviours that the passes of some pictures showed.

    Attributes:
        statuses: the statuses of committed tokens.
        committed: the largest number of tokens that a pass committed.
        passes: the largest number of passes that a picture took.
        age: the largest number of passes that a draft waited before it was committed.
    """

    statuses: set[str] = field(default_factory=set)
    committed: int = 0
    passes: int = 0
    age: int = 0

    def add(self, steps: list[Step]) -> None:
        """Add the passes of a picture."""
        ages: dict[int, int] = {}
        for step in steps:
            rows, count = step.rows, step.after - step.before
            status = rows.positions["status"][:count]
            self.statuses |= {Status(value).name.lower() for value in set(status.tolist())}
            self.committed = max(self.committed, count)
            covered = range(step.before, step.before + len(rows.positions))
            ages |= {n: ages.get(n, -1) + 1 for n in covered}
            self.age = max(self.age, *(ages[n] for n in covered[:count]))
        self.passes = max(self.passes, len(steps))


@dataclass
class SampledPictures:
    """The results of the pictures that were sampled so far.

    Attributes:
        counts: for each statistic, the number of ranks in each eighth.
        impossible: whether a token with p = 0 was drawn.
        coverage: the behaviours that the passes showed.
    """

    counts: dict[str, np.ndarray] = field(default_factory=dict)
    pictures: int = 0
    passes: int = 0
    impossible: bool = False
    coverage: Coverage = field(default_factory=Coverage)

    @property
    def log_e(self) -> float:
        """The log of the mean of all statistics' e-values; inf if `impossible`."""
        if self.impossible:
            return math.inf
        return log_mean([log_e_value(each) for each in self.counts.values()])

    def add(self, tokens: np.ndarray, ranks: np.ndarray, by_number: np.ndarray) -> None:
        """Add a picture, given its tokens [N] that are not forced and their ranks [N].

        Ranks depend on an order of the vocabulary: by probability in `ranks`, by the tokens'
        numbers in `by_number`.
        """
        for name, chosen in _statistics(tokens, ranks, by_number):
            eighths = np.bincount((chosen * EIGHTHS).astype(int), minlength=EIGHTHS)
            self.counts[name] = self.counts.get(name, 0) + eighths
        self.pictures += 1


def _statistics(
    tokens: np.ndarray, ranks: np.ndarray, by_number: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the ranks of every statistic.

    A statistic chooses tokens by their place and by what precedes them, never by the token itself.
    """
    yield "all tokens", ranks
    yield "all tokens, by their numbers", by_number
    for n, rank in enumerate(ranks):
        yield f"token {n + 1}", np.array([rank])
        yield f"token {n + 1}, by its number", by_number[n : n + 1]
    before = np.concatenate([[-1.0], ranks[:-1]])
    for quarter in range(4):
        chosen = (before * 4).astype(int) == quarter
        yield f"after a token in quarter {quarter + 1}", ranks[chosen & (before >= 0)]
    likely, run = [], 0
    for rank in before:
        run = run + 1 if 0 <= rank < 0.5 else 0
        likely.append(min(run, RUNS - 1))
    for run in range(RUNS):
        yield f"after {run} likely tokens", ranks[np.array(likely) == run]
    odd = np.concatenate([[0], tokens.cumsum()[:-1]]) % 2 == 1
    third = np.concatenate([[0, 0, 0], tokens])[: len(tokens)] % 2 == 1
    for name, chosen in (("an odd sum", odd), ("an odd third token back", third)):
        yield f"after {name}", ranks[chosen]
        yield f"not after {name}", ranks[~chosen]
        yield f"after {name}, by their numbers", by_number[chosen]


def ranks_of(
    model: Toy, plan: Plan, tokens: list[int], shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return a picture's tokens that are not forced, and two ranks of each.

    A rank is the total probability of the codes before the token's, plus a share of the token's
    own. For the first rank the codes are sorted by probability, likeliest first; for the second, by
    their numbers. `shares` [length] has each position's share, uniform in (0, 1). Returns None if a
    token has p = 0.
    """
    free, by_chance, by_number = list[int](), list[float](), list[float]()
    for n, token in enumerate(tokens):
        if plan.forced[n] >= 0:
            continue
        p = model.conditional(plan, tokens[:n]).tolist()
        if p[token] == 0:
            return None
        free.append(token)
        own = shares[n] * p[token]
        likelier = sum(x for i, x in enumerate(p) if (-x, i) < (-p[token], token))
        by_chance.append(min(likelier + own, 1 - 1e-12))
        by_number.append(min(sum(p[:token]) + own, 1 - 1e-12))
    return np.array(free), np.array(by_chance), np.array(by_number)


def sample(
    decoder: Decoder, model: Toy, plan: Plan, planned: int, tests: int = 1
) -> SampledPictures:
    """Sample `planned` pictures, or fewer if the test rejects before.

    While e is above UNDECIDED then, as many pictures again are sampled, up to AGAIN times as many
    as planned. Since e is a martingale, that makes no false alarm more likely.

    The pictures have several prompts, and seeds that use all 63 bits. The verdict depends on the
    mean e-value of `tests` tests, this one included. This test rejects when its own e-value makes
    the mean large enough, even if all other e-values are 0.
    """
    tally = SampledPictures()
    place = [plan.slots.index(slot) for slot in decoder.plan.slots]
    with torch.inference_mode():
        for number in range(AGAIN * planned):
            seed = number * SPREAD % 2**63
            steps = list(decoder.steps(PROMPTS[number % len(PROMPTS)], seed))
            drawn = StepTable.join([step.rows for step in steps]).tokens
            tokens = [0] * len(drawn)
            for at, token in zip(place, drawn, strict=True):
                tokens[at] = token
            tally.passes += len(steps)
            tally.coverage.add(steps)
            shares = np.random.default_rng(number).random(len(tokens))
            if (ranks := ranks_of(model, plan, tokens, shares)) is None:
                tally.impossible, tally.pictures = True, tally.pictures + 1
                return tally
            tally.add(*ranks)
            if tally.pictures % BATCH == 0 and rejects(tally.log_e - math.log(tests)):
                return tally
            if tally.pictures % planned == 0 and tally.log_e <= UNDECIDED:
                return tally
    return tally


def log_e_value(counts: Sequence[int] | np.ndarray, chances: Sequence[float] = EQUAL) -> float:
    """Return the log of an e-value: the mean, over PRIORS, of a likelihood ratio.

    `counts` says how often each cell was drawn, `chances` how probable each cell should be; by
    default they are eight equal cells. The numerator is the likelihood of `counts` if the cells
    have unknown probabilities, with a Dirichlet prior around `chances`. The denominator is the
    likelihood of `counts` under `chances`. The result is inf if a cell with chance 0 was drawn.

    If the cells are drawn with `chances`, the e-value is a martingale of mean 1. For every ε, the
    chance that it ever exceeds 1 / ε, after however many draws, is then at most ε (Ville).
    """
    cells = [(int(n), p) for n, p in zip(counts, chances, strict=True) if p > 0]
    if sum(n for n, _ in cells) < sum(counts):
        return math.inf
    return log_mean([_log_ratio(cells, prior) for prior in PRIORS])


def _log_ratio(cells: list[tuple[int, float]], prior: float) -> float:
    drawn = math.fsum(
        math.lgamma(prior * p + n) - math.lgamma(prior * p) - n * math.log(p) for n, p in cells
    )
    return math.lgamma(prior) - math.lgamma(prior + sum(n for n, _ in cells)) + drawn


def log_mean(logs: list[float]) -> float:
    """Return the log of the mean of some numbers, given the numbers' logs."""
    highest = max(logs)
    if math.isinf(highest):
        return highest
    return highest + math.log(math.fsum(math.exp(each - highest) for each in logs) / len(logs))


def rejects(log_e: float) -> bool:
    """Return whether an e-value is too large for pictures with vanilla AR's distribution."""
    return log_e > -math.log(FALSE_ALARM)


def least_deviation(count: int, statistics: int, tests: int) -> float:
    """Return how far an eighth's probability must be above 1 / 8 for a statistic to detect it.

    The statistic has `count` ranks, and detects the deviation with probability SURE. There are
    `tests` tests with `statistics` statistics each. The other eighths are taken to be equally
    probable, and the eighth's count to be normally distributed.
    """
    needed = math.log(statistics * tests) - math.log(FALSE_ALARM)
    spreads = NormalDist().inv_cdf(SURE)

    def shown(deviation: float) -> bool:
        p = 1 / EIGHTHS + deviation
        low = count * p - spreads * math.sqrt(count * p * (1 - p))
        rest = (count - low) / (EIGHTHS - 1)
        counts = [round(low), *[round(rest)] * (EIGHTHS - 1)]
        return low > count / EIGHTHS and log_e_value(counts) > needed

    return _least(shown, 1 - 1 / EIGHTHS)


def _least(holds: Callable[[float], bool], highest: float) -> float:
    """Return the least number up to `highest` for which `holds` is true, within a thousandth.

    `holds` must stay true for larger numbers. Returns `highest` if it is true for none.
    """
    low, high = 0.0, highest
    while high - low > 5e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
