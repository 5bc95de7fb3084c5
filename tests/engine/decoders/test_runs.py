"""Acceptance by runs against its definition in plain lists, and what it commits."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from engine.decoders.relaxed import RelaxedSettings, RelaxedSJD
from engine.trace import Status
from tests.engine.decoders.driving import ACCEPT, REJECT, near
from tools.judge.choices import outcomes
from tools.judge.one_pass import verify_chain, verifying, window_of
from tools.judge.symbolic import SymbolicNoise, settled
from tools.judge.toys import Toy

CODES = 5
RUNS = RelaxedSJD(Toy((3, 3), CODES), RelaxedSettings(relax="runs"))
TWO = RelaxedSJD(Toy((2, 3), 2), RelaxedSettings(relax="runs"))


def accepted(mass: list[float], ratio: list[float], u: list[float]) -> tuple[int, list[float]]:
    """How many drafts are accepted, and h of each."""
    h = [0.0] * len(mass)
    start, count, fails = 0, 0, False
    while start < len(mass):
        end = start + 1
        while end < len(mass) and mass[end] >= mass[end - 1]:
            end += 1
        for e in range(start, end):
            whole = sum(mass[start : e + 1])
            g = max(g for g in range(start, e + 1) if sum(mass[g : e + 1]) >= 0.8 * whole)
            h[e] = min(1.0, math.prod(ratio[g : e + 1]))
        passed = [e for e in range(start, end) if u[e] < h[e]]
        if not fails:
            count = passed[-1] + 1 if passed else count
            fails = count < end
        start = end
    return count, h


@pytest.mark.parametrize("seed", range(40))
def test_runs_are_accepted_as_they_are_defined(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    p = (2 * torch.randn(7, CODES, generator=generator)).softmax(-1)
    q = (2 * torch.randn(6, CODES, generator=generator)).softmax(-1)
    if seed % 4 == 0:  # as top-k leaves it
        p[p < 0.1] = 0
        p /= p.sum(-1, keepdim=True)
    drafts = torch.randint(CODES, (6,), generator=generator)
    u = torch.rand(6, generator=generator)
    rows = torch.arange(6)
    mass, ratio = p[rows, drafts], p[rows, drafts] / q[rows, drafts]
    count, h = accepted(mass.tolist(), ratio.tolist(), u.tolist())
    numbers = [[each, 0.5, 0.5] for each in u.tolist()]
    found = verify_chain(RUNS, p, q, drafts.tolist(), verify=numbers)
    assert int(found.count) == count + 1
    near(found.acceptance[:6], h)
    assert found.tokens[:count].equal(drafts[:count])


def test_a_run_commits_a_draft_that_p_rules_out() -> None:
    """p of the drafts is 0, 1: the second alone is tested, and it is sure to pass."""
    p = torch.tensor([[0.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    found = verify_chain(TWO, p, torch.tensor([0.5, 0.5]), [0, 1], verify=[[0.9, 0.5, 0.5]])
    assert found.status.tolist() == [Status.ACCEPTED, Status.ACCEPTED, Status.FRESH]
    near(found.acceptance[:2], [0, 1])


def test_the_first_draft_of_a_run_that_fails_is_replaced_from_the_residual() -> None:
    p, q = torch.tensor([1 / 3, 2 / 3]), torch.tensor([2 / 3, 1 / 3])
    found = verify_chain(TWO, p, q, [0, 0], verify=[[ACCEPT, 0.5, 0.5], [REJECT, 0.5, 0.5]])
    assert found.status.tolist() == [Status.ACCEPTED, Status.RESAMPLED, Status.REFINED]
    assert found.tokens[:2].tolist() == [0, 1]


def first_of_two() -> Tensor:
    """The distribution of the first token where two drafts of q = (2/3, 1/3) are tested under p =
    (1/3, 2/3)."""
    p, q = torch.tensor([1 / 3, 2 / 3]), torch.tensor([2 / 3, 1 / 3])
    first = torch.zeros(2, dtype=torch.float64)
    for drafts in itertools.product(range(2), repeat=2):

        def run() -> Tensor:
            state = verifying(TWO)
            state.noise = SymbolicNoise()
            state.room.fill_(2)
            window = window_of(torch.tensor(drafts), q.expand(2, -1))  # noqa: B023
            token: Tensor = settled(TWO.verify(state, window, p.expand(3, -1)).tokens[:1])
            return token

        for choices, token in outcomes(run, {}):
            first[int(token)] += math.prod(float(q[x]) for x in drafts) * choices.weight
    return first


def test_two_drafts_change_the_first_token_by_a_sixth() -> None:
    near(first_of_two(), [1 / 2, 1 / 2])
