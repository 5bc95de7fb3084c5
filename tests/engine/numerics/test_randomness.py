"""Keyed randomness: known answers, keys that never meet, and numbers that look random."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.numerics.randomness import Noise, Purpose, philox

CPU = torch.device("cpu")

# philox4x32-10 of Random123's kat_vectors: counter, key, result.
KNOWN = [
    ([0, 0, 0, 0], (0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, (0xFFFFFFFF, 0xFFFFFFFF), [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        (0xA4093822, 0x299F31D0),
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


def noise(seed: int = 3) -> Noise:
    return Noise(seed, CPU)


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_gives_the_known_answers(
    counter: list[int], key: tuple[int, int], words: list[int]
) -> None:
    assert philox(torch.tensor(counter), key).tolist() == words


def test_a_key_uses_all_of_the_seed() -> None:
    """The known answer again, through the class: the seed's halves are the key, (block, position,
    purpose, draw) the counter."""
    u = noise(0).uniform(Purpose.NOISE, 0, 1, 0, 2)[0]
    words = iter(KNOWN[0][2])
    assert u.tolist() == [
        ((high << 20 | low >> 12) + 0.5) / 2**52 for high, low in zip(words, words, strict=True)
    ]
    low, high = (noise(seed).uniform(Purpose.VERIFY, 0, 4, 1, 4) for seed in (5, 5 + 2**40))
    assert not torch.equal(low, high)


def test_even_the_extreme_words_give_numbers_between_0_and_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for word in (0, 0xFFFFFFFF):
        monkeypatch.setattr(
            "engine.numerics.randomness.philox",
            lambda counter, key, word=word: torch.full_like(counter, word),
        )
        u = noise().uniform(Purpose.VERIFY, 0, 2, 0, 3)
        assert (u > 0).all()
        assert (u < 1).all()
        assert noise().gumbel(0, 2, 3).isfinite().all()


DRAWS = st.tuples(st.sampled_from(Purpose), st.integers(0, 300), st.integers(0, 9))


@given(st.integers(0, 2**53 - 1), st.lists(DRAWS, max_size=6))
def test_a_key_gives_its_number_whatever_else_was_drawn(
    seed: int, others: list[tuple[Purpose, int, int]]
) -> None:
    alone = noise(seed).uniform(Purpose.VERIFY, 7, 1, 2, 3)
    busy = noise(seed)
    for purpose, position, draw in others:
        busy.uniform(purpose, position, 1, draw, 5)
        busy.gumbel(position, 2, 3)
    assert torch.equal(busy.uniform(Purpose.VERIFY, 7, 1, 2, 3), alone)
    among = busy.uniform(Purpose.VERIFY, 5, 90, 2, 9)
    assert torch.equal(among[2:3, :3], alone)


@given(
    st.integers(1, 96),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2)), min_size=1, max_size=40),
)
def test_numbers_computed_ahead_are_those_of_their_keys(
    rows: int, steps: list[tuple[int, int]]
) -> None:
    """A decoder's calls: the frontier moves on, now and then a draw is skipped."""
    ahead, start, draw = noise(), 0, 0
    for forward, skipped in steps:
        start, draw = start + forward, draw + skipped
        u = ahead.uniform(Purpose.VERIFY, start, rows, draw, 3)
        assert torch.equal(u, noise().uniform(Purpose.VERIFY, start, rows, draw, 3))


def test_seeds_purposes_positions_and_draws_all_give_other_numbers() -> None:
    keys = itertools.product((0, 1, 2**32), Purpose, (0, 1, 255), (0, 1, 2))
    rows = {
        tuple(noise(seed).uniform(purpose, position, 1, draw, 4)[0].tolist())
        for seed, purpose, position, draw in keys
    }
    assert len(rows) == 3 * len(Purpose) * 9


@given(st.integers(0, 80), st.integers(1, 70), st.integers(1, 9))
def test_gumbel_rows_do_not_depend_on_the_calls_before(start: int, count: int, codes: int) -> None:
    used = noise(11)
    for row in range(0, start, 5):
        used.gumbel(row, 3, codes)
    rows = used.gumbel(start, count, codes)
    assert rows.shape == (count, codes)
    for i in (0, count // 2, count - 1):
        assert torch.equal(rows[i : i + 1], noise(11).gumbel(start + i, 1, codes))


def test_the_streams_are_part_of_the_key() -> None:
    """One of the uniform numbers for every purpose, another of the Gumbel noise."""
    streams = 0, 1, 8, 2**29 - 1
    uniforms, gumbels = set(), set()
    for stream, gumbel in itertools.product(streams, streams):
        own = Noise(3, CPU, stream=stream, gumbel_stream=gumbel)
        for purpose in set(Purpose) - {Purpose.NOISE}:
            numbers = own.uniform(purpose, 7, 1, 2, 4)
            assert torch.equal(numbers, own.branch(1).uniform(purpose, 7, 1, 2, 4))
            uniforms.add(tuple(numbers[0].tolist()))
        noises = own.gumbel(7, 1, 4)
        assert torch.equal(noises, own.branch(1).gumbel(7, 1, 4))
        gumbels.add(tuple(noises[0].tolist()))
    assert (len(uniforms), len(gumbels)) == (4 * (len(Purpose) - 1), 4)
    assert tuple(noise().uniform(Purpose.DRAFT, 7, 1, 2, 4)[0].tolist()) in uniforms
    assert tuple(noise().gumbel(7, 1, 4)[0].tolist()) in gumbels


def test_uniforms_are_uniform() -> None:
    u = noise(1).uniform(Purpose.VERIFY, 0, 500, 4, 40).flatten()
    assert stats.kstest(u.numpy(), "uniform").pvalue > 1e-6
    assert stats.chisquare(torch.histc(u.float(), 200, 0, 1).numpy()).pvalue > 1e-6


@pytest.mark.parametrize("apart", ["seed", "purpose", "position", "draw", "column"])
def test_numbers_of_neighbouring_keys_are_independent(apart: str) -> None:
    """Pairs of numbers whose keys differ by one in one part fill the unit square evenly."""
    a = noise(8).uniform(Purpose.VERIFY, 0, 20_000, 4, 2)
    b = {
        "seed": lambda: noise(9).uniform(Purpose.VERIFY, 0, 20_000, 4, 2),
        "purpose": lambda: noise(8).uniform(Purpose.FRESH, 0, 20_000, 4, 2),
        "position": lambda: a.roll(1, 0),
        "draw": lambda: noise(8).uniform(Purpose.VERIFY, 0, 20_000, 5, 2),
        "column": lambda: a.flip(1),
    }[apart]()
    cells = (a[:, 0] * 10).long() * 10 + (b[:, 0] * 10).long()
    assert stats.chisquare(torch.bincount(cells, minlength=100).numpy()).pvalue > 1e-6


def test_gumbel_noise_is_standard_and_its_argmax_samples_p() -> None:
    rows = torch.cat([noise(seed).gumbel(0, 64, 3) for seed in range(150)]).double()
    assert stats.kstest(rows.flatten().numpy(), "gumbel_r").pvalue > 1e-6
    p = torch.tensor([0.6, 0.3, 0.1])
    counts = torch.bincount((p.log() + rows).argmax(-1), minlength=3)
    expected = p.double() / p.double().sum() * len(rows)
    assert stats.chisquare(counts.numpy(), expected.numpy()).pvalue > 1e-6


def test_rare_tokens_win_as_often_as_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    """P(G > t) of the noise as it is implemented, by counting words: 1 - exp(-exp(-t)), also far
    out, where a token of small probability wins."""

    def gumbel(word: int) -> float:
        monkeypatch.setattr(
            "engine.numerics.randomness.philox", lambda counter, key: torch.full_like(counter, word)
        )
        return float(noise().gumbel(0, 1, 1))

    for t in (-2.0, 0.0, 3.0, 10.0, 14.0, 18.0, 20.0):
        low, high = 0, 2**32  # noise falls with the word: words below `low` have G > t
        while low < high:
            middle = (low + high) // 2
            above = gumbel(middle) > t
            low, high = (middle + 1, high) if above else (low, middle)
        expected = -math.expm1(-math.exp(-t))
        assert low / 2**32 == pytest.approx(expected, rel=1e-4, abs=2**-32)
