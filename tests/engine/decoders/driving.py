"""Driving a decoder's rule by hand: chosen windows, chosen laws and chosen uniforms."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.decoders.run import Run
from engine.decoders.verdict import Verdict, Window
from engine.decoders.window import WindowDecoder
from engine.distributions import one_hot
from engine.randomness import Purpose

ACCEPT, REFUSE = 0.0, 1.0  # below every acceptance probability but 0; not below any


class Chosen:
    """Noise whose uniforms are chosen: one row [count] for every position (or one for all), or 0.5
    where nothing was chosen."""

    def __init__(self, **rows: list[list[float]]) -> None:
        self.rows = {Purpose[name.upper()]: torch.tensor(values) for name, values in rows.items()}

    def uniform(self, purpose: Purpose, positions: Tensor, draw: int, count: int) -> Tensor:
        u = torch.full((len(positions), count), 0.5)
        rows = self.rows.get(purpose, u[:0])
        rows = rows.expand(len(u), -1) if len(rows) == 1 else rows[: len(u)]
        u[: len(rows), : rows.shape[1]] = rows[:, :count]
        return u

    def gumbel(self, start: int, count: int, codes: int) -> Tensor:
        return torch.zeros(count, codes)


def judged(
    decoder: WindowDecoder, p: Tensor, q: Tensor, drafts: list[int], **rows: list[list[float]]
) -> Verdict:
    """The decoder's verdict on a chain of drafts [H]; laws p [H + 1, V] and q [H, V], or one each
    for all positions."""
    run = Run(decoder, "", 0)
    run.noise = Chosen(**rows)
    p, q = p.expand(len(drafts) + 1, -1), q.expand(len(drafts), -1)
    return decoder.judge(
        run, Window(torch.tensor(drafts, dtype=torch.long), q.contiguous()), p.contiguous()
    )


def acceptances(decoder: WindowDecoder, p: Tensor, q: Tensor) -> Tensor:
    """[V]: the probability with which each token is accepted as a draft from q where the target's
    law is p."""
    return judged(decoder, p, q, list(range(len(p)))).acceptance[:-1]


def refusal_law(decoder: WindowDecoder, p: Tensor, q: Tensor, x: int, grid: int) -> Tensor:
    """[V]: the law of the token committed in the place of a refused draft x, the residual's uniform
    integrated on a grid.

    All uniforms of a row but the first run over the grid together: a rule may use any one of them
    for this draw."""
    counts = torch.zeros(len(p), dtype=torch.float64)
    for i in range(grid):
        verdict = judged(decoder, p, q, [x], verify=[[REFUSE] + [(i + 0.5) / grid] * 9])
        assert int(verdict.count) == 1
        counts[verdict.tokens[0]] += 1
    return counts / grid


def committed_law(decoder: WindowDecoder, p: Tensor, q: Tensor, grid: int = 200) -> Tensor:
    """[V]: the law of what one verification commits at the first position, the draft drawn from
    q."""
    total = torch.zeros(len(p), dtype=torch.float64)
    for x, (chance, acceptance) in enumerate(
        zip(q.tolist(), acceptances(decoder, p, q).tolist(), strict=True)
    ):
        if chance > 0:
            total[x] += chance * acceptance
            if acceptance < 1:
                total += chance * (1 - acceptance) * refusal_law(decoder, p, q, x, grid)
    return total


def point_mass(token: int, codes: int) -> Tensor:
    return one_hot(torch.tensor(token), codes)


def alpha(decoder: WindowDecoder, p: Tensor, q: Tensor) -> float:
    """P(accept) of a draft from q."""
    return float((q * acceptances(decoder, p, q)).sum())
