"""Sampled pictures against vanilla AR's distribution, by a test that may stop at any time.

Of a picture's token, given the tokens before it, p is known exactly. Its rank is the probability of
the tokens before it in an order of p's, and a random share of its own: of vanilla AR's pictures the
ranks are independent uniform numbers, whatever the model. A statistic counts the ranks of some
tokens, chosen by where they stand and by what stands before them, in eighths.

How a token came about chooses none: lossless decoders may accept the more often the likelier a
token is.
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
RUNS = 5  # of likely tokens before a token: none, one, .., four and more
FALSE_ALARM = 1e-7  # the chance with which a lossless decoder ever fails
PRIORS = (3.0, 30.0, 300.0)  # observations that a prior weighs as much as
SURE = 0.99  # the probability of which `least_deviation` speaks
BATCH = 50  # pictures between two looks at e
SPREAD = 0x9E3779B97F4A7C15  # an odd number: multiples of it differ in bits high and low
PROMPTS = ("", "a cat")  # of which a small model's distribution knows nothing


@dataclass
class Coverage:
    """What passes did: the statuses of committed tokens, the most that one committed, the most
    passes that a picture took, and the most through which a draft waited for its commit."""

    statuses: set[str] = field(default_factory=set)
    committed: int = 0
    passes: int = 0
    age: int = 0

    def add(self, steps: list[Step]) -> None:
        """The passes of a picture."""
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
    """Of some pictures: by statistic, the counts of ranks in each eighth; passes; and what they
    did. `impossible`: a token came up whose p is 0."""

    counts: dict[str, np.ndarray] = field(default_factory=dict)
    pictures: int = 0
    passes: int = 0
    impossible: bool = False
    coverage: Coverage = field(default_factory=Coverage)

    @property
    def log_e(self) -> float:
        """The log of the mean of every statistic's e-values, by every prior."""
        if self.impossible:
            return math.inf
        return log_mean([log_e_value(each) for each in self.counts.values()])

    def add(self, tokens: np.ndarray, ranks: np.ndarray, by_number: np.ndarray) -> None:
        """Count a picture's ranks [N], of the tokens [N] that are not forced. `ranks` order the
        vocabulary by probability, `by_number` by the token's number."""
        for name, chosen in _statistics(tokens, ranks, by_number):
            eighths = np.bincount((chosen * EIGHTHS).astype(int), minlength=EIGHTHS)
            self.counts[name] = self.counts.get(name, 0) + eighths
        self.pictures += 1


def _statistics(
    tokens: np.ndarray, ranks: np.ndarray, by_number: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Every statistic's ranks. What stands before a token chooses it, never what it is itself."""
    yield "all tokens", ranks
    yield "all tokens, by their numbers", by_number
    for n, rank in enumerate(ranks):
        yield f"token {n + 1}", np.array([rank])
        yield f"token {n + 1}, by its number", by_number[n : n + 1]
    before = np.concatenate([[-1.0], ranks[:-1]])
    for quarter in range(4):
        chosen = (before * 4).astype(int) == quarter
        yield f"behind a token in quarter {quarter + 1}", ranks[chosen & (before >= 0)]
    likely, run = [], 0
    for rank in before:
        run = run + 1 if 0 <= rank < 0.5 else 0
        likely.append(min(run, RUNS - 1))
    for run in range(RUNS):
        yield f"behind {run} likely tokens", ranks[np.array(likely) == run]
    odd = np.concatenate([[0], tokens.cumsum()[:-1]]) % 2 == 1
    third = np.concatenate([[0, 0, 0], tokens])[: len(tokens)] % 2 == 1
    for name, chosen in (("an odd sum", odd), ("an odd third token back", third)):
        yield f"behind {name}", ranks[chosen]
        yield f"not behind {name}", ranks[~chosen]
        yield f"behind {name}, by their numbers", by_number[chosen]


def ranks_of(
    model: Toy, plan: Plan, tokens: list[int], shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return a plan's tokens that are not forced, with their ranks of both orders: by probability
    and by number. None where a token is impossible.

    `shares` [length] are uniform numbers: where in its own probability each rank lies.
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


def sample(decoder: Decoder, model: Toy, plan: Plan, most: int, tests: int = 1) -> SampledPictures:
    """Pictures until the test rejects, or `most`, of prompts and seeds of all 63 bits. `tests`: of
    how many tests this is one, whose mean e rejects."""
    found = SampledPictures()
    place = [plan.slots.index(slot) for slot in decoder.plan.slots]
    with torch.inference_mode():
        for number in range(most):
            seed = number * SPREAD % 2**63
            steps = list(decoder.steps(PROMPTS[number % len(PROMPTS)], seed))
            drawn = StepTable.join([step.rows for step in steps]).tokens
            tokens = [0] * len(drawn)
            for at, token in zip(place, drawn, strict=True):
                tokens[at] = token
            found.passes += len(steps)
            found.coverage.add(steps)
            shares = np.random.default_rng(number).random(len(tokens))
            if (ranks := ranks_of(model, plan, tokens, shares)) is None:
                found.impossible, found.pictures = True, found.pictures + 1
                return found
            found.add(*ranks)
            if found.pictures % BATCH == 0 and rejects(found.log_e - math.log(tests)):
                return found
    return found


def log_e_value(counts: Sequence[int] | np.ndarray, chances: Sequence[float] = EQUAL) -> float:
    """The log of the mean, over PRIORS, of the likelihood ratio between unknown probabilities of
    the cells, of which a Dirichlet distribution around `chances` is the prior, and `chances`.

    Where cells are drawn with these it is of a martingale of mean 1: the chance that it ever
    exceeds 1 / a, after however many draws, is at most a (Ville)."""
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
    """The log of the mean of numbers, by their logs."""
    highest = max(logs)
    if math.isinf(highest):
        return highest
    return highest + math.log(math.fsum(math.exp(each - highest) for each in logs) / len(logs))


def rejects(log_e: float) -> bool:
    """Whether so large an e says that the pictures are not of vanilla AR's distribution."""
    return log_e > -math.log(FALSE_ALARM)


def least_deviation(count: int, statistics: int, tests: int) -> float:
    """The least difference of an eighth's probability that one of so many statistics, of `count`
    ranks, shows with probability SURE: the others share it out. By the normal distribution of the
    eighth's count."""
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
    """The least number up to `highest` for which something holds, within a thousandth; `highest`
    where it holds for none."""
    low, high = 0.0, highest
    while high - low > 5e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
