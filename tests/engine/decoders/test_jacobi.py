"""Jacobi, fixed-point iteration and vanilla AR against worked numbers."""

from __future__ import annotations

from engine.decoders.ar import VanillaAR
from engine.decoders.fpi import FixedPoint
from engine.decoders.jacobi import Jacobi
from tests.engine.decoders.driving import TOY, P, Q, verify_chain


def test_jacobi_commits_its_own_fresh_samples_up_to_the_first_that_differs() -> None:
    u = [[0.05], [0.2], [0.5], [0.9]]  # samples 0, 1, 2, 3 of P
    verification = verify_chain(Jacobi(TOY), P, Q, [0, 1, 3], verify=u)
    assert verification.count == 3
    assert verification.tokens.tolist() == [0, 1, 2, 3]
    assert verify_chain(Jacobi(TOY), P, Q, [0, 1, 2], verify=u).count == 4
    assert verify_chain(Jacobi(TOY), P, Q, [3, 1, 2], verify=u).count == 1


def test_fixed_point_and_vanilla_ar_choose_by_p_and_the_same_noise() -> None:
    """Gumbel noise of zero everywhere: both take the likeliest token."""
    assert verify_chain(VanillaAR(TOY), P, Q, []).tokens.tolist() == [3]
    verification = verify_chain(FixedPoint(TOY), P, Q, [3, 3, 1])
    assert verification.count == 3
    assert verification.tokens.tolist() == [3, 3, 3, 3]
