"""The decoders that change the distribution do it exactly as they say: q a + (1 - alpha) R, with
their own a and R."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from engine.decoders.decode_state import DecodeState
from engine.decoders.gsd import GSD, GSDSettings
from engine.decoders.lantern import Lantern, LanternSettings
from engine.decoders.lantern_tree import DraftTree
from engine.decoders.sjd import SJD
from engine.decoders.window import WindowDecoder
from tests.engine.decoders.driving import acceptances, committed_distribution, near
from tests.engine.decoders.symbolic import SymbolicNoise, outcomes, settled
from tests.engine.decoders.test_gsd import oracle
from tests.floats import rounding
from tests.toy import Toy

CODES = 6
TOY = Toy((2, 3), CODES, seed=3)

GSDS = [
    {"G": 2, "delta": 1.0, "d": 10.0},
    {"G": 5, "delta": 0.15, "d": 0.5},
    {"G": 4, "delta": 0.3},
    {"G": 100, "delta": 0.1, "d": 1.0},
]
LANTERNS = [
    {"k": 4, "delta": 0.2},
    {"k": 6, "delta": 1.0},
    {"k": 3, "delta": 0.05},
    {"k": 4, "bound": "lambda", "lam": 2.0},
    {"k": 6, "bound": "lambda", "lam": 10.0},
]


def pair(seed: int) -> tuple[Tensor, Tensor]:
    logits = torch.randn(2, CODES, generator=torch.Generator().manual_seed(seed))
    return tuple(torch.softmax(1.5 * logits, -1))


def gsd_distribution(p: Tensor, q: Tensor, s: GSDSettings) -> list[float]:
    """What one verification commits, from the definition."""
    a = [oracle(p.tolist(), q.tolist(), x, TOY.codebook, s) for x in range(CODES)]
    rejected = sum(float(q[x]) * (1 - a[x]) for x in range(CODES))
    left = [max(0.0, float(p[v] - q[v])) for v in range(CODES)]
    return [float(q[v]) * a[v] + rejected * left[v] / sum(left) for v in range(CODES)]


def members(p: list[float], x: int, s: LanternSettings) -> list[int]:
    """The neighbourhood of x: nearest first, as long as their mass together stays within the
    bound."""
    distance = [float((TOY.codebook[y] - TOY.codebook[x]).square().sum()) for y in range(CODES)]
    near = sorted((y for y in range(CODES) if y != x), key=lambda y: distance[y])[: s.k - 1]
    bound, chosen = s.delta if s.bound == "delta" else (s.lam - 1) * p[x], []
    for y in near:
        if sum(p[z] for z in chosen) + p[y] > bound:
            break
        chosen.append(y)
    return chosen


def lantern_distribution(p: Tensor, q: Tensor, s: LanternSettings) -> list[float]:
    committed = [0.0] * CODES
    for x in range(CODES):
        chosen = members(p.tolist(), x, s)
        moved = [0.0 if v in chosen else float(p[v]) for v in range(CODES)]
        moved[x] += sum(float(p[v]) for v in chosen)
        a = min(1.0, moved[x] / float(q[x]))
        committed[x] += float(q[x]) * a
        left = [max(0.0, moved[v] - float(q[v])) for v in range(CODES)]
        if a < 1:
            rejected = float(q[x]) * (1 - a)
            committed = [committed[v] + rejected * left[v] / sum(left) for v in range(CODES)]
    return committed


CASES = [(GSD, GSDSettings(**knobs), gsd_distribution) for knobs in GSDS]
CASES += [(Lantern, LanternSettings(**knobs), lantern_distribution) for knobs in LANTERNS]


@pytest.mark.parametrize(("kind", "knobs", "expected"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_one_verification_commits_by_the_changed_distribution(
    kind: type[WindowDecoder], knobs: object, expected: object, seed: int
) -> None:
    """Every draft, and every outcome of its verification."""
    p, q = pair(seed)
    near(committed_distribution(kind(TOY, knobs), p, q), expected(p, q, knobs), rounding(1))


TREE = [2, 0, 5]  # the drafts below a root, in this order


def tree_distribution(p: Tensor, s: LanternSettings) -> list[float]:
    """What a tree of the certain drafts TREE commits at the first position, from the definition."""
    left, reached, committed = p.tolist(), 1.0, [0.0] * CODES
    for x in TREE:
        chosen = members(left, x, s)
        a = left[x] + sum(left[v] for v in chosen)
        committed[x] += reached * a
        reached *= 1 - a
        rest = [0.0 if v == x or v in chosen else left[v] for v in range(CODES)]
        left = [each / sum(rest) for each in rest]
    return [committed[v] + reached * left[v] for v in range(CODES)]


@pytest.mark.parametrize("knobs", [LANTERNS[0], *LANTERNS[2:4], {"k": 6, "delta": 0.0}])
def test_a_tree_commits_by_the_changed_distribution(knobs: dict[str, float]) -> None:
    """Every outcome of the verification."""
    decoder = Lantern(TOY, LanternSettings(**knobs))
    tokens = torch.tensor(TREE)
    p, _ = pair(2)
    tree = DraftTree(tokens[:0], p[None][:0], nodes=tokens, children=((1, 2, 3), (), (), ()))
    expected = tree_distribution(p, decoder.settings)
    assert sum(expected) == pytest.approx(1, abs=rounding(1))
    found = torch.zeros(CODES, dtype=torch.float64)

    def run() -> int:
        state = DecodeState(decoder, "", 0)
        state.noise = SymbolicNoise(0, p.device)
        return int(settled(decoder.verify(state, tree, p.expand(4, -1)).tokens[:1]))

    for choices, token in outcomes(run, {}):
        found[token] += choices.weight
    torch.testing.assert_close(found.float(), torch.tensor(expected))


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, CODES),
    bound=st.sampled_from(["delta", "lambda"]),
    delta=st.floats(0, 1),
    lam=st.floats(1, 10),
)
def test_lanterns_acceptance_is_a_probability_and_its_neighbourhood_stays_within_its_bound(
    seed: int, k: int, bound: str, delta: float, lam: float
) -> None:
    p, q = pair(seed)
    decoder = Lantern(TOY, LanternSettings(k=k, bound=bound, delta=delta, lam=lam))
    a = acceptances(decoder, p, q)
    assert ((a >= 0) & (a <= 1)).all()
    assert (a >= acceptances(SJD(TOY), p, q)).all()
    inside, added = decoder._neighbourhood(p.expand(CODES, -1), torch.arange(CODES))
    assert not inside.diagonal().any()
    assert (inside.sum(-1) < k).all()
    limit = torch.full((CODES,), delta) if bound == "delta" else (lam - 1) * p
    assert (added <= limit * (1 + rounding(1))).all()
    torch.testing.assert_close((p * inside).sum(-1), added)


LOSSLESS = [
    GSD(TOY, GSDSettings(G=1)),
    GSD(TOY, GSDSettings(G=10, delta=0.0, d=0.0)),
    Lantern(TOY, LanternSettings(k=62, delta=0.0)),
    Lantern(TOY, LanternSettings(k=62, bound="lambda", lam=1.0)),
    Lantern(TOY, LanternSettings(k=1, delta=1.0)),
]


@pytest.mark.parametrize("decoder", LOSSLESS)
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.booleans())
def test_a_group_of_the_draft_alone_is_the_lossless_rule_to_the_last_bit(
    decoder: WindowDecoder, seed: int, sharp: bool
) -> None:
    p, q = pair(seed)
    if sharp:
        p = torch.softmax(8 * p.log(), -1)
    assert acceptances(decoder, p, q).equal(acceptances(SJD(TOY), p, q))
