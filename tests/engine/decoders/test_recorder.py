"""What a step records of its verification is what it verified with."""

from __future__ import annotations

import numpy as np
import pytest

from engine.decoders import DECODERS
from engine.decoders.gsd import GSDSettings
from engine.records import Position, Status, Step
from tests.toy import Toy

CODES = 12
BY_UNIFORM = ["sjd", "gsd", "lantern", "sjd-pac"]


def decoded(
    name: str, *, forced: bool = False, seeds: range = range(6), settings: object = None
) -> list[Step]:
    """The steps of a few pictures."""
    model = Toy((4, 4), CODES, forced=forced)
    decoder = DECODERS[name](model, settings, model.sampling)
    return [step for seed in seeds for step in decoder.steps("", seed)]


def verified_positions(steps: list[Step]) -> list[Position]:
    return [p for step in steps for p in step.positions if p.uniform is not None]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("name", DECODERS)
def test_distributions_are_recorded_by_their_likeliest_tokens(name: str, forced: bool) -> None:
    for step in decoded(name, forced=forced):
        for p in step.positions:
            for top, most in ((p.top, p.top1), (p.top_draft, p.top1_draft)):
                shares = [share for _, share in top]
                assert shares == sorted(shares, reverse=True)
                assert len({token for token, _ in top}) == len(top)
                assert not top or shares[0] == most
                assert sum(shares) <= 1 + 1e-5
            assert bool(p.top_draft) == (p.draft is not None)
            if p.status is not Status.FORCED and p.draft is not None:
                assert dict(p.top).get(p.draft, p.p) == p.p
                assert dict(p.top_draft).get(p.draft, p.q) == p.q
                assert p.q > 0, "a draft can be drawn from its own q"


@pytest.mark.parametrize("name", BY_UNIFORM)
def test_a_uniform_below_the_acceptance_probability_is_an_acceptance(name: str) -> None:
    outcomes = set()
    for p in verified_positions(decoded(name)):
        passed = p.status is Status.ACCEPTED or (p.status is Status.REFINED and p.token == p.draft)
        assert (p.uniform < p.acceptance) == passed, p
        outcomes.add(p.status)
    assert {Status.ACCEPTED, Status.RESAMPLED} <= outcomes


@pytest.mark.parametrize("name", BY_UNIFORM)
def test_every_draft_that_was_accepted_or_rejected_has_its_uniform(name: str) -> None:
    for step in decoded(name, forced=True):
        for p in step.committed:
            verified = p.draft is not None and p.status in (Status.ACCEPTED, Status.RESAMPLED)
            assert (p.uniform is not None) == verified, p
        rejected = step.committed[-1].status is Status.RESAMPLED
        assert (step.refusal is not None) == rejected


@pytest.mark.parametrize("name", ["ar", "jacobi", "fpi"])
def test_a_rule_without_uniforms_records_none(name: str) -> None:
    assert not verified_positions(decoded(name))
    assert not any(step.refusal for step in decoded(name))


def test_the_recorded_group_is_the_one_that_was_verified() -> None:
    settings = GSDSettings(G=4)
    seen = 0
    for p in verified_positions(decoded("gsd", settings=settings)):
        assert p.kin is not None
        assert p.kin.tokens[0] == p.draft
        assert p.kin.count == len(p.kin.tokens) <= 4
        assert min(1.0, p.kin.p / p.kin.q) == pytest.approx(p.acceptance, abs=1e-6)
        seen += p.kin.count > 1
    assert seen > 10


def test_the_recorded_neighbourhood_is_the_one_that_was_verified() -> None:
    several = 0
    for p in verified_positions(decoded("lantern")):
        assert p.kin is not None
        assert p.kin.tokens[0] == p.draft
        assert p.kin.q == p.q
        assert 0 <= p.kin.p - p.p <= 0.1 + 1e-6, "delta = 0.1"
        assert min(1.0, p.kin.p / p.kin.q) == pytest.approx(p.acceptance, abs=1e-6)
        several += p.kin.count > 1
    assert several > 0


def test_candidates_are_recorded_in_the_order_they_were_tried() -> None:
    later = 0
    for step in decoded("sjd-pac", seeds=range(20)):
        for p in step.positions:
            assert not any(s.accepted for s in p.siblings[:-1]), (
                "the first accepted ends the trials"
            )
            assert len({s.token for s in p.siblings}) == len(p.siblings), (
                "candidates are drawn without replacement"
            )
            if p.siblings:
                assert p.position < step.after
                assert p.siblings[-1].accepted == (p.status is Status.ACCEPTED)
                assert p.siblings[0].q == pytest.approx(
                    dict(p.top_draft).get(p.siblings[0].token, p.siblings[0].q)
                )
            if p.siblings and p.status is Status.ACCEPTED:
                assert p.token == p.siblings[-1].token
                later += len(p.siblings) > 1
    assert later > 5


@pytest.mark.parametrize("name", BY_UNIFORM)
def test_a_rejection_records_both_distributions(name: str) -> None:
    rejected = 0
    for step in decoded(name):
        if not (refusal := step.refusal):
            continue
        rejected += 1
        tokens = np.frombuffer(refusal.tokens, "<u2")
        p, q = (np.frombuffer(column, "<f4") for column in (refusal.p, refusal.q))
        place = step.committed[-1]
        assert (np.diff(tokens.astype(int)) > 0).all()
        assert refusal.draft in tokens
        assert p.sum() == pytest.approx(1, abs=1e-5)
        assert q.sum() == pytest.approx(1, abs=1e-5)
        assert (refusal.position, refusal.draft, refusal.uniform) == (
            place.position,
            place.draft,
            place.uniform,
        )
        assert 0.5 * np.abs(p - q).sum() == pytest.approx(place.tv, abs=1e-5)
    assert rejected > 5
