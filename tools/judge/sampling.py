"""Sampled sequences against their exact joint distribution, by a test that may stop at any time."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable

import torch

from engine.decoders.base import Decoder

Sequence = tuple[int, ...]
Joint = dict[Sequence, float]

FALSE_ALARM = 1e-7  # the chance with which a lossless decoder ever fails
PRIORS = (3.0, 30.0, 300.0)  # observations that a prior weighs as much as


def sample_pictures(decoder: Decoder, count: int, start: int = 0) -> Counter[Sequence]:
    """Whole sequences of `count` seeds from `start` on."""
    with torch.inference_mode():
        return Counter(tuple(decoder.generate("", start + seed)) for seed in range(count))


def log_e_value(sequences: Counter[Sequence], joint: Joint) -> float:
    """The log of e, the mean of e-values of the joint distribution and of the marginals of every
    position and of every two neighbouring ones. Infinite if an impossible sequence came up.

    Where sequences come from the joint distribution, e is a martingale of mean 1: the chance that
    it ever exceeds 1 / a, after however many sequences, is at most a (Ville)."""
    if any(joint.get(sequence, 0) == 0 for sequence in sequences):
        return math.inf
    length = len(next(iter(joint)))
    views: list[Callable[[Sequence], Sequence]] = [lambda s: s]
    for n in (1, 2):
        views += [lambda s, i=i, n=n: s[i : i + n] for i in range(length - n + 1)]  # type: ignore[misc]
    logs = [_log_of_view(sequences, joint, view, prior) for view in views for prior in PRIORS]
    return float(torch.tensor(logs, dtype=torch.float64).logsumexp(0)) - math.log(len(logs))


def _log_of_view(
    sequences: Counter[Sequence], joint: Joint, view: Callable[[Sequence], Sequence], prior: float
) -> float:
    """Log of the likelihood ratio between unknown probabilities, of which a Dirichlet distribution
    around the joint ones is the prior, and the joint ones."""
    chances, counts = defaultdict[Sequence, float](float), Counter[Sequence]()
    for sequence, chance in joint.items():
        chances[view(sequence)] += chance
        counts[view(sequence)] += sequences[sequence]
    drawn = math.fsum(
        math.lgamma(prior * p + counts[cell]) - math.lgamma(prior * p) - counts[cell] * math.log(p)
        for cell, p in chances.items()
        if p > 0
    )
    return math.lgamma(prior) - math.lgamma(prior + counts.total()) + drawn


def sampled_until_caught(
    decoder: Decoder, joint: Joint, most: int, batch: int = 250, tests: int = 1
) -> tuple[int, float]:
    """How many sequences were sampled, and the log of e then: until the test rejects, or `most`.
    `tests`: of how many tests this is one, whose mean e rejects."""
    sequences, log_e = Counter[Sequence](), 0.0
    while sequences.total() < most and not rejects(log_e - math.log(tests)):
        sequences += sample_pictures(decoder, batch, sequences.total())
        log_e = log_e_value(sequences, joint)
    return sequences.total(), log_e


def rejects(log_e: float) -> bool:
    """Whether so large an e says that the sequences are not of the joint distribution."""
    return log_e > -math.log(FALSE_ALARM)
