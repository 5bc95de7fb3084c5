"""Block verification: how many drafts it accepts, and what it records."""

from __future__ import annotations

import pytest
import torch

from engine.decoders.sjd import SJD
from engine.trace import Status
from tests.engine.decoders.driving import near
from tests.floats import rounding
from tests.variants import further
from tools.judge.one_pass import accepted_drafts, verify_chain
from tools.judge.toys import Toy

TOKEN, BLOCK = (SJD(Toy((2, 3), 3), SJD.Settings(verification=name)) for name in ("token", "block"))
# The paper's example: two drafts, the same p and q at every position.
P, Q = torch.tensor([1 / 3, 2 / 3, 0]), torch.tensor([2 / 3, 1 / 3, 0])


@pytest.mark.parametrize("drafts", [1, 2, *further(3)])
def test_a_block_accepts_at_least_as_many_drafts_on_average(drafts: int) -> None:
    more = 0
    for seed in range(6):
        generator = torch.Generator().manual_seed(seed)
        p, q = torch.randn(2, drafts + 1, 3, generator=generator).softmax(-1)
        token, block = (accepted_drafts(rule, p, q[:-1]) for rule in (TOKEN, BLOCK))
        assert block >= token - rounding(token)
        more += block > token + 1e-3
    assert (more > 0) == (drafts > 1)  # one draft alone has one best rule


def test_a_draft_that_fails_is_saved_by_one_behind_it() -> None:
    """Drafts 0, 1 under p = (1/3, 2/3), q = (2/3, 1/3): a = 1/2, 1. Behind the first draft
    S = (1/6 - 2/3)+ + (1/3 - 1/3)+ = 0, so it never passes by itself; the second always does."""
    saved = verify_chain(BLOCK, P, Q, [0, 1], verify=[[0.9, 0.5, 0.5]])
    near(saved.acceptance[:2], [0, 1])
    near(saved.uniform[:2], [0.9, 0.9])
    assert saved.status.tolist() == [Status.ACCEPTED, Status.ACCEPTED, Status.FRESH]
    assert saved.tokens[:2].tolist() == [0, 1]


def test_a_block_that_fails_ends_at_its_first_draft() -> None:
    """Drafts 0, 0: a = 1/2, 1/4. The second fails by 0.3, and with it the first."""
    failed = verify_chain(BLOCK, P, Q, [0, 0], verify=[[0.3, 0.5, 0.5]])
    near(failed.acceptance[:2], [0, 1 / 4])
    assert int(failed.count) == 1
    assert int(failed.tokens[0]) == 1  # R(p, q) has code 1 alone
    assert failed.status.tolist() == [Status.RESAMPLED, Status.REFINED, Status.REFINED]
    assert failed.uniform.isnan().tolist() == [False, True, True]
