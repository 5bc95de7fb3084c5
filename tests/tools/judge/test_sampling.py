"""The test of sampled pictures: what it promises of a sound sampler, exactly, and what it sees."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from engine.decoders.ar import VanillaAR
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC
from engine.models.base import planned
from engine.settings import Sampling
from tests.tools.judge.faults import ALittle, FromP, OnlyLong
from tools.judge import sampling
from tools.judge.sampling import (
    AGAIN,
    BATCH,
    EIGHTHS,
    FALSE_ALARM,
    UNDECIDED,
    SampledPictures,
    least_deviation,
    log_e_value,
    ranks_of,
    rejects,
    sample,
)
from tools.judge.standard import SAMPLED
from tools.judge.toys import InfillToy, Toy, infilling

pytestmark = pytest.mark.exact

CHANCES = (0.5, 0.2, 0.3)


def mean_of_e(drawn: tuple[float, ...], count: int) -> float:
    """Of `count` cells drawn from one distribution and tested against CHANCES."""
    mean = 0.0
    for cells in itertools.product(range(3), repeat=count):
        chance = math.prod(drawn[cell] for cell in cells)
        mean += chance * math.exp(log_e_value([cells.count(i) for i in range(3)], CHANCES))
    return mean


@pytest.mark.parametrize("count", range(7))
def test_e_is_one_on_average_of_the_right_distribution(count: int) -> None:
    assert mean_of_e(CHANCES, count) == pytest.approx(1)


def test_e_is_a_martingale() -> None:
    """Given the first cells, the next one leaves the mean where it is: it may stop at any time."""
    for before in itertools.product(range(4), repeat=3):
        after = 0.0
        for cell, chance in enumerate(CHANCES):
            more = [n + (i == cell) for i, n in enumerate(before)]
            after += chance * math.exp(log_e_value(more, CHANCES))
        assert after == pytest.approx(math.exp(log_e_value(before, CHANCES)))


def test_e_grows_on_another_distribution() -> None:
    other = (0.2, 0.3, 0.5)
    assert 1 < mean_of_e(other, 3) < mean_of_e(other, 6)
    expected = [round(1000 * chance) for chance in other]
    assert 100 < log_e_value(expected, CHANCES) < log_e_value([2 * n for n in expected], CHANCES)
    assert log_e_value([500, 200, 300], CHANCES) < 0
    assert log_e_value([1, 0, 0], (0.0, 0.5, 0.5)) == math.inf


def test_it_rejects_where_ville_bounds_the_chance() -> None:
    assert not rejects(-math.log(FALSE_ALARM))
    assert rejects(-math.log(FALSE_ALARM) + 1e-9)


def small_toys() -> list[tuple[Toy, object]]:
    forced = Toy((1, 3), 3, forced=True)
    forced.sampling = Sampling(guidance=1.0, top_k=2)
    filler, plan = planned(InfillToy((2, 2), 2), infilling([True] * 3 + [False], "spread", 2))
    return [(Toy((1, 2), 3), Toy((1, 2), 3).plan), (forced, forced.plan), (filler, plan)]


@pytest.mark.parametrize("number", range(3))
def test_ranks_of_vanilla_ars_pictures_are_uniform_and_independent(number: int) -> None:
    """By every picture with its chance: each rank's conditional interval has its own length."""
    model, plan = small_toys()[number]
    for which in (1, 2):
        boxes: dict[tuple[tuple[float, float], ...], float] = {}
        for tokens, chance in model.joint_distribution(plan).items():
            if chance:
                zeros, ones = np.zeros(len(tokens)), np.ones(len(tokens))
                low, high = (ranks_of(model, plan, list(tokens), s)[which] for s in (zeros, ones))
                sides = tuple(zip(low.tolist(), high.tolist(), strict=True))
                boxes[sides] = chance
                assert math.prod(b - a for a, b in sides) == pytest.approx(chance, rel=1e-5)
        assert sum(boxes.values()) == pytest.approx(1)
        for one, other in itertools.combinations(boxes, 2):
            sides = zip(one, other, strict=True)
            assert any(min(x[1], y[1]) < max(x[0], y[0]) + 1e-6 for x, y in sides)


def test_an_impossible_token_says_all() -> None:
    model = Toy((1, 3), 3)
    model.sampling = Sampling(guidance=1.0, top_k=1)
    likeliest = int(model.distribution([]).argmax())
    assert ranks_of(model, model.plan, [(likeliest + 1) % 3, 0, 0], np.zeros(3)) is None
    whole = Toy((1, 3), 3)
    found = sample(VanillaAR(whole), model, model.plan, 50)
    assert found.impossible
    assert found.log_e == math.inf


@pytest.mark.parametrize("standard", SAMPLED, ids=lambda standard: standard.name)
def test_sound_decoders_are_not_rejected(standard) -> None:
    for kind in (SJD, SJDPAC):
        if standard.suits(kind):
            model, plan = standard.build()
            found = sample(kind(model, plan=plan), model, plan, 60)
            assert found.pictures == 60
            assert found.log_e < 3
            assert sum(found.counts["all tokens"]) == 60 * sum(x < 0 for x in plan.forced)
            assert found.passes >= 60
            covered = found.coverage
            assert {"accepted", "resampled"} <= covered.statuses or kind is SJDPAC
            assert covered.committed > 1
            assert 0 <= covered.age < covered.passes


def test_it_stops_where_the_test_rejects() -> None:
    model, plan = SAMPLED[0].build()
    found = sample(OnlyLong(model), model, plan, 5000)
    assert rejects(found.log_e)
    assert found.pictures % BATCH == 0
    assert found.pictures < 1000
    strict = sample(OnlyLong(model), model, plan, 5000, tests=10**60)
    assert strict.pictures > found.pictures
    assert sample(FromP(model), model, plan, 2000).pictures < 2000


def test_it_samples_on_while_e_says_neither() -> None:
    model, plan = SAMPLED[0].build()
    found = sample(ALittle(model), model, plan, 250, tests=7)
    assert rejects(found.log_e - math.log(7))
    assert found.pictures in (300, 350, 400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "AGAIN", 1)
        short = sample(ALittle(model), model, plan, 250, tests=7)
    assert short.pictures == 250
    assert UNDECIDED < short.log_e < found.log_e


def test_it_ends_where_e_falls_or_at_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    model, plan = SAMPLED[0].build()
    for e, count, drawn in (([11.0], 5, 5 * AGAIN), ([9.0], 5, 5), ([11.0, 11.0, 9.0], 5, 15)):
        values = itertools.chain(e, itertools.repeat(e[-1]))
        value = property(lambda self, values=values: math.log(next(values)))
        monkeypatch.setattr(SampledPictures, "log_e", value)
        assert sample(VanillaAR(model), model, plan, count).pictures == drawn


def test_statistics_choose_tokens_by_what_stands_before_them() -> None:
    """Whatever a token's own rank is, the same statistics count it."""
    chosen = []
    for last in (0.01, 0.6, 0.99):
        found = SampledPictures()
        tokens = np.array([0, 1, 1, 0, round(last)])
        found.add(tokens, np.array([0.3, 0.1, 0.7, 0.2, last]), np.array([0.5] * 5))
        chosen.append({name: int(count.sum()) for name, count in found.counts.items()})
    assert chosen[0] == chosen[1] == chosen[2]
    assert chosen[0]["all tokens"] == 5
    assert chosen[0]["token 5"] == 1
    assert chosen[0]["after a token in quarter 1"] == 2
    assert chosen[0]["after 2 likely tokens"] == 1
    assert chosen[0]["after 4 likely tokens"] == 0
    assert chosen[0]["after an odd sum"] == 1
    assert chosen[0]["after an odd third token back"] == 1


def test_a_deviation_of_the_size_that_is_said_is_seen() -> None:
    """In 97 of 100 series at least of so many ranks with that deviation, by keyed numbers."""
    count, statistics, tests = 1000, 27, 6
    deviation = least_deviation(count, statistics, tests)
    assert 0.05 < deviation < 0.2
    assert least_deviation(16 * count, statistics, tests) < deviation / 2
    chances = [1 / EIGHTHS + deviation, *[(1 - 1 / EIGHTHS - deviation) / 7] * 7]
    rng, seen = np.random.default_rng(0), Counter[bool]()
    for _ in range(100):
        log_e = log_e_value(rng.multinomial(count, chances)) - math.log(statistics * tests)
        seen[rejects(log_e)] += 1
    assert seen[True] >= 97
    weaker = [1 / EIGHTHS + deviation / 2, *[(1 - 1 / EIGHTHS - deviation / 2) / 7] * 7]
    log_e = log_e_value(rng.multinomial(count, weaker)) - math.log(statistics * tests)
    assert not rejects(log_e)
