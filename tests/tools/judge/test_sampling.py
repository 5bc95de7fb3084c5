"""The test of sampled sequences: what it promises of a sound sampler, exactly."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
import torch

from engine.decoders.ar import VanillaAR
from tools.judge.sampling import (
    FALSE_ALARM,
    log_e_value,
    rejects,
    sample_pictures,
    sampled_until_caught,
)
from tools.judge.toys import Toy

JOINT = {(0, 0): 0.5, (0, 1): 0.2, (1, 0): 0.3}


def mean_of_e(drawn: dict[tuple[int, ...], float], count: int) -> float:
    """Of `count` sequences drawn from one distribution and tested against JOINT."""
    mean = 0.0
    for sequences in itertools.product(drawn, repeat=count):
        chance = math.prod(drawn[sequence] for sequence in sequences)
        mean += chance * math.exp(log_e_value(Counter(sequences), JOINT))
    return mean


@pytest.mark.parametrize("count", range(7))
def test_e_is_one_on_average_of_the_joint_distribution(count: int) -> None:
    assert mean_of_e(JOINT, count) == pytest.approx(1)


def test_e_is_a_martingale() -> None:
    """Given the first ones, the next one leaves the mean where it is: it may stop at any time."""
    for before in itertools.product(JOINT, repeat=3):
        seen = Counter(before)
        after = sum(
            chance * math.exp(log_e_value(seen + Counter([sequence]), JOINT))
            for sequence, chance in JOINT.items()
        )
        assert after == pytest.approx(math.exp(log_e_value(seen, JOINT)))


def test_e_grows_on_another_distribution() -> None:
    other = {(0, 0): 0.2, (0, 1): 0.3, (1, 0): 0.5}
    assert 1 < mean_of_e(other, 3) < mean_of_e(other, 6)
    expected = Counter({sequence: round(chance * 1000) for sequence, chance in other.items()})
    twice = Counter({sequence: 2 * count for sequence, count in expected.items()})
    assert 100 < log_e_value(expected, JOINT) < log_e_value(twice, JOINT)
    right = Counter({sequence: round(chance * 1000) for sequence, chance in JOINT.items()})
    assert log_e_value(right, JOINT) < 0


def test_an_impossible_sequence_says_all() -> None:
    assert log_e_value(Counter([(1, 1)]), JOINT) == math.inf
    assert log_e_value(Counter([(1, 1)]), JOINT | {(1, 1): 0.0}) == math.inf
    assert rejects(math.inf)


def test_it_rejects_where_ville_bounds_the_chance() -> None:
    assert not rejects(-math.log(FALSE_ALARM))
    assert rejects(-math.log(FALSE_ALARM) + 1e-9)


def test_it_samples_new_seeds_until_it_rejects_or_has_enough() -> None:
    decoder = VanillaAR(Toy((1, 2), 2))
    joint = decoder.model.joint_distribution()
    count, log_e = sampled_until_caught(decoder, joint, 120, batch=50)
    assert count == 150
    assert log_e == log_e_value(sample_pictures(decoder, 150), joint)
    assert sample_pictures(decoder, 50) + sample_pictures(decoder, 100, 50) == sample_pictures(
        decoder, 150
    )
    strict, e_of_two = sampled_until_caught(decoder, joint, 120, batch=50, tests=2)
    assert (strict, e_of_two) == (count, log_e)
    flipped = {tuple(1 - token for token in tokens): chance for tokens, chance in joint.items()}
    count, log_e = sampled_until_caught(decoder, flipped, 5000, batch=50)
    assert count < 5000
    assert rejects(log_e)
    _, log_e = sampled_until_caught(decoder, flipped, 5000, batch=5, tests=10**6)
    assert rejects(log_e - math.log(10**6))


def test_a_view_of_one_position_sees_what_whole_sequences_hide() -> None:
    """Of many sequences each is rare; that a position is biased shows all the same."""
    whole = dict.fromkeys(itertools.product(range(2), repeat=8), 1 / 256)
    generator = torch.Generator().manual_seed(1)
    drawn = (torch.rand(400, 8, generator=generator) < 0.65).long().tolist()
    assert rejects(log_e_value(Counter(map(tuple, drawn)), whole))
