"""SJD, and the rules that are SJD on a chain, against worked numbers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.decoders.gsd import GSD, GSDSettings
from engine.decoders.lantern import Lantern, LanternSettings
from engine.decoders.scd import SCD, SCDSettings
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC, PACSettings
from engine.trace import Status
from tests.engine.decoders.driving import (
    ACCEPT,
    REJECT,
    TOY,
    P,
    Q,
    acceptances,
    alpha,
    committed_distribution,
    near,
    point_mass,
    replacement_distribution,
    verify_chain,
)
from tests.floats import rounding

CHAINS = {
    "sjd": SJD(TOY),
    "scd gumbel": SCD(TOY, SCDSettings(coupling="gumbel")),
    "scd maximal": SCD(TOY, SCDSettings(coupling="maximal")),
    "gsd G=1": GSD(TOY, GSDSettings(G=1, delta=1.0, d=10.0)),
    "lantern delta=0": Lantern(TOY, LanternSettings(k=62, delta=0.0)),
    "lantern lambda=1": Lantern(TOY, LanternSettings(k=62, bound="lambda", lam=1.0)),
    "sjd-pac": SJDPAC(TOY, PACSettings(window=16, K=1)),
    "sjd-pac without AC": SJDPAC(TOY, PACSettings(window=16, K=1, AC=False)),
}
every_chain = pytest.mark.parametrize("name", CHAINS)


@every_chain
def test_sjd_accepts_with_p_over_q(name: str) -> None:
    near(acceptances(CHAINS[name], P, Q), [0.25, 2 / 3, 1, 1])
    assert alpha(CHAINS[name], P, Q) == pytest.approx(0.6)


@every_chain
def test_sjd_draws_from_the_residual_what_it_rejected(name: str) -> None:
    for x in (0, 1):
        near(replacement_distribution(CHAINS[name], P, Q, x), [0, 0, 0.25, 0.75])


@every_chain
def test_a_certain_draft_is_accepted_by_its_probability_and_rejected_without_itself(
    name: str,
) -> None:
    q = point_mass(2, 4)
    assert acceptances(CHAINS[name], P, q)[2].item() == pytest.approx(0.3)
    near(replacement_distribution(CHAINS[name], P, q, 2), [1 / 7, 2 / 7, 0, 4 / 7])
    near(committed_distribution(CHAINS[name], P, q), P.tolist())


@every_chain
def test_equal_distributions_are_always_accepted(name: str) -> None:
    near(acceptances(CHAINS[name], P, P), [1, 1, 1, 1], rounding(1))
    assert verify_chain(CHAINS[name], P, P, [0, 1, 2, 3], verify=[[1 - 2**-24] * 3]).count == 5


@every_chain
def test_a_token_that_p_rules_out_is_never_accepted(name: str) -> None:
    p = torch.tensor([0.0, 0.5, 0.5, 0.0])
    verification = verify_chain(CHAINS[name], p, Q, [3], verify=[[ACCEPT] + [1 - 2**-24] * 9])
    assert verification.count == 1
    assert verification.tokens[0] in (1, 2)
    near(committed_distribution(CHAINS[name], p, Q), p.tolist())


@every_chain
def test_the_uniform_is_compared_with_the_acceptance_probability(name: str) -> None:
    for u, count in ((0.2499, 2), (0.2501, 1)):
        assert verify_chain(CHAINS[name], P, Q, [0], verify=[[u] * 3]).count == count


@every_chain
@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_a_chain_ends_at_its_first_rejection(name: str, passes: list[bool]) -> None:
    rows = [[ACCEPT if ok else REJECT, *[0.9] * 6] for ok in passes] + [[0.5] * 7]
    drafts = [1] * len(passes)
    verification = verify_chain(CHAINS[name], P, Q, drafts, verify=rows)
    m = [*passes, False].index(False)
    assert verification.count == m + 1
    assert verification.tokens[:m].tolist() == drafts[:m]
    status = [Status.ACCEPTED] * m + [Status.FRESH if m == len(passes) else Status.RESAMPLED]
    assert verification.status[: m + 1].tolist() == status
    assert verification.q[m + 1 :].equal(P.expand(len(passes) - m, -1))
