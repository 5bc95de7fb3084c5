"""Many whole decodes of a toy, compared with its exact joint distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from engine.decoders.window import WindowDecoder
from engine.numerics.randomness import Purpose
from engine.trace import Status
from engine.trace.shares import NONE
from tests.toy import Toy

Joint = dict[tuple[int, ...], float]

FALSE_ALARM = 1e-7  # the chance with which a lossless decoder fails, for each test
PLANTED = 1e-12  # a planted bug must be surer than this


class QuickNoise:
    """Independent numbers from one pool, much cheaper than the keyed noise: keys are ignored, since
    each is used once in a decode. Only the Gumbel noise, which is read again and again, is kept: a
    decoder reads that of one purpose."""

    pool, used = torch.zeros(0), 0
    generator = torch.Generator()

    def __init__(self, seed: int, device: torch.device) -> None:
        self.table: Tensor | None = None

    @classmethod
    def reset(cls, seed: int) -> None:
        cls.generator.manual_seed(seed)
        cls.pool, cls.used = torch.zeros(0), 0

    @classmethod
    def take(cls, count: int) -> Tensor:
        if cls.used + count > len(cls.pool):
            pool = torch.rand(2**20, generator=cls.generator, dtype=torch.float64)
            cls.pool = pool.clamp(2**-53, 1 - 2**-53)
            cls.used = 0
        cls.used += count
        return cls.pool[cls.used - count : cls.used]

    def uniform(self, purpose: Purpose, start: int, rows: int, draw: int, count: int) -> Tensor:
        return self.take(rows * count).view(rows, count)

    def gumbel(self, start: int, count: int, codes: int) -> Tensor:
        if self.table is None:
            self.table = -torch.log(-torch.log(self.take(64 * codes).view(64, codes))).float()
        return self.table[start : start + count]


class CountingToy(Toy):
    """A toy that counts which rows its decoder kept: how far each step went, and whether it left
    the spine."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.seen: Counter[str] = Counter()

    def keep(self, ctx: object, rows: Sequence[int]) -> None:
        leaves = [i for i, row in enumerate(rows) if row != i]
        self.seen[f"length {len(rows)}"] += 1
        self.seen["off the spine"] += bool(leaves)
        if leaves:
            self.seen[f"left at depth {leaves[0]} for {len(leaves)}"] += 1
        super().keep(ctx, rows)


def sample(decoder: WindowDecoder, count: int, start: int = 0) -> Counter[tuple[int, ...]]:
    """Whole sequences of `count` seeds. What each step did is counted in the model's `seen`."""
    seen, sequences = decoder.model.seen, Counter()
    with torch.inference_mode():
        for seed in range(start, start + count):
            tokens: list[int] = []
            for step in decoder.steps("", seed):
                tokens += step.committed["token"].tolist()
                last = Status(int(step.committed["status"][-1]))
                drafted = (step.positions["draft"] != NONE).sum()
                seen["steps"] += 1
                seen[last.name.lower()] += 1
                seen["bonus"] += last is Status.FRESH and drafted > 0
                drafts = (Status.REJECTED, Status.REFINED, Status.DROPPED)
                still_drafts = np.isin(step.window["status"], drafts)
                seen["rejected"] += still_drafts.any()
                seen["end of image"] += (
                    step.before + len(step.positions) == decoder.model.length and drafted > 0
                )
                seen["forced"] += (step.committed["status"] == Status.FORCED).any()
            sequences[tuple(tokens)] += 1
    return sequences


def smallest_p_value(sequences: Counter[tuple[int, ...]], joint: Joint) -> float:
    """Of chi-square tests of the joint distribution and of the marginals of every position and of
    every two neighbouring ones, times their number (Bonferroni); 0 if an impossible sequence came
    up."""
    if any(sequence not in joint for sequence in sequences):
        return 0.0
    length = len(next(iter(joint)))
    views: list[Callable[[tuple[int, ...]], tuple[int, ...]]] = [lambda s: s]
    views += [lambda s, i=i, n=n: s[i : i + n] for n in (1, 2) for i in range(length - n + 1)]
    return min(1.0, len(views) * min(_chi_square(sequences, joint, view) for view in views))


def _chi_square(sequences: Counter[tuple[int, ...]], joint: Joint, view: Callable) -> float:
    observed, expected = Counter(), Counter()
    for sequence, chance in joint.items():
        expected[view(sequence)] += chance
        observed[view(sequence)] += sequences[sequence]
    total = sum(observed.values())
    cells = sorted(expected, key=expected.get)
    seen, due = (
        np.array([observed[c] for c in cells], float),
        np.array([expected[c] for c in cells]) * total,
    )
    # Cells too rare for the chi-square approximation are pooled.
    rare = int((due < 8).sum())
    if rare:
        seen, due = (
            np.append(seen[rare:], seen[:rare].sum()),
            np.append(due[rare:], due[:rare].sum()),
        )
        if due[-1] < 8 and len(due) > 1:
            seen, due = (
                np.append(seen[1:-1], seen[0] + seen[-1]),
                np.append(due[1:-1], due[0] + due[-1]),
            )
    if len(due) < 2:
        return 1.0
    return float(stats.chi2.sf(((seen - due) ** 2 / due).sum(), len(due) - 1))


def lossless(decoder: WindowDecoder, count: int, rounds: int = 4) -> float:
    """The smallest p-value after `count` decodes, or more, up to `rounds` times as many, while it
    stays below 0.2."""
    joint, sequences, result = decoder.model.joint_distribution(), Counter(), 0.0
    for i in range(rounds):
        sequences += sample(decoder, count, i * count)
        result = smallest_p_value(sequences, joint)
        if result > 0.2:
            break
    return result
