"""SJD-PAC's two parts against worked numbers."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from engine.decoders.decode_state import DecodeState, Verification
from engine.decoders.sjd_pac import SJDPAC, CandidateWalk, PACSettings, TreeWindow, draw_candidates
from engine.decoders.tree import tree
from engine.trace import Status
from tests.engine.decoders.driving import ACCEPT, REJECT, TOY, FixedNoise, P, Q, near, verify_chain
from tests.floats import rounding
from tests.toy import Toy

# Proactive drafting: candidates without replacement


def one_level(K: int) -> Tensor:
    """Children of a root and its K leaves."""
    return torch.tensor([list(range(1, K + 1)), *[[-1] * K] * K])


def walked(p: Tensor, q: Tensor, candidates: tuple[int, ...], u: list[float]) -> CandidateWalk:
    """One level of the walk over candidates drawn from q one after another without replacement."""
    candidate_q, left = [], q
    for token in candidates:
        candidate_q.append(left)
        left = left.scatter(0, torch.tensor([token]), 0)
        left = left / left.sum().clamp_min(1e-30)
    walk = CandidateWalk(p.expand(len(candidates) + 1, -1), torch.tensor(len(candidates)))
    children, q = one_level(len(candidates)), torch.stack(candidate_q)
    walk.descend(children, torch.tensor(candidates), q, torch.tensor(u))
    return walk


@pytest.mark.parametrize(("K", "accepted"), [(1, 0.6), (2, 0.7643), (3, 0.8403), (4, 1.0)])
def test_the_walk_commits_by_p_for_any_number_of_candidates(K: int, accepted: float) -> None:
    """Every ordered draw of K candidates, with its probability; for each the walk's own acceptances
    and leftover."""
    p, q = Q, P
    committed, total = torch.zeros(4, dtype=torch.float64), 0.0
    for candidates in itertools.permutations(range(4), K):
        chance, rest = 1.0, 1.0
        for token in candidates:
            chance, rest = chance * float(q[token]) / rest, rest - float(q[token])
        for k, token in enumerate(candidates):
            walk = walked(p, q, candidates[: k + 1], [REJECT] * k + [ACCEPT])
            acceptance = float(walk.acceptance[0]) if walk.alive else 0.0
            committed[token] += chance * acceptance
            total += chance * acceptance
            chance *= 1 - acceptance
        left = walked(p, q, candidates, [REJECT] * K).left.double()
        committed += chance * left / left.sum()
    near(committed, p.tolist(), rounding(1))
    assert total == pytest.approx(accepted, abs=1e-4)


def candidate_state(positions: int, u: list[list[float]]) -> DecodeState:
    state = DecodeState(SJDPAC(Toy((1, positions), 4)), "", 0)
    state.noise = FixedNoise(candidate=u)
    return state


def test_candidates_are_drawn_without_replacement_from_the_spines_distribution() -> None:
    grid = [(i + 0.5) / 60 for i in range(60)]
    u = [[0.5, *pair] for pair in itertools.product(grid, grid)]
    drafts, spine_q = torch.full((3600,), 3), P.expand(3600, -1)
    tokens, q = draw_candidates(candidate_state(3600, u), drafts, spine_q, 3600, 3)
    near(q[0, 0], P.tolist())
    near(q[0, 1], [1 / 6, 1 / 3, 1 / 2, 0])
    pairs = torch.bincount(tokens[:, 1] * 4 + tokens[:, 2], minlength=16) / 3600
    expected = [
        0 if a == b or 3 in (a, b) else float(P[a] / 0.6 * P[b] / (0.6 - P[a]))
        for a, b in itertools.product(range(4), repeat=2)
    ]
    near(pairs, expected, 1e-3)
    for row in (0, 1800, 3599):
        left = P.clone()
        left[[3, int(tokens[row, 1])]] = 0
        near(q[row, 2], (left / left.sum()).tolist())


def test_a_distribution_with_too_few_tokens_gives_candidates_that_are_never_accepted() -> None:
    spine_q = torch.tensor([[0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]])
    state = candidate_state(2, [[0.5] * 4] * 2)
    tokens, q = draw_candidates(state, torch.tensor([1, 0]), spine_q, 2, 4)
    assert tokens[0, :2].tolist() == [1, 2]
    assert not q[0, 2:].any()
    assert not q[1, 1:].any()
    for level, draws in enumerate((2, 1)):
        walk = CandidateWalk(torch.full((5, 4), 0.25), torch.tensor(4))
        u = torch.tensor([REJECT] * draws + [ACCEPT] * (4 - draws))
        walk.descend(one_level(4), tokens[level], q[level], u)
        assert not walk.alive


def verify_tree(u: list[float]) -> Verification:
    """Verification of a tree whose nodes all have p = P; u are the candidates' uniforms at every
    level."""
    decoder = SJDPAC(TOY, PACSettings(window=16, K=2, D=3))
    state = DecodeState(decoder, "", 0)
    state.noise = FixedNoise(verify=[[*u, 0.5, 0.5, 0.5]], candidate=[[0.5, 0.9]])
    window = decoder.propose(state)
    assert isinstance(window, TreeWindow)
    return decoder.verify(state, window, P.expand(1 + len(window.nodes), -1).contiguous())


def test_the_first_accepted_candidate_wins_whatever_its_candidates_would_lead_to() -> None:
    everything = verify_tree([ACCEPT, ACCEPT])
    assert everything.path[: int(everything.count)].tolist() == list(range(int(everything.count)))
    second = verify_tree([REJECT, ACCEPT])
    layout = tree(16, TOY.plan.length - 1, 2, 3)
    first_side = layout.children[0][1]
    assert second.path[:3].tolist() == [0, first_side, layout.children[first_side][1]]
    assert second.count == 3
    assert second.status[:3].tolist() == [Status.ACCEPTED, Status.ACCEPTED, Status.FRESH]


def test_nothing_accepted_commits_one_token() -> None:
    verification = verify_tree([REJECT, REJECT])
    assert verification.count == 1
    assert verification.status[0] == Status.RESAMPLED


# Adaptive continuation


def continued(x: int, keep: float, redraw: float, *, AC: bool = True) -> tuple[Verification, int]:
    """A verification whose first draft is rejected, and what becomes of the second, x."""
    decoder = SJDPAC(TOY, PACSettings(window=16, K=1, AC=AC))
    u = [[REJECT] * 4, [0.5, 0.5, keep, redraw]]
    verification = verify_chain(decoder, P, Q, [0, x], verify=u)
    assert verification.count == 1
    return verification, int(verification.tokens[1])


def test_continuation_keeps_with_p_over_q_and_redraws_from_the_residual() -> None:
    verification, _ = continued(1, 0.5, 0.5)
    near(verification.acceptance[1:2], [2 / 3])
    assert [continued(1, u, 0.5)[1] == 1 for u in (0.66, 0.67)] == [True, False]
    assert [continued(1, REJECT, (i + 0.5) / 4)[1] for i in range(4)] == [2, 3, 3, 3]
    near(verification.q[1], P.tolist())


def test_statuses_behind_a_rejection() -> None:
    for AC, keep, status in (
        (True, ACCEPT, Status.REFINED),
        (True, REJECT, Status.REJECTED),
        (False, REJECT, Status.REFINED),
    ):
        verification, _ = continued(1, keep, 0.5, AC=AC)
        assert verification.status.tolist() == [Status.RESAMPLED, status, Status.REFINED]


@pytest.mark.parametrize("AC", [True, False])
def test_a_draft_behind_the_walks_end_is_recorded_with_its_own_acceptance(AC: bool) -> None:
    """In a tree's levels too: what is left of p at the walk's end concerns the ended position
    alone."""
    decoder = SJDPAC(TOY, PACSettings(window=16, K=2, D=4, AC=AC))
    state = DecodeState(decoder, "", 0)
    state.noise = FixedNoise(verify=[[REJECT] * 8])
    window = decoder.propose(state)
    generator = torch.Generator().manual_seed(1)
    p = torch.softmax(torch.randn(len(window.parents), 4, generator=generator), -1)
    verification = decoder.verify(state, window, p)
    rows, x = torch.arange(len(window.drafts)), window.drafts
    expected = (p[rows, x] / window.q[rows, x]).clamp_max(1)
    torch.testing.assert_close(verification.acceptance[:-1], expected)
