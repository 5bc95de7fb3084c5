"""SJD-PAC's two parts against worked numbers; what its trees commit is in test_exact.py."""

from __future__ import annotations

import pytest
import torch

from engine.core import Verification
from engine.decoders.candidates import draw_candidates
from engine.decoders.sjd_pac import SJDPAC, PACSettings
from engine.numerics.randomness import Purpose
from engine.trace import Status
from tests.engine.decoders.driving import ACCEPT, REJECT, TOY, P, Q, near
from tools.judge.one_pass import FixedNoise, verify_chain
from tools.judge.toys import Toy


def test_candidates_are_drawn_without_replacement() -> None:
    """A token that was drawn before is no candidate: with fewer of them nothing else would change
    but how many are accepted."""
    state = SJDPAC(Toy((1, 60), 4)).begin("", 0)
    state.noise = FixedNoise(candidate=[[0.5, *[(i + 0.5) / 60] * 2] for i in range(60)])
    u = state.uniform(Purpose.CANDIDATE, 60, 3)
    tokens, _ = draw_candidates(torch.full((60,), 3), P.expand(60, -1), u)
    near(torch.bincount(tokens[:, 1], minlength=4) / 60, [1 / 6, 1 / 3, 1 / 2, 0])
    assert all(len(set(row)) == 3 for row in tokens.tolist())


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
    state = decoder.begin("", 0)
    state.noise = FixedNoise(verify=[[REJECT] * 8])
    window = decoder.propose(state)
    generator = torch.Generator().manual_seed(1)
    p = torch.softmax(torch.randn(len(window.parents), 4, generator=generator), -1)
    verification = decoder.verify(state, window, p)
    x = window.drafts[:-1]
    rows = torch.arange(len(x))
    expected = (p[rows, x] / window.q[rows, x]).clamp_max(1)
    torch.testing.assert_close(verification.acceptance[:-1], expected)
