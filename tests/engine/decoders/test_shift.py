"""The shift of every rule, against the definition summed up draft by draft."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from engine.decoders import DECODERS, WHOLE
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState, Window
from engine.decoders.gsd import GSD, GSDSettings, group_acceptance, group_acceptances
from engine.decoders.lantern import Lantern, LanternSettings
from engine.decoders.lantern_tree import DraftTree, Walk, children_of
from engine.decoders.relaxed import RelaxedSettings, RelaxedSJD
from engine.decoders.shift import committed_by_residual
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC, PACSettings
from engine.decoders.speculate import acceptance_probability
from engine.decoders.window import WindowDecoder
from engine.numerics.distributions import exact, one_hot, residual, total_variation
from engine.settings import Sampling
from tests.engine.decoders.driving import TOY as SMALL
from tests.engine.decoders.driving import P, Q, committed_distribution
from tests.floats import rounding
from tests.toy import Toy

CODES = 18
TOY = Toy((2, 12), CODES, seed=3)
LOSSLESS = [name for name in WHOLE if DECODERS[name].badge is not Badge.CHANGED_DISTRIBUTION]
GSDS = [
    {"G": 2, "delta": 1.0, "d": 10.0},
    {"G": 5, "delta": 0.15, "d": 0.5},
    {"G": 4, "delta": 0.3},
    {"G": 100, "delta": 0.1, "d": 1.0},
    {"G": 1},
]
LANTERNS = [
    {"k": 4, "delta": 0.2},
    {"k": 18, "delta": 1.0},
    {"k": 5, "delta": 0.05},
    {"k": 1, "delta": 1.0},
    {"k": 8, "bound": "lambda", "lam": 2.0},
    {"k": 18, "bound": "lambda", "lam": 10.0},
]
RELAXED = [
    {"relax": "amplify", "k": 2.0},
    {"relax": "add", "e": 0.1},
    {"relax": "anneal", "k": 4.0},
    {"relax": "typical"},
    {"relax": "typical", "eps": 0.5},
]
LOSSY = [
    *(GSD(TOY, GSDSettings(**knobs)) for knobs in GSDS),
    *(Lantern(TOY, LanternSettings(**knobs)) for knobs in LANTERNS),
    *(RelaxedSJD(TOY, RelaxedSettings(**knobs)) for knobs in RELAXED),
]


def pairs(seed: int, rows: int = 3, codes: int = CODES) -> tuple[Tensor, Tensor]:
    """p and q [rows, V] as windows have them: the second row's q one-hot, the third's p and q with
    tokens that top-k leaves out, not the same ones."""
    generator = torch.Generator().manual_seed(seed)
    p, q = torch.softmax(1.5 * torch.randn(2, rows, codes, generator=generator), -1)
    q[1] = one_hot(torch.randint(codes, (), generator=generator), codes)
    for row in (p[2], q[2]):
        row[torch.randperm(codes, generator=generator)[: codes // 2]] = 0
        row /= row.sum()
    return p, q


def replacement(decoder: WindowDecoder, x: int, p: Tensor, q: Tensor) -> Tensor:
    """What the decoder draws a rejected draft's replacement from, [V]."""
    if isinstance(decoder, Lantern):
        left = decoder._replacement(torch.tensor([x]), p[None], q[None])[0]
    elif isinstance(decoder, RelaxedSJD) and decoder.settings.relax == "typical":
        left = p
    else:
        left = residual(p, q)
    return left / left.sum()


def brute_force(decoder: WindowDecoder, p: Tensor, q: Tensor) -> Tensor:
    """p' [H, V], from the decoder's own verification of every draft at every place, one at a
    time."""
    H, V = p.shape
    found = torch.zeros(H, V, dtype=torch.float64)
    state = DecodeState(decoder, "", 0)
    for x in range(V):
        window = Window(torch.full((H,), x), q)
        verification = decoder.verify(state, window, torch.cat([p, p[-1:]]))
        for i, a in enumerate(verification.acceptance[:H].double()):
            if q[i, x] == 0:
                continue
            found[i, x] += q[i, x] * a
            if a < 1:
                found[i] += q[i, x] * (1 - a) * replacement(decoder, x, p[i], q[i]).double()
    return found


@pytest.mark.parametrize("name", LOSSLESS)
@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_a_lossless_rule_has_no_shift(name: str, seed: int) -> None:
    p, q = pairs(seed, codes=300)
    assert DECODERS[name](TOY).shift(p, q).equal(torch.zeros(3, dtype=torch.float64))
    p, q = exact(p), exact(q)
    committed = committed_by_residual(p, q, acceptance_probability(p, q))
    assert (total_variation(committed, p) < 1e-12).all()


@pytest.mark.parametrize("decoder", LOSSY, ids=lambda d: f"{d.name} {d.settings}"[:70])
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_shift_is_that_of_the_definition(decoder: WindowDecoder, seed: int) -> None:
    p, q = pairs(seed)
    committed = decoder.committed(p, q)
    torch.testing.assert_close(committed, brute_force(decoder, p, q), atol=rounding(1), rtol=0)
    torch.testing.assert_close(committed.sum(-1), torch.ones(3, dtype=torch.float64))
    torch.testing.assert_close(decoder.shift(p, q), total_variation(committed, exact(p)))


@pytest.mark.parametrize(("delta", "lossless"), [(0.0, True), (0.3, False), (1.0, False)])
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a_tree_s_shift_is_that_of_its_walks(delta: float, lossless: bool, seed: int) -> None:
    """Every node's children tried one by one by the released walk: accepted in order, at last a
    sample of what they left."""
    lantern = Lantern(TOY, LanternSettings(k=6, delta=delta))
    generator = torch.Generator().manual_seed(seed)
    parents = (0, 0, 0, 0, 1, 1, 4)
    nodes = torch.cat([torch.randperm(CODES, generator=generator)[:3], torch.tensor([4, 9, 2])])
    p = torch.softmax(1.5 * torch.randn(7, CODES, generator=generator), -1)
    tree = DraftTree(nodes[:0], p[:0], nodes=nodes, children=children_of(parents))
    walk = Walk(tree, p, lantern._neighbourhood)
    for _ in range(3):
        walk.descend(torch.zeros(3))  # the first child of each
    walk.finish(torch.full((4,), 0.5))
    expected = []
    for row, tokens in ((0, nodes[:3].tolist()), (1, [4, 9]), (4, [2])):
        left, reached = p[row].double(), 1.0
        committed = torch.zeros(CODES, dtype=torch.float64)
        for x in tokens:
            members, added = lantern._neighbourhood(left[None].float(), torch.tensor([x]))
            a = min(1.0, float(left[x]) + float(added))
            committed[x] += reached * a
            reached *= 1 - a
            rest = left.masked_fill(members[0], 0)
            rest[x] = 0
            left = rest / rest.sum() if rest.sum() > 0 else left
        expected.append(float(total_variation(committed + reached * left, p[row].double())))
    found, whole = walk.shift(), torch.tensor(expected).double()
    torch.testing.assert_close(found, whole, atol=rounding(1), rtol=0)
    assert (found.max() < rounding(1)) == lossless


@pytest.mark.parametrize("decoder", LOSSY, ids=lambda d: f"{d.name} {d.settings}"[:70])
def test_static_shapes_have_the_same_shift(decoder: WindowDecoder) -> None:
    """But where a distribution holds over twice top-k tokens: there is none."""
    p, q = pairs(4)
    p[2, p[2].argsort()[:-4]] = q[2, q[2].argsort()[:-4]] = 0  # of 4 tokens each
    wide = type(decoder)(Toy((2, 12), CODES, seed=3), decoder.settings, Sampling(top_k=CODES // 2))
    narrow = type(decoder)(wide.model, decoder.settings, Sampling(top_k=3))
    wide.model.static = True
    expected = decoder.shift(p, q)
    torch.testing.assert_close(wide.shift(p, q), expected)
    found = narrow.shift(p, q)
    torch.testing.assert_close(found[2], expected[2])
    if not isinstance(decoder, RelaxedSJD):
        assert found[0].isnan()


@pytest.mark.parametrize("block", [1, 5, 17])
def test_neighbourhoods_held_in_blocks_are_the_same(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    p, q = pairs(9)
    decoder = Lantern(TOY, LanternSettings(k=8, delta=0.3))
    expected = decoder.committed(p, q)
    monkeypatch.setattr("engine.decoders.lantern.DRAFTS_AT_ONCE", block)
    torch.testing.assert_close(decoder.committed(p, q), expected)


@pytest.mark.parametrize(
    "decoder",
    [
        SJD(SMALL),
        SJDPAC(SMALL, PACSettings(window=16, K=1)),
        GSD(SMALL, GSDSettings(**GSDS[0])),
        RelaxedSJD(SMALL, RelaxedSettings(**RELAXED[0])),
        RelaxedSJD(SMALL, RelaxedSettings(**RELAXED[-1])),
        Lantern(SMALL, LanternSettings(k=3, delta=0.3)),
    ],
    ids=lambda d: d.name,
)
def test_it_is_the_distribution_of_what_verification_commits(decoder: WindowDecoder) -> None:
    """Every outcome of the verification: nothing of the rule is assumed."""
    expected = committed_distribution(decoder, P, Q)
    shift = total_variation(expected, exact(P))
    torch.testing.assert_close(decoder.shift(P[None], Q[None])[0], shift, atol=rounding(1), rtol=0)
    if decoder.badge is Badge.CHANGED_DISTRIBUTION:
        committed = decoder.committed(P[None], Q[None])[0]
        torch.testing.assert_close(committed, expected, atol=rounding(1), rtol=0)


@given(st.integers(0, 10**6), st.sampled_from(GSDS))
def test_all_groups_at_once_are_the_groups_one_by_one(seed: int, knobs: dict[str, object]) -> None:
    p, q = pairs(seed)
    p = (p * 50).round() + 1  # with equal probabilities
    p /= p.sum(-1, keepdim=True)
    chosen = GSDSettings(**knobs)
    x = torch.arange(CODES)
    for i, row in enumerate(group_acceptances(p, q, TOY.codebook, chosen, CODES)):
        each = (values[i].expand(CODES, -1) for values in (p, q))
        one = group_acceptance(*each, x, TOY.codebook, chosen)
        drawn = q[i] > 0
        torch.testing.assert_close(row[drawn], one.double()[drawn], atol=rounding(1), rtol=0)
