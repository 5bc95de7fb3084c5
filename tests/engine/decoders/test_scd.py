"""SCD's couplings: how often a redrawn draft stays the same, and that the rest is SJD's."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from engine.core import Verification
from engine.decoders.decode_state import DecodeState
from engine.decoders.scd import SCD, SCDSettings
from engine.trace import Status
from tests.engine.decoders.driving import REJECT, TOY, P, Q, near, point_mass
from tools.judge.one_pass import verify_chain, window_of

GUMBEL, MAXIMAL = (SCD(TOY, SCDSettings(coupling=name)) for name in ("gumbel", "maximal"))


def gumbel_overlap(p: torch.Tensor, q: torch.Tensor) -> float:
    """P(argmax(log p + G) = argmax(log q + G)) for positive p and q: the sum over x of
    1 / sum_y max(p_y / p_x, q_y / q_x)."""
    ratios = torch.maximum(p[None] / p[:, None], q[None] / q[:, None])
    return float((1 / ratios.sum(-1)).sum())


def test_gumbel_drafts_of_two_passes_agree_as_often_as_the_coupling_says() -> None:
    """One position behind a rejection, under q in one pass and under p in the next, for many
    seeds: both drafts follow their distributions, and agree with the probability of the
    coupling."""
    count, same, drawn = 500, 0, torch.zeros(2, 4)
    window = window_of(torch.tensor([0, 0]), torch.eye(4)[:1].expand(2, -1))
    for seed in range(count):
        state = GUMBEL.begin("", seed)
        tokens = [int(GUMBEL.verify(state, window, d.expand(3, -1)).tokens[2]) for d in (Q, P)]
        drawn[0, tokens[0]] += 1
        drawn[1, tokens[1]] += 1
        same += tokens[0] == tokens[1]
    for observed, expected in zip(drawn, (Q, P), strict=True):
        expected = torch.softmax(expected.log().double(), -1) * count
        assert stats.chisquare(observed, expected).pvalue > 1e-6
    assert stats.binomtest(same, count, gumbel_overlap(P, Q)).pvalue > 1e-6


def test_a_rejected_drafts_replacement_does_not_read_its_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever G is, the residual's uniform alone says what is committed."""
    p = torch.tensor([0.0, 0.3, 0.3, 0.4])
    for favourite in range(4):
        noise = 50 * point_mass(favourite, 4)
        monkeypatch.setattr(DecodeState, "gumbel", lambda _, rows, x=noise: x.expand(rows, -1))
        for u, token in ((0.01, 2), (0.2, 2), (0.3, 3), (0.99, 3)):
            done = verify_chain(GUMBEL, p, Q, [0, 1], verify=[[REJECT, u, 0.5]])
            assert int(done.count) == 1
            assert int(done.tokens[0]) == token  # R(p, q) = (0, 0, .25, .75)
        assert done.tokens[1] == (favourite or done.tokens[1])  # a draft behind it does


def coupled(drafts: list[int], u: list[float]) -> Verification:
    """The first draft rejected, those behind it coupled with numbers u."""
    rows = [[0.5, 0.5]] + [[number, 0.9] for number in u]
    return verify_chain(MAXIMAL, P, Q, [0, *drafts], verify=[[REJECT, 0.9, 0.9]], coupling=rows)


def test_maximal_coupling_keeps_with_p_over_q_else_redraws_from_the_residual() -> None:
    done = coupled([0, 0, 1, 1, 3], [0.24, 0.26, 0.66, 0.67, 0.99])
    assert int(done.count) == 1
    assert done.tokens[1:6].tolist() == [0, 3, 1, 3, 3]
    kept, redrawn = Status.REFINED, Status.REJECTED
    assert done.status[1:6].tolist() == [kept, redrawn, kept, redrawn, kept]
    near(done.acceptance[1:6], [0.25, 0.25, 2 / 3, 2 / 3, 1])
    near(done.uniform[1:6], [0.24, 0.26, 0.66, 0.67, 0.99])
    assert done.q[1:].equal(P.expand(6, -1))
