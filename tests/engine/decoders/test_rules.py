"""The rules, one by one, against worked numbers."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from engine.decoders.ar import VanillaAR
from engine.decoders.fpi import FixedPoint
from engine.decoders.gsd import GSD, GSDSettings, group, group_acceptance
from engine.decoders.jacobi import Jacobi
from engine.decoders.lantern import Lantern, LanternSettings, borrow, nearest
from engine.decoders.refill import RefillSettings
from engine.decoders.run import Run
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import SJDPAC, PACSettings, TreeWindow, Walk, siblings
from engine.decoders.tree import tree
from engine.decoders.verdict import Verdict, Window
from engine.decoders.window import WindowDecoder
from engine.trace import Status
from tests.engine.decoders.driving import (
    ACCEPT,
    REFUSE,
    Chosen,
    acceptances,
    alpha,
    committed_law,
    judged,
    point_mass,
    refusal_law,
)
from tests.toy import Toy

P, Q = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0.4, 0.3, 0.2, 0.1])
TOY = Toy((2, 3), 4)


def near(values: Tensor, expected: list[float], within: float = 1e-4) -> None:
    torch.testing.assert_close(
        values.double(), torch.tensor(expected, dtype=torch.float64), atol=within, rtol=0
    )


def chain(**changes: bool) -> SJDPAC:
    return SJDPAC(TOY, PACSettings(window=16, PD=False, **changes))


def gsd(G: int, order: str = "ascending") -> GSD:
    return GSD(TOY, GSDSettings(G=G, order=order, delta=1.0, d=10.0))


# SJD, and the rules that are SJD on a chain

CHAINS = {
    "sjd": SJD(TOY),
    "gsd G=1": gsd(1),
    "lantern delta=0": Lantern(TOY, LanternSettings(delta=0.0)),
    "lantern lambda=1": Lantern(TOY, LanternSettings(bound="lambda", lam=1.0)),
    "sjd-pac": chain(),
    "sjd-pac without AC": chain(AC=False),
}
every_chain = pytest.mark.parametrize("name", CHAINS)


@every_chain
def test_sjd_accepts_with_p_over_q(name: str) -> None:
    near(acceptances(CHAINS[name], P, Q), [0.25, 2 / 3, 1, 1])
    assert alpha(CHAINS[name], P, Q) == pytest.approx(0.6)


@every_chain
def test_sjd_draws_from_the_residual_what_it_refused(name: str) -> None:
    for x in (0, 1):
        near(refusal_law(CHAINS[name], P, Q, x, 40), [0, 0, 0.25, 0.75])


@every_chain
def test_sjd_commits_by_p(name: str) -> None:
    near(committed_law(CHAINS[name], P, Q, 40), P.tolist())


@every_chain
def test_a_certain_draft_is_accepted_by_its_probability_and_refused_without_itself(
    name: str,
) -> None:
    q = point_mass(2, 4)
    assert acceptances(CHAINS[name], P, q)[2].item() == pytest.approx(0.3)
    near(refusal_law(CHAINS[name], P, q, 2, 70), [1 / 7, 2 / 7, 0, 4 / 7])
    near(committed_law(CHAINS[name], P, q, 70), P.tolist())


@every_chain
def test_equal_laws_are_always_accepted(name: str) -> None:
    near(acceptances(CHAINS[name], P, P), [1, 1, 1, 1], 1e-6)
    assert judged(CHAINS[name], P, P, [0, 1, 2, 3], verify=[[1 - 2**-24] * 3]).count == 5


@every_chain
def test_a_token_that_p_rules_out_is_never_accepted(name: str) -> None:
    p = torch.tensor([0.0, 0.5, 0.5, 0.0])
    verdict = judged(CHAINS[name], p, Q, [3], verify=[[ACCEPT] + [1 - 2**-24] * 9])
    assert verdict.count == 1
    assert verdict.tokens[0] in (1, 2)
    near(committed_law(CHAINS[name], p, Q, 40), p.tolist())


@every_chain
def test_the_uniform_is_compared_with_the_acceptance_probability(name: str) -> None:
    for u, count in ((0.2499, 2), (0.2501, 1)):
        assert judged(CHAINS[name], P, Q, [0], verify=[[u] * 3]).count == count


@every_chain
@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_a_chain_ends_at_its_first_refusal(name: str, passes: list[bool]) -> None:
    rows = [[ACCEPT if ok else REFUSE, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9] for ok in passes] + [[0.5] * 7]
    drafts = [1] * len(passes)
    verdict = judged(CHAINS[name], P, Q, drafts, verify=rows)
    m = [*passes, False].index(False)
    assert verdict.count == m + 1
    assert verdict.tokens[:m].tolist() == drafts[:m]
    status = [Status.ACCEPTED] * m + [Status.FRESH if m == len(passes) else Status.RESAMPLED]
    assert verdict.status[: m + 1].tolist() == status
    assert verdict.laws[m + 1 :].equal(P.expand(len(passes) - m, -1))


def test_jacobi_agrees_as_two_independent_samples_do() -> None:
    near(acceptances(Jacobi(TOY), P, Q), P.tolist())
    assert alpha(Jacobi(TOY), P, Q) == pytest.approx(0.2)


def test_jacobi_commits_its_own_fresh_samples_up_to_the_first_that_differs() -> None:
    u = [[0.05], [0.2], [0.5], [0.9]]  # samples 0, 1, 2, 3 of P
    verdict = judged(Jacobi(TOY), P, Q, [0, 1, 3], verify=u)
    assert verdict.count == 3
    assert verdict.tokens.tolist() == [0, 1, 2, 3]
    assert judged(Jacobi(TOY), P, Q, [0, 1, 2], verify=u).count == 4
    assert judged(Jacobi(TOY), P, Q, [3, 1, 2], verify=u).count == 1


def test_fixed_point_and_vanilla_ar_choose_by_p_and_the_same_noise() -> None:
    """Gumbel noise of zero everywhere: both take the likeliest token."""
    assert judged(VanillaAR(TOY), P, Q, []).tokens.tolist() == [3]
    verdict = judged(FixedPoint(TOY), P, Q, [3, 3, 1])
    assert verdict.count == 3
    assert verdict.tokens.tolist() == [3, 3, 3, 3]


# GSD


@pytest.mark.parametrize(
    ("G", "order", "expected", "mass"),
    [
        (1, "ascending", [0.25, 2 / 3, 1, 1], 0.6),
        (2, "ascending", [0.25, 3 / 7, 1, 1], 0.5286),
        (2, "descending", [3 / 7, 1, 1, 1], 0.7714),
        (3, "ascending", [0.25, 3 / 7, 1, 1], 0.5286),
        (3, "descending", [3 / 7, 1, 1, 1], 0.7714),
        (4, "ascending", [3 / 7, 2 / 3, 1, 1], 0.6714),
        (4, "descending", [2 / 3, 1, 1, 1], 0.8667),
    ],
)
def test_gsd_accepts_by_the_mass_of_a_group(
    G: int, order: str, expected: list[float], mass: float
) -> None:
    near(acceptances(gsd(G, order), P, Q), expected)
    assert alpha(gsd(G, order), P, Q) == pytest.approx(mass, abs=1e-4)


def test_gsd_changes_the_law_as_worked_out() -> None:
    near(committed_law(gsd(2), P, Q, 40), [0.1, 0.12857, 0.31786, 0.45357], 1e-5)


def test_gsd_of_a_certain_draft() -> None:
    assert acceptances(gsd(2), P, point_mass(2, 4))[2].item() == pytest.approx(0.5)


def test_gsd_refuses_as_sjd_does() -> None:
    near(refusal_law(gsd(4), P, Q, 0, 40), [0, 0, 0.25, 0.75])


def test_gsd_leaves_out_tokens_of_another_probability_or_look() -> None:
    # variance 1.25: neighbours are 0.2 apart, the next 0.8
    codebook = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    x = torch.tensor([2])

    def members(**changes: float) -> set[int]:
        tokens, inside = group(
            P[None], x, codebook, GSDSettings(**({"G": 8, "d": 10.0, "delta": 1.0} | changes))
        )
        return set(tokens[inside].tolist())

    assert members() == {0, 1, 2, 3}
    assert members(delta=0.15) == {1, 2, 3}
    assert members(delta=0.05) == {2}
    assert members(d=0.5) == {1, 2, 3}
    assert members(d=0.1) == {2}
    assert members(d=0.0, delta=0.0) == {2}


def oracle(p: Tensor, q: Tensor, x: int, codebook: Tensor, s: GSDSettings) -> float:
    """GSD's acceptance as its paper (or its released code, which slices ranks x - 7 to x + 6
    ascending) states it, in lists."""
    code = s.reading == "code"
    ranked = sorted(
        range(len(p)), key=lambda v: (p[v] if code or s.order == "ascending" else -p[v], v)
    )
    at = ranked.index(x)
    half = 7 if code else s.G // 2
    if code and at < 7:
        return min(1.0, p[x] / q[x])
    spread = 4 * codebook.double().var(0, correction=0).sum()
    chosen = [x]
    for y in ranked[max(0, at - half) : at + half]:
        gap, apart = (
            abs(p[y] - p[x]),
            float((codebook[y].double() - codebook[x].double()).square().sum() / spread),
        )
        if y != x and (gap < s.delta and apart < s.d if code else gap <= s.delta and apart <= s.d):
            chosen.append(y)
    return min(1.0, sum(p[y] for y in chosen) / sum(q[y] for y in chosen))


@given(
    st.integers(0, 10**6),
    st.integers(14, 40),
    st.sampled_from(["paper", "code"]),
    st.integers(1, 60),
    st.floats(0, 2),
    st.floats(0, 0.3),
    st.sampled_from(["ascending", "descending"]),
)
def test_gsd_equals_its_definition(
    seed: int, codes: int, reading: str, G: int, d: float, delta: float, order: str
) -> None:
    generator = torch.Generator().manual_seed(seed)
    p, q = torch.softmax(2 * torch.randn(2, codes, generator=generator), -1)
    codebook = torch.randn(codes, 3, generator=generator)
    settings = GSDSettings(G=G, d=d, delta=delta, order=order, reading=reading)
    x = torch.arange(codes)
    ours = group_acceptance(p.expand(codes, -1), q.expand(codes, -1), x, codebook, settings)
    near(ours, [oracle(p.tolist(), q.tolist(), int(i), codebook, settings) for i in x], 1e-5)


# LANTERN

TARGET, DRAFT = (
    torch.tensor([0.30, 0.25, 0.20, 0.15, 0.10]),
    torch.tensor([0.05, 0.60, 0.20, 0.10, 0.05]),
)
LINE = Toy((2, 3), 5)
LINE.codebook = torch.tensor([[2.0], [0.0], [1.0], [3.0], [4.0]])  # from code 1: 2, 0, 3, 4


def lantern(**changes: float | str) -> Lantern:
    return Lantern(LINE, LanternSettings(**{"k": 3, **changes}))


def test_the_nearest_codes_come_nearest_first_and_without_the_code_itself() -> None:
    assert nearest(LINE, 5)[1].tolist() == [2, 0, 3, 4]
    assert nearest(LINE, 3)[1].tolist() == [2, 0]
    assert nearest(LINE, 1)[1].tolist() == []


@pytest.mark.parametrize(
    ("changes", "lenders", "mass"),
    [
        ({"delta": 0.15}, [], 0),
        ({"delta": 0.25}, [2], 0.20),
        ({"delta": 0.2}, [2], 0.20),
        ({"delta": 0.5}, [0, 2], 0.50),
        ({"delta": 1.0, "k": 2}, [2], 0.20),
        ({"delta": 1.0, "k": 1}, [], 0),
        ({"delta": 1.0, "k": 4}, [0, 2, 3], 0.65),
        ({"bound": "lambda", "lam": 2.0}, [2], 0.20),
        ({"bound": "lambda", "lam": 1.5}, [], 0),
        ({"bound": "lambda", "lam": 3.0}, [0, 2], 0.50),
    ],
)
def test_lantern_borrows_from_the_nearest_within_its_bound(
    changes: dict, lenders: list[int], mass: float
) -> None:
    borrowed, added = lantern(**changes)._borrow(TARGET[None], torch.tensor([1]))
    assert borrowed[0].nonzero()[:, 0].tolist() == lenders
    assert added.item() == pytest.approx(mass)
    assert acceptances(lantern(**changes), TARGET, DRAFT)[1].item() == pytest.approx(
        min(1, (0.25 + mass) / 0.60)
    )


def test_lantern_refuses_to_what_the_lenders_left() -> None:
    near(
        refusal_law(lantern(delta=0.25), TARGET, DRAFT, 1, 70),
        [0.25 / 0.35, 0, 0, 0.05 / 0.35, 0.05 / 0.35],
    )


def test_lantern_with_a_certain_draft() -> None:
    """The drafter's likeliest token is a draft of probability one: accepted by its enlarged mass,
    refused without all of it."""
    certain = point_mass(1, 5)
    assert acceptances(lantern(delta=0.25), TARGET, certain)[1].item() == pytest.approx(0.45)
    near(refusal_law(lantern(delta=0.25), TARGET, certain, 1, 110), [0.5455, 0, 0, 0.2727, 0.1818])


def test_a_neighbour_over_the_bound_ends_the_walk() -> None:
    """Nearest first: 0.5 would go over the bound, and the 0.1 behind it is not taken either."""
    lenders, added = borrow(
        torch.tensor([[0.4, 0.5, 0.1]]), torch.tensor([[1, 2]]), torch.tensor([0.3])
    )
    assert not lenders.any()
    assert added.item() == 0


def test_lantern_without_a_bound_borrows_nothing_at_all() -> None:
    """delta = 0 is lossless to the last bit, even beside tokens of very little mass."""
    p = torch.tensor([0.6, 4e-7, 0.4 - 8e-7, 2e-7, 2e-7])
    q = torch.tensor([0.2, 0.2, 0.2, 0.2, 0.2])
    strict = lantern(delta=0.0, k=5)
    assert acceptances(strict, p, q).equal(acceptances(SJD(LINE), p, q))
    assert acceptances(lantern(bound="lambda", lam=1.0, k=5), p, q).equal(
        acceptances(SJD(LINE), p, q)
    )


# Proactive drafting: candidates without replacement


def one_level(K: int) -> Tensor:
    """Children of a root and its K leaves."""
    return torch.tensor([list(range(1, K + 1)), *[[-1] * K] * K])


def walked(p: Tensor, q: Tensor, candidates: tuple[int, ...], u: list[float]) -> Walk:
    """One level of the walk over candidates drawn from q one after another without replacement."""
    laws, left = [], q
    for token in candidates:
        laws.append(left)
        left = left.scatter(0, torch.tensor([token]), 0)
        left = left / left.sum().clamp_min(1e-30)
    walk = Walk(p.expand(len(candidates) + 1, -1))
    walk.descend(
        one_level(len(candidates)), torch.tensor(candidates), torch.stack(laws), torch.tensor(u)
    )
    return walk


def test_two_candidates_refused_leave_what_was_worked_out() -> None:
    assert walked(P, Q, (3,), [REFUSE]).acceptance[0].item() == pytest.approx(1.0)
    p, q = Q, P  # (.4, .3, .2, .1) against (.1, .2, .3, .4)
    assert walked(p, q, (3,), [REFUSE]).acceptance[0].item() == pytest.approx(0.25)
    near(walked(p, q, (3,), [REFUSE]).left, [0.75, 0.25, 0, 0])
    second = walked(p, q, (3, 1), [REFUSE, ACCEPT])
    assert second.alive
    assert second.node == 2
    assert second.acceptance[0].item() == pytest.approx(0.75)
    near(walked(p, q, (3, 1), [REFUSE, REFUSE]).left, [1, 0, 0, 0])


@pytest.mark.parametrize(("K", "accepted"), [(1, 0.6), (2, 0.7643), (3, 0.8403), (4, 1.0)])
def test_the_walk_commits_by_p_for_any_number_of_candidates(K: int, accepted: float) -> None:
    """Every ordered draw of K candidates, with its probability; for each the walk's own acceptances
    and leftover."""
    p, q = Q, P
    law, total = torch.zeros(4, dtype=torch.float64), 0.0
    for candidates in itertools.permutations(range(4), K):
        chance, rest = 1.0, 1.0
        for token in candidates:
            chance, rest = chance * float(q[token]) / rest, rest - float(q[token])
        for k, token in enumerate(candidates):
            walk = walked(p, q, candidates[: k + 1], [REFUSE] * k + [ACCEPT])
            acceptance = float(walk.acceptance[0]) if walk.alive else 0.0
            law[token] += chance * acceptance
            total += chance * acceptance
            chance *= 1 - acceptance
        left = walked(p, q, candidates, [REFUSE] * K).left.double()
        law += chance * left / left.sum()
    near(law, p.tolist(), 1e-6)
    assert total == pytest.approx(accepted, abs=1e-4)


def sibling_run(positions: int, u: list[list[float]]) -> Run:
    run = Run(SJDPAC(Toy((1, positions), 4)), "", 0)
    run.noise = Chosen(sibling=u)
    return run


def test_siblings_are_drawn_without_replacement_from_the_spines_law() -> None:
    grid = [(i + 0.5) / 60 for i in range(60)]
    u = [[0.5, *pair] for pair in itertools.product(grid, grid)]
    drafts, laws = torch.full((3600,), 3), P.expand(3600, -1)
    tokens, given = siblings(sibling_run(3600, u), drafts, laws, 3600, 3)
    near(given[0, 0], P.tolist())
    near(given[0, 1], [1 / 6, 1 / 3, 1 / 2, 0])
    pairs = torch.bincount(tokens[:, 1] * 4 + tokens[:, 2], minlength=16) / 3600
    expected = torch.tensor(
        [
            [0 if a == b or 3 in (a, b) else P[a] / 0.6 * P[b] / (0.6 - P[a]) for b in range(4)]
            for a in range(4)
        ]
    )
    near(pairs, expected.flatten().tolist(), 1e-3)
    for row in (0, 1800, 3599):
        left = P.clone()
        left[[3, int(tokens[row, 1])]] = 0
        near(given[row, 2], (left / left.sum()).tolist())


def test_a_law_with_too_few_tokens_gives_siblings_that_are_never_accepted() -> None:
    laws = torch.tensor([[0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]])
    tokens, given = siblings(sibling_run(2, [[0.5] * 4] * 2), torch.tensor([1, 0]), laws, 2, 4)
    assert tokens[0, :2].tolist() == [1, 2]
    assert not given[0, 2:].any()
    assert not given[1, 1:].any()
    for level, draws in enumerate((2, 1)):
        walk = Walk(torch.full((5, 4), 0.25))
        u = torch.tensor([REFUSE] * draws + [ACCEPT] * (4 - draws))
        walk.descend(one_level(4), tokens[level], given[level], u)
        assert not walk.alive


def tree_verdict(u: list[float], K: int = 2, D: int = 3, reading: str = "full") -> Verdict:
    """A whole verdict over a tree whose nodes all see the law P; u are the candidates' uniforms at
    every level."""
    decoder = SJDPAC(TOY, PACSettings(window=16, K=K, D=D, tree=reading))
    run = Run(decoder, "", 0)
    run.noise = Chosen(verify=[[*u, 0.5, 0.5, 0.5]], sibling=[[0.5, 0.9]])
    window = decoder.propose(run, TOY.length - 1)
    assert isinstance(window, TreeWindow)
    return decoder.judge(
        run, window, P.expand(1 + len(window.drafts) + len(window.side), -1).contiguous()
    )


def test_the_first_accepted_candidate_wins_whatever_its_siblings_would_lead_to() -> None:
    everything = tree_verdict([ACCEPT, ACCEPT])
    assert everything.path[: int(everything.count)].tolist() == list(range(int(everything.count)))
    second = tree_verdict([REFUSE, ACCEPT])
    layout = tree(16, TOY.length - 1, 2, 3, "full")
    first_side = layout.children[0][1]
    assert second.path[:3].tolist() == [0, first_side, layout.children[first_side][1]]
    assert second.count == 3
    assert second.status[:3].tolist() == [Status.ACCEPTED, Status.ACCEPTED, Status.FRESH]


def test_nothing_accepted_commits_one_token() -> None:
    verdict = tree_verdict([REFUSE, REFUSE])
    assert verdict.count == 1
    assert verdict.status[0] == Status.RESAMPLED


# Adaptive continuation


def continued(x: int, keep: float, redraw: float, *, AC: bool = True) -> tuple[Verdict, int]:
    """A verdict whose first draft is refused, and what becomes of the second, x."""
    verdict = judged(
        chain(AC=AC),
        P,
        Q,
        [0, x],
        verify=[[REFUSE] * 8, [0.5, 0.5, 0.5, 0.5, 0.5, keep, redraw, 0.5]],
    )
    assert verdict.count == 1
    return verdict, int(verdict.tokens[1])


def test_continuation_keeps_with_p_over_q_and_redraws_from_the_residual() -> None:
    verdict, _ = continued(1, 0.5, 0.5)
    near(verdict.acceptance[1:2], [2 / 3])
    assert [continued(1, u, 0.5)[1] == 1 for u in (0.66, 0.67)] == [True, False]
    assert [continued(1, REFUSE, (i + 0.5) / 4)[1] for i in range(4)] == [2, 3, 3, 3]
    near(verdict.laws[1], P.tolist())


def test_continuation_keeps_more_drafts_than_an_independent_redraw() -> None:
    kept = sum(float(Q[x]) * float(continued(x, 0.5, 0.5)[0].acceptance[1]) for x in range(4))
    assert kept == pytest.approx(0.6)
    redrawn = sum(
        float(Q[x])
        * sum(continued(x, 0.5, (i + 0.5) / 20, AC=False)[1] == x for i in range(20))
        / 20
        for x in range(4)
    )
    assert redrawn == pytest.approx(0.2, abs=1e-6)


def test_what_continuation_leaves_is_a_sample_of_the_new_law() -> None:
    law = torch.zeros(4)
    for x in range(4):
        kept = float(continued(x, 0.5, 0.5)[0].acceptance[1])
        law[x] += Q[x] * kept
        for i in range(40 * (kept < 1)):
            law[continued(x, REFUSE, (i + 0.5) / 40)[1]] += Q[x] * (1 - kept) / 40
    near(law, P.tolist())


def test_statuses_behind_a_refusal() -> None:
    for AC, keep, status in (
        (True, ACCEPT, Status.REFINED),
        (True, REFUSE, Status.REJECTED),
        (False, REFUSE, Status.REFINED),
    ):
        verdict, _ = continued(1, keep, 0.5, AC=AC)
        assert verdict.status.tolist() == [Status.RESAMPLED, status, Status.REFINED]


@pytest.mark.parametrize("AC", [True, False])
def test_a_draft_behind_the_walks_end_is_recorded_with_its_own_acceptance(AC: bool) -> None:
    """In a tree's levels too: what is left of p at the walk's end concerns the ended position
    alone."""
    decoder = SJDPAC(TOY, PACSettings(window=16, K=2, D=4, AC=AC))
    run = Run(decoder, "", 0)
    run.noise = Chosen(verify=[[REFUSE] * 8])
    window = decoder.propose(run, TOY.length - 1)
    laws = torch.softmax(
        torch.randn(len(window.parents), 4, generator=torch.Generator().manual_seed(1)), -1
    )
    verdict = decoder.judge(run, window, laws)
    x = window.drafts
    expected = (laws[: len(x)].gather(1, x[:, None]) / window.laws.gather(1, x[:, None])).clamp_max(
        1
    )[:, 0]
    torch.testing.assert_close(verdict.acceptance[:-1], expected)


# The loop's bookkeeping


class Noted(SJD):
    """Remembers its windows and laws."""

    def __init__(self, model: Toy, window: int) -> None:
        super().__init__(model, RefillSettings(window=window))
        self.windows: list[Window] = []
        self.laws: list[Tensor] = []

    def propose(self, run: Run, room: int) -> Window:
        self.windows.append(super().propose(run, room))
        return self.windows[-1]

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        self.laws.append(p)
        return super().judge(run, window, p)


class Keeping(Toy):
    """Remembers which rows were kept."""

    def keep(self, ctx: object, rows: list[int]) -> None:
        self.kept = [*getattr(self, "kept", []), list(rows)]
        super().keep(ctx, rows)


def noted(monkeypatch: pytest.MonkeyPatch, accept: list[bool]) -> tuple[Noted, Keeping]:
    """Two steps of SJD with L = 6, whose drafts pass as said."""
    u = [[ACCEPT if ok else REFUSE, 0.4, 0.6] for ok in accept] + [[0.5, 0.4, 0.6]]
    # so that every row of the window has a law of its own
    fresh = [[0.1], [0.6], [0.3], [0.9], [0.9], [0.1]]
    monkeypatch.setattr(
        "engine.decoders.run.Noise", lambda seed, device: Chosen(verify=u, fresh=fresh)
    )
    toy = Keeping((3, 4), 4)
    decoder = Noted(toy, 6)
    steps = decoder.steps("", 0)
    next(steps), next(steps)
    steps.close()
    return decoder, toy


def test_a_refusal_commits_keeps_refreshes_and_refills(monkeypatch: pytest.MonkeyPatch) -> None:
    """First failure at the third draft: 3 tokens committed, rows root, d1, d2 kept, y3 .. y5 with q
    = p3 .. p5, 2 fresh."""
    decoder, toy = noted(monkeypatch, [True, True, False, True, True])
    assert toy.kept[0] == [0, 1, 2]
    first, second = decoder.windows
    assert len(first.drafts) == len(second.drafts) == 5
    assert second.laws[:3].equal(decoder.laws[0][3:])
    assert second.laws[3:].sort(-1).values.tolist() == [[0, 0, 0, 1]] * 2
    assert second.laws[3:].argmax(-1).equal(second.drafts[3:])


def test_full_acceptance_commits_a_bonus_and_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, toy = noted(monkeypatch, [True] * 5)
    assert toy.kept[0] == [0, 1, 2, 3, 4, 5]
    second = decoder.windows[1]
    assert len(second.drafts) == 5
    assert second.laws.argmax(-1).equal(second.drafts)
    assert second.laws.amax(-1).tolist() == [1] * 5


def test_forced_tokens_take_their_place_in_the_window() -> None:
    """Rows of 4 codes and an end of line; 3 tokens committed and L = 6: of rows 3 .. 8 only row 1
    is forced (position 4)."""
    toy = Toy((3, 4), 4, forced=True)
    decoder = SJD(toy, RefillSettings(window=6))
    run = Run(decoder, "", 0)
    run.frontier = 3
    window = decoder.propose(run, toy.length - 4)
    fed, positions = decoder._feed(run, window)
    assert positions.tolist() == [3, 4, 5, 6, 7, 8]
    assert run.forced[positions].tolist() == [False, True, False, False, False, False]
    assert fed[2] == 9  # the draft at position 4 is the end of line itself
    assert window.laws[1].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("decoder", [Jacobi, FixedPoint, SJD, GSD])
def test_a_forced_position_never_stops_a_chain(decoder: type[WindowDecoder]) -> None:
    p = torch.stack([point_mass(0, 4)] * 2)
    verdict = judged(decoder(TOY), p, point_mass(0, 4), [0], verify=[[1 - 2**-24] * 3])
    assert verdict.count == 2
