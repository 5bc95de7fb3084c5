"""Sampled sequences against their exact joint distribution, by a test that may stop at any time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import torch

from engine.decoders.window import WindowDecoder

Sequence = tuple[int, ...]
Joint = dict[Sequence, float]

FALSE_ALARM = 1e-7  # the chance with which a lossless decoder ever fails
PRIORS = (3.0, 30.0, 300.0)  # observations that a prior weighs as much as


def sample(decoder: WindowDecoder, count: int, start: int = 0) -> Counter[Sequence]:
    """Whole sequences of `count` seeds from `start` on."""
    with torch.inference_mode():
        return Counter(tuple(decoder.generate("", start + seed)) for seed in range(count))


def smallest_p_value(sequences: Counter[Sequence], joint: Joint) -> float:
    """1 / e, e the mean of e-values of the joint distribution and of the marginals of every
    position and of every two neighbouring ones. 0 if an impossible sequence came up.

    Where sequences come from the joint distribution, e is a martingale of mean 1: the chance that
    the result ever falls below a, after however many sequences, is at most a (Ville)."""
    if any(joint.get(sequence, 0) == 0 for sequence in sequences):
        return 0.0
    length = len(next(iter(joint)))
    views: list[Callable[[Sequence], Sequence]] = [lambda s: s]
    views += [lambda s, i=i, n=n: s[i : i + n] for n in (1, 2) for i in range(length - n + 1)]
    logs = [_log_e_value(sequences, joint, view, prior) for view in views for prior in PRIORS]
    return math.exp(
        min(0.0, math.log(len(logs)) - float(torch.tensor(logs, dtype=torch.float64).logsumexp(0)))
    )


def _log_e_value(
    sequences: Counter[Sequence], joint: Joint, view: Callable[[Sequence], Sequence], prior: float
) -> float:
    """Log of the likelihood ratio between unknown probabilities, of which a Dirichlet distribution
    around the joint ones is the prior, and the joint ones."""
    chances, counts = Counter[Sequence](), Counter[Sequence]()
    for sequence, chance in joint.items():
        chances[view(sequence)] += chance
        counts[view(sequence)] += sequences[sequence]
    drawn = sum(
        math.lgamma(prior * p + counts[cell]) - math.lgamma(prior * p) - counts[cell] * math.log(p)
        for cell, p in chances.items()
        if p > 0
    )
    return math.lgamma(prior) - math.lgamma(prior + sum(counts.values())) + drawn


def lossless(decoder: WindowDecoder, count: int) -> bool:
    """Whether the test does not reject after `count` sequences."""
    return (
        smallest_p_value(sample(decoder, count), decoder.model.joint_distribution(decoder.plan))
        > FALSE_ALARM
    )


def decodes_until_caught(decoder: WindowDecoder, most: int, batch: int = 250) -> int | None:
    """After how many sequences the test rejects; None if not after `most`."""
    joint, sequences = decoder.model.joint_distribution(decoder.plan), Counter[Sequence]()
    for start in range(0, most, batch):
        sequences += sample(decoder, batch, start)
        if smallest_p_value(sequences, joint) < FALSE_ALARM:
            return start + batch
    return None
