"""One verification of a draft by every rule that tests chains: what it accepts and what it then
commits, against definitions in plain lists; and how a chain of them ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.gsd import GSD
from engine.decoders.lantern import Lantern
from engine.decoders.relaxed import RelaxedSJD
from engine.decoders.scd import SCD
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC
from engine.decoders.window import WindowDecoder
from engine.numerics.distributions import exact, one_hot, total_variation
from engine.settings import Settings
from engine.trace import Status
from tests.engine.decoders.driving import ACCEPT, REJECT, P, Q, near
from tests.engine.decoders.test_gsd import group_ratio
from tests.engine.decoders.test_lantern import members
from tests.floats import rounding
from tools.judge.one_pass import committed_distribution, verify_chain
from tools.judge.toys import Toy

CODES = 6
TOY = Toy((2, 3), CODES, seed=3)
SMALL = Toy((2, 3), 4)
# Of draft x, number i of its window: with which probability it is accepted, and what its
# replacement is drawn from, not normalised.
Rule = Callable[[Sequence[float], Sequence[float], int, int, Settings], tuple[float, list[float]]]


def residual(p: Sequence[float], q: Sequence[float]) -> list[float]:
    return [max(0.0, p[v] - q[v]) for v in range(CODES)]


def lossless(p: Sequence[float], q: Sequence[float], x: int, i: int, s: Settings) -> tuple:
    return min(1.0, p[x] / q[x]), residual(p, q)


def relaxed(p: Sequence[float], q: Sequence[float], x: int, i: int, s: Settings) -> tuple:
    entropy = -sum(each * math.log(each) for each in p if each > 0)
    if s.relax == "entropy":
        return min(1.0, p[x] / (min(1.0, entropy / s.nats + 0.05) * q[x])), residual(p, q)
    if s.relax == "typical":
        return float(p[x] > min(s.eps, math.sqrt(s.eps) * math.exp(-entropy))), list(p)
    factor = s.k if s.relax == "amplify" else max(1.0, s.k * math.exp(-0.7 * i))
    raised = p[x] + s.e if s.relax == "add" else factor * p[x]
    return min(1.0, raised / q[x]), residual(p, q)


def grouped(p: Sequence[float], q: Sequence[float], x: int, i: int, s: Settings) -> tuple:
    return group_ratio(p, q, x, TOY.codebook, s), residual(p, q)


def borrowed(p: Sequence[float], q: Sequence[float], x: int, i: int, s: Settings) -> tuple:
    chosen = members(p, x, TOY.codebook, s)
    moved = [0.0 if v in chosen else p[v] for v in range(CODES)]
    moved[x] += sum(p[v] for v in chosen)
    return min(1.0, moved[x] / q[x]), residual(moved, q)


LOSSLESS: list[tuple[type[WindowDecoder], dict[str, object]]] = [
    (SJD, {}),
    (SCD, {"coupling": "gumbel"}),
    (SCD, {"coupling": "maximal"}),
    (GSD, {"G": 1, "delta": 1.0, "d": 10.0}),
    (GSD, {"G": 10, "delta": 0.0, "d": 0.0}),
    (Lantern, {"k": 62, "delta": 0.0}),
    (Lantern, {"k": 62, "bound": "lambda", "lam": 1.0}),
    (Lantern, {"k": 1, "delta": 1.0}),
    (RelaxedSJD, {"relax": "amplify", "k": 1.0}),
    (RelaxedSJD, {"relax": "add", "e": 0.0}),
    (RelaxedSJD, {"relax": "anneal", "k": 1.0}),
    (SJDPAC, {"K": 1}),
    (SJDPAC, {"K": 1, "AC": False}),
]
CHANGED: list[tuple[type[WindowDecoder], dict[str, object], Rule]] = [
    (RelaxedSJD, {"relax": "amplify", "k": 2.0}, relaxed),
    (RelaxedSJD, {"relax": "add", "e": 0.1}, relaxed),
    (RelaxedSJD, {"relax": "anneal", "k": 4.0}, relaxed),
    (RelaxedSJD, {"relax": "entropy"}, relaxed),
    (RelaxedSJD, {"relax": "entropy", "nats": 1.0}, relaxed),
    (RelaxedSJD, {"relax": "typical"}, relaxed),
    (RelaxedSJD, {"relax": "typical", "eps": 0.5}, relaxed),
    (GSD, {"G": 2, "delta": 1.0, "d": 10.0}, grouped),
    (GSD, {"G": 5, "delta": 0.15, "d": 0.5}, grouped),
    (GSD, {"G": 4, "delta": 0.3}, grouped),
    (GSD, {"G": 100, "delta": 0.1, "d": 1.0}, grouped),
    (Lantern, {"k": 4, "delta": 0.2}, borrowed),
    (Lantern, {"k": 6, "delta": 1.0}, borrowed),
    (Lantern, {"k": 3, "delta": 0.05}, borrowed),
    (Lantern, {"k": 4, "bound": "lambda", "lam": 2.0}, borrowed),
    (Lantern, {"k": 6, "bound": "lambda", "lam": 10.0}, borrowed),
]
CASES = [*((kind, knobs, lossless) for kind, knobs in LOSSLESS), *CHANGED]


def pairs(seed: int) -> tuple[Tensor, Tensor]:
    """p and q [4, V] as windows have them: any; of a certain draft; with tokens that top-k leaves
    out, not the same ones; and the same."""
    generator = torch.Generator().manual_seed(seed)
    p, q = torch.softmax(1.5 * torch.randn(2, 4, CODES, generator=generator), -1)
    q[1] = one_hot(torch.randint(CODES, (), generator=generator), CODES)
    for row in (p[2], q[2]):
        row[torch.randperm(CODES, generator=generator)[: CODES // 2]] = 0
        row /= row.sum()
    q[3] = p[3]
    return p, q


def committed_by_definition(rule: Rule, p: Tensor, q: Tensor, i: int, settings: Settings) -> Tensor:
    """[V]: the distribution of what is committed where draft number i is tested, by definition."""
    committed = torch.zeros(CODES, dtype=torch.float64)
    for x in q.nonzero()[:, 0].tolist():
        acceptance, left = rule(p.tolist(), q.tolist(), x, i, settings)
        committed[x] += float(q[x]) * acceptance
        if sum(left) > 0:
            replaced = torch.tensor(left, dtype=torch.float64)
            committed += float(q[x]) * (1 - acceptance) * replaced / replaced.sum()
    return committed


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("kind", "knobs", "rule"), CASES)
def test_one_verification_accepts_and_commits_by_its_definition(
    kind: type[WindowDecoder], knobs: dict[str, object], rule: Rule, seed: int
) -> None:
    """Every draft, and every outcome of its verification. A lossless rule accepts as SJD does to
    the last bit; what a rule says that it commits, and its shift, are those of what it does."""
    decoder = kind(TOY, kind.Settings(**knobs))
    p, q = pairs(seed)
    window = torch.cat([p, p[:1]])
    for x in range(CODES):
        found = verify_chain(decoder, window, q, [x] * 4).acceptance[:4]
        drawn = [i for i in range(4) if q[i, x] > 0]
        defined = [rule(p[i].tolist(), q[i].tolist(), x, i, decoder.settings)[0] for i in drawn]
        near(found[drawn], defined, rounding(1))
        if rule is lossless:
            assert found.equal(verify_chain(SJD(TOY), window, q, [x] * 4).acceptance[:4])
    for i in range(4):
        enumerated = committed_distribution(decoder, p[i], q[i])
        near(
            enumerated,
            committed_by_definition(rule, p[i], q[i], 0, decoder.settings).tolist(),
            rounding(1),
        )
    expected = torch.stack(
        [committed_by_definition(rule, p[i], q[i], i, decoder.settings) for i in range(4)]
    )
    near(
        decoder.shift(p, q, torch.arange(len(p))),
        total_variation(expected, exact(p)).tolist(),
        rounding(1),
    )
    if decoder.badge is Badge.CHANGED_DISTRIBUTION:
        near(decoder.committed(p, q, torch.arange(len(p))), expected.tolist(), rounding(1))


chains = pytest.mark.parametrize(("kind", "knobs"), LOSSLESS)


@chains
def test_no_number_accepts_a_token_that_p_rules_out_or_rejects_a_certain_one(
    kind: type[WindowDecoder], knobs: dict[str, object]
) -> None:
    """The smallest and the largest that are drawn."""
    decoder = kind(SMALL, kind.Settings(**knobs))
    p, most = torch.tensor([0.0, 0.5, 0.5, 0.0]), 1 - 2**-24
    ruled_out = verify_chain(decoder, p, Q, [3], verify=[[ACCEPT] + [most] * 9])
    assert ruled_out.count == 1
    assert ruled_out.tokens[0] in (1, 2)
    assert verify_chain(decoder, P, P, [0, 1, 2, 3], verify=[[most] * 3]).count == 5


@chains
@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_a_chain_ends_at_its_first_rejection(
    kind: type[WindowDecoder], knobs: dict[str, object], passes: list[bool]
) -> None:
    decoder = kind(SMALL, kind.Settings(**knobs))
    rows = [[ACCEPT if ok else REJECT, *[0.9] * 6] for ok in passes] + [[0.5] * 7]
    drafts = [1] * len(passes)
    verification = verify_chain(decoder, P, Q, drafts, verify=rows)
    m = [*passes, False].index(False)
    assert verification.count == m + 1
    assert verification.tokens[:m].tolist() == drafts[:m]
    status = [Status.ACCEPTED] * m + [Status.FRESH if m == len(passes) else Status.RESAMPLED]
    assert verification.status[: m + 1].tolist() == status
    assert verification.q[m + 1 :].equal(P.expand(len(passes) - m, -1))
