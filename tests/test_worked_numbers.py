"""The worked numbers of docs/decoders.md, computed again with the decoders."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from engine.decoders import DECODERS
from engine.decoders.assd import ASSD, ASSDSettings
from engine.decoders.auto_correct import AutoCorrect, AutoCorrectSettings
from engine.decoders.candidates import CandidateWalk
from engine.decoders.gsd import GSDSettings
from engine.decoders.lantern import LanternSettings
from engine.decoders.relaxed import RelaxedSettings, typical_threshold
from engine.decoders.scd import SCDSettings
from engine.decoders.sjd import SJD
from engine.decoders.sjd_pac import PACSettings
from engine.decoders.sjd_plus_plus import kept_above
from engine.decoders.traversal import reject_all
from engine.decoders.window import WindowDecoder
from engine.fronts import fronts
from engine.models.base import planned
from engine.numerics.distributions import normalise, residual, total_variation
from tests.engine.decoders.driving import acceptances, alpha, point_mass, replacement_distribution
from tests.engine.decoders.test_runs import first_of_two
from tests.engine.decoders.test_scd import gumbel_overlap
from tests.pages import page, sections, table
from tools.judge.enumeration import enumerated, exactly, joint_variation
from tools.judge.one_pass import accepted_drafts, committed_distribution, verify_chain
from tools.judge.toys import InfillToy, Toy, infilling

P, Q = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0.4, 0.3, 0.2, 0.1])
TARGET = torch.tensor([0.30, 0.25, 0.20, 0.15, 0.10])
DRAFT = torch.tensor([0.05, 0.60, 0.20, 0.10, 0.05])
LINE = torch.tensor([[2.0], [0.0], [1.0], [3.0], [4.0]])  # nearest to code 1: 2, 0, 3, 4
VERIFICATIONS = ("token", "block")
COUPLINGS = ("gumbel", "maximal")
REJECT = 1.0  # a uniform number that no acceptance probability exceeds


def jacobi() -> dict[str, Tensor]:
    decoder = DECODERS["jacobi"](Toy((2, 3), 4))
    return {
        "acceptance of each draft": acceptances(decoder, P, Q),
        "α": torch.tensor(alpha(decoder, P, Q)),
    }


def fixed_point() -> dict[str, Tensor]:
    distance = total_variation(P, Q)
    return {
        "TV(p, q)": distance,
        "least probability of an unchanged draft": (1 - distance) / (1 + distance),
    }


def sjd() -> dict[str, Tensor]:
    decoder, fresh = SJD(Toy((2, 3), 4)), point_mass(2, 4)
    return {
        "acceptance of each draft": acceptances(decoder, P, Q),
        "α": torch.tensor(alpha(decoder, P, Q)),
        "committed after a rejection": replacement_distribution(decoder, P, Q, 0),
        "distribution of what is committed": committed_distribution(decoder, P, Q),
        "fresh token 2: acceptance": acceptances(decoder, P, fresh)[2],
        "fresh token 2: committed after its rejection": replacement_distribution(
            decoder, P, fresh, 2
        ),
        **{f"{rule}: accepted of two drafts": accepted_of_two(rule) for rule in VERIFICATIONS},
    }


def accepted_of_two(verification: str) -> Tensor:
    """The example of block verification's paper: everywhere p = (1/3, 2/3) and q = (2/3, 1/3)."""
    p = torch.tensor([1 / 3, 2 / 3]).expand(3, -1)
    decoder = SJD(Toy((2, 3), 2), SJD.Settings(verification=verification))
    return torch.tensor(accepted_drafts(decoder, p, p[:2].flip(-1)))


def scd() -> dict[str, Tensor]:
    model, distance = Toy((2, 3), 4), total_variation(P, Q)
    gumbel, maximal = (DECODERS["scd"](model, SCDSettings(coupling=c)) for c in COUPLINGS)
    behind = verify_chain(maximal, P, Q, [0, 0, 1, 2, 3], verify=[[REJECT] * 3])
    kept = behind.acceptance[1:5]
    found = [acceptances(decoder, P, Q) for decoder in (gumbel, maximal)]
    assert found[0].equal(found[1])
    return {
        "acceptance of each draft": found[0],
        "committed after a rejection": replacement_distribution(gumbel, P, Q, 0),
        "distribution of what is committed": committed_distribution(maximal, P, Q),
        "gumbel: probability of an unchanged draft": torch.tensor(gumbel_overlap(P, Q)),
        "gumbel: its lower bound": (1 - distance) / (1 + distance),
        "maximal: acceptance behind a rejection": kept,
        "maximal: probability of an unchanged draft": (Q * kept).sum(),
        "independent redraw: probability of an unchanged draft": (Q * P).sum(),
        "threshold τ = 0.5: distribution of a draft after it": kept_above(P, Q, 0.5),
    }


def sjd_plus_plus() -> dict[str, Tensor]:
    decoder = DECODERS["sjd-plus-plus"](Toy((2, 3), 4))
    drafts = [0, 1, 2, 3]
    behind = verify_chain(decoder, P, Q, [0, *drafts], verify=[[REJECT] * 3])
    return {
        "acceptance of each draft": acceptances(decoder, P, Q),
        "τ = 0.5: drafts that stay": behind.tokens[1:5] == torch.tensor(drafts),
    }


def relaxed_sjd() -> dict[str, Tensor]:
    def decoder(**knobs: float | str) -> WindowDecoder:
        return DECODERS["sjd-relaxed"](Toy((2, 3), 4), RelaxedSettings(**knobs))

    found = {}
    for label, rule in (
        ("amplify k = 2", decoder(relax="amplify", k=2.0)),
        ("add e = 0.05", decoder(relax="add", e=0.05)),
        ("entropy, nats = 2", decoder(relax="entropy", nats=2.0)),
        ("typical ε = 0.5", decoder(relax="typical", eps=0.5)),
    ):
        found[f"{label}: acceptance of each draft"] = acceptances(rule, P, Q)
        found[f"{label}: distribution of what is committed"] = committed_distribution(rule, P, Q)
    found["entropy, nats = 9: acceptance of each draft"] = acceptances(
        decoder(relax="entropy"), P, Q
    )
    for eps in (0.09, 0.5):
        found[f"typical ε = {eps}: threshold"] = typical_threshold(P[None], eps)
    typical = decoder(relax="typical", eps=0.5)
    found["typical ε = 0.5: shift"] = typical.shift(P[None], Q[None], torch.zeros(1))
    found["runs, drafts 0, 1, 2, 3: acceptance of the run up to each"] = acceptances(
        decoder(relax="runs"), P, Q
    )
    found["runs, two drafts, p = (1/3, 2/3), q = (2/3, 1/3): first token"] = first_of_two()
    even = torch.tensor([0.1, 0.9, 0, 0]), torch.tensor([1.0, 0, 0, 0])
    accepted = verify_chain(decoder(relax="anneal", k=4.0), *even, [0] * 4).acceptance[:4]
    return found | {"anneal k = 4: factor of the first four drafts": accepted / 0.1}


def gsd() -> dict[str, Tensor]:
    def decoder(G: int) -> WindowDecoder:
        return DECODERS["gsd"](Toy((2, 3), 4), GSDSettings(G=G, delta=1.0, d=10.0))

    found = {"G = 1: acceptance of each draft": acceptances(decoder(1), P, Q)}
    for G in (2, 3, 4):
        found[f"G = {G}: acceptance of each draft"] = acceptances(decoder(G), P, Q)
        if G != 3:
            found[f"G = {G}: α"] = torch.tensor(alpha(decoder(G), P, Q))
    found["G = 2: distribution of what is committed"] = committed_distribution(decoder(2), P, Q)
    found["G = 2, fresh token 2: acceptance"] = acceptances(decoder(2), P, point_mass(2, 4))[2]
    return found


def lantern() -> dict[str, Tensor]:
    model, certain = Toy((2, 3), 5), point_mass(1, 5)
    model.codebook = LINE

    def decoder(**bound: float | str) -> WindowDecoder:
        return DECODERS["lantern"](model, LanternSettings(k=3, **bound))

    def mass(**bound: float | str) -> Tensor:
        """A one-hot draft is accepted with its own probability and A's."""
        return acceptances(decoder(**bound), TARGET, certain)[1] - TARGET[1]

    quarter = decoder(delta=0.25)
    return {
        "δ = 0.15: mass of A": mass(delta=0.15),
        "δ = 0.25: mass of A": mass(delta=0.25),
        "δ = 0.5: mass of A": mass(delta=0.5),
        "λ = 2: mass of A": mass(bound="lambda", lam=2.0),
        "δ = 0.25: acceptance": acceptances(quarter, TARGET, DRAFT)[1],
        "δ = 0.25: committed after a rejection": replacement_distribution(
            quarter, TARGET, DRAFT, 1
        ),
        "δ = 0.25, one-hot draft: acceptance": acceptances(quarter, TARGET, certain)[1],
        "δ = 0.25, one-hot draft: committed after a rejection": replacement_distribution(
            quarter, TARGET, certain, 1
        ),
    }


def level(candidates: tuple[int, ...], accept: int | None) -> tuple[CandidateWalk, list[Tensor]]:
    """One level of SJD-PAC's walk with p = Q and candidates drawn from q = P without replacement,
    of which number `accept` alone is accepted; and the distribution each was drawn from."""
    drawn_from, left = [], P
    for token in candidates:
        drawn_from.append(left)
        left = left.scatter(0, torch.tensor([token]), 0)
        left = left / left.sum().clamp_min(1e-30)
    K = len(candidates)
    children = torch.tensor([list(range(1, K + 1)), *[[-1] * K] * K])
    uniforms = torch.tensor([0.0 if k == accept else REJECT for k in range(K)])
    walk = CandidateWalk(Q.expand(K + 1, -1), torch.tensor(K))
    walk.descend(children, torch.tensor(candidates), torch.stack(drawn_from), uniforms)
    return walk, drawn_from


def any_accepted(K: int) -> float:
    """The probability that one of K candidates is accepted, over all ordered draws of them."""
    total = 0.0
    for candidates in itertools.permutations(range(4), K):
        chance, rest = 1.0, 1.0
        for token in candidates:
            chance, rest = chance * float(P[token]) / rest, rest - float(P[token])
        for k in range(K):
            walk, _ = level(candidates[: k + 1], k)
            acceptance = float(walk.acceptance[0]) if walk.alive else 0.0
            total, chance = total + chance * acceptance, chance * (1 - acceptance)
    return total


def sjd_pac() -> dict[str, Tensor]:
    model = Toy((2, 3), 4)
    decoder = DECODERS["sjd-pac"](model, PACSettings(window=16, K=1))
    some = torch.tensor([any_accepted(K) for K in range(1, 5)])
    a, there = torch.tensor([0.75]), torch.tensor(True)
    second = reject_all(a, Q[None], torch.tensor([[3]]), P[None, None], there)
    return {
        "first candidate: acceptance": level((3,), 0)[0].acceptance[0],
        "left of p after its rejection": level((3,), None)[0].left,
        "second candidate: drawn from": level((3, 1), None)[1][1],
        "second candidate: acceptance": level((3, 1), 1)[0].acceptance[0],
        "left of p after both rejections": level((3, 1), None)[0].left,
        "probability that one of K = 1, 2, 3, 4 candidates is accepted": some,
        "continuation: acceptance of each draft": acceptances(decoder, P, Q),
        "continuation: probability of an unchanged draft": (Q * acceptances(decoder, P, Q)).sum(),
        "independent redraw: probability of an unchanged draft": (Q * P).sum(),
        "traversal, the second candidate's first candidate, 3: a": second.a[0, 0],
        "traversal, the second candidate once that failed: a": second.parent[0],
    }


def assd() -> dict[str, Tensor]:
    p, q = torch.tensor([0.2, 0.3, 0.5]), torch.tensor([0.5, 0.3, 0.2])
    toy = InfillToy((1, 4), 3)
    _, plan = planned(toy, infilling((True,) * 4, "raster", 3))
    decoder = ASSD(toy, plan=plan)
    passes = []
    for cells in range(1, 5):
        mask = [i < cells for i in range(4)]
        _, plan = planned(toy, infilling(mask, "raster", 3))
        some = ASSD(toy, ASSDSettings(k=2), plan=plan)
        passes.append(len(list(some.steps("", 1))))
    return {
        "acceptance": acceptances(decoder, p, q),
        "committed after a rejection": replacement_distribution(decoder, p, q, 0),
        "passes for 1, 2, 3, 4 cells, k = 2": torch.tensor(passes),
    }


def zipar() -> dict[str, Tensor]:
    passes, widest = torch.tensor(
        [rows_passes(s, side=16, window=1, most=16, accepted=True) for s in (1, 2, 4, 8, 16)]
    ).T
    return {
        "passes for 16 × 16 tokens, s = 1, 2, 4, 8, 16": passes,
        "widest window, s = 1, 2, 4, 8, 16": widest,
    }


def rows_passes(
    lag: int, *, accepted: bool, side: int = 20, window: int = 8, most: int = 12
) -> tuple[int, int]:
    """Passes for side x side tokens, and the rows of the widest."""
    counts, read, passes, widest = [0] * side, 0, 0, 0
    while min(counts) < side:
        found = fronts(counts, read, stride=side, lag=lag, first=lag, window=window, most=most)
        passes, widest = passes + 1, max(widest, sum(front.fed for front in found))
        for front in found:
            row, column = divmod(front.start, side)
            may = front.room + front.bonus
            committed = may if accepted else min(1, may)
            if front.closing or not (column or front.borrows):
                read = row
            counts[row] += 0 if front.closing else committed
    return passes, widest


def parallel_rows() -> dict[str, Tensor]:
    contexts = (1, 2, 4, 8, 20)
    slow, fast = (
        torch.tensor([rows_passes(c, accepted=accepted) for c in contexts])
        for accepted in (False, True)
    )
    p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]])
    kept = torch.minimum(p, q)
    rejected = 1 - kept.sum()
    return {
        "passes for 20 × 20 tokens, W = 8, no draft accepted, c = 1, 2, 4, 8, 20": slow[:, 0],
        "the same, every draft accepted": fast[:, 0],
        "rows of a pass at most, no draft accepted": slow[:, 1],
        "q = (1, 0), p = (1/2, 1/2): drawn where what is rejected is replaced": (
            kept + rejected * normalise(residual(p, q))
        ),
        "drawn where it is postponed": kept + rejected * p,
    }


def auto_correct() -> dict[str, Tensor]:
    def decoder(rounds: int, toy: Toy) -> WindowDecoder:
        return AutoCorrect(toy, AutoCorrectSettings(rounds=rounds))

    model = Toy((20, 20), 2)
    passes = [len(list(decoder(r, model).steps("", 0))) for r in (1, 2, 3, 20)]
    with exactly():
        small = Toy((1, 3), 2)
        expected = small.joint_distribution(small.plan)
        joints = [enumerated(decoder(r, small)).joint for r in (1, 2, 3)]
        distances = torch.tensor([joint_variation(joint, expected) for joint in joints])
    return {
        "passes for 20 × 20 tokens, r = 1, 2, 3, 20": torch.tensor(passes),
        "three tokens of two codes, r = 1, 2, 3: TV of the picture's distribution": distances,
    }


WORKED = {
    "Jacobi": jacobi,
    "Fixed point": fixed_point,
    "SJD": sjd,
    "SCD": scd,
    "SJD++": sjd_plus_plus,
    "Relaxed SJD": relaxed_sjd,
    "GSD": gsd,
    "LANTERN": lantern,
    "SJD-PAC": sjd_pac,
    "ZipAR": zipar,
    "Parallel rows": parallel_rows,
    "Auto-correct": auto_correct,
    "ASSD": assd,
}


@pytest.mark.parametrize("title", [decoder.title for decoder in DECODERS.values()])
def test_worked_numbers_are_the_decoders_own(title: str) -> None:
    text = sections(page("docs/decoders.md"))[title]
    if title not in WORKED:
        assert "worked numbers" not in text
        return
    written = {
        row[0]: [float(number) for number in row[1].split(",")]
        for row in table(text, "worked numbers")
    }
    computed = {
        label: values.double().reshape(-1).tolist() for label, values in WORKED[title]().items()
    }
    assert written.keys() == computed.keys()
    for label, values in computed.items():
        assert written[label] == pytest.approx(values, abs=6e-5), label
