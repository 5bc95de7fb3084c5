"""LANTERN's rule against worked numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import engine.decoders.launcher
import engine.models.neighbours
from engine.clock import StepClock
from engine.core import Groups, Window
from engine.decoders.lantern import Lantern, LanternSettings, bounded_neighbourhood
from engine.decoders.lantern_tree import TreeWalk, children_of, draft_tree
from engine.trace import Status, Step
from engine.trace.shares import NONE
from tests.engine.decoders.driving import ACCEPT, REJECT, near
from tests.floats import rounding
from tools.judge.choices import outcomes
from tools.judge.symbolic import SymbolicNoise, settled
from tools.judge.toys import Toy

TARGET = torch.tensor([0.30, 0.25, 0.20, 0.15, 0.10])
LINE = Toy((2, 3), 5)
LINE.codebook = torch.tensor([[2.0], [0.0], [1.0], [3.0], [4.0]])  # from code 1: 2, 0, 3, 4


CODES = 6
TOY = Toy((2, 3), CODES, seed=3)


def distribution(seed: int) -> Tensor:
    logits = torch.randn(CODES, generator=torch.Generator().manual_seed(seed))
    return torch.softmax(1.5 * logits, -1)


def lantern(**changes: float | str) -> Lantern:
    return Lantern(LINE, LanternSettings(**{"k": 3, **changes}))


@pytest.mark.parametrize(
    ("codes", "k", "expected"),
    [
        *((16384, 0, 1000), (1024, 0, 62), (2048, 0, 125), (32768, 0, 2000), (5, 0, 1)),
        *((1024, 300, 300), (5, 300, 5), (5, 1, 1)),
    ],
)
def test_k_is_by_default_the_papers_share_of_the_codes(codes: int, k: int, expected: int) -> None:
    assert LanternSettings(k=k).neighbours(codes) == expected
    assert LanternSettings().k == 0


def test_the_neighbours_are_known_before_the_first_clock_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, known = Toy((2, 3), 5), []
    tables = engine.models.neighbours._tables

    def clock(device: torch.device) -> StepClock:
        known.append(model.codebook in tables)
        return StepClock(device)

    monkeypatch.setattr(engine.decoders.launcher, "StepClock", clock)
    steps = Lantern(model, LanternSettings(k=3)).steps("", 0)
    assert model.codebook not in tables, "nothing is computed for a lane that never runs"
    with torch.inference_mode():
        next(steps)
    assert known == [True]
    assert tables[model.codebook].shape == (5, 2)


def members(p: Sequence[float], x: int, codebook: Tensor, s: LanternSettings) -> list[int]:
    """The neighbourhood of x: nearest first, as long as their mass together stays within the
    bound."""
    distance = [float((other - codebook[x]).square().sum()) for other in codebook]
    near = sorted((y for y in range(len(p)) if y != x), key=lambda y: distance[y])[: s.k - 1]
    bound, chosen = s.delta if s.bound == "delta" else (s.lam - 1) * p[x], []
    for y in near:
        if sum(p[z] for z in chosen) + p[y] > bound:
            break
        chosen.append(y)
    return chosen


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, CODES),
    bound=st.sampled_from(["delta", "lambda"]),
    delta=st.floats(0, 1),
    lam=st.floats(1, 10),
)
def test_the_neighbourhood_is_that_of_its_definition(
    seed: int, k: int, bound: str, delta: float, lam: float
) -> None:
    settings = LanternSettings(k=k, bound=bound, delta=delta, lam=lam)
    p = distribution(seed)
    inside, added = Lantern(TOY, settings)._neighbourhood(p.expand(CODES, -1), torch.arange(CODES))
    for x, row in enumerate(inside):
        expected = members(p.tolist(), x, TOY.codebook, settings)
        assert row.nonzero()[:, 0].tolist() == sorted(expected)
    torch.testing.assert_close((p * inside).sum(-1), added)


@pytest.mark.parametrize(("bound", "inside"), [(0.3, []), (0.5, [1]), (0.6, [1, 2])])
def test_a_code_over_the_bound_ends_the_neighbourhood_and_one_at_it_does_not(
    bound: float, inside: list[int]
) -> None:
    """Nearest first: where 0.5 would go over the bound, the 0.1 behind it stays outside too."""
    p = torch.tensor([[0.4, 0.5, 0.1]])
    members, mass = bounded_neighbourhood(p, torch.tensor([[1, 2]]), torch.tensor([bound]))
    assert members[0].nonzero()[:, 0].tolist() == inside
    near(mass, [sum(p[0, inside].tolist())])


# Trees

AFTER = {  # a drafter's distribution by the last token, of five codes
    None: [0.5, 0.3, 0.1, 0.06, 0.04],
    0: [0.1, 0.6, 0.1, 0.1, 0.1],
    1: [0.9, 0.04, 0.03, 0.02, 0.01],
    2: [0.2] * 5,
}


def tree(depth: int, width: int, count: int, read: list[tuple[list[int], list[int]]]):
    def expand(level: int, tokens: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
        assert level == len(read) + 1
        read.append((tokens.tolist(), parents.tolist()))
        return torch.tensor([AFTER[token] for token in tokens.tolist()])

    return draft_tree(torch.tensor([AFTER[None]]), expand, depth, width, count, 0)


def test_a_tree_keeps_the_likeliest_nodes_and_reads_the_likeliest_of_each_depth() -> None:
    """0: .5, 01: .3, 1: .3, 10: .27, 101: .162, 010: .27; 02 and 11 are less likely."""
    read: list[tuple[list[int], list[int]]] = []
    drafted = tree(3, 2, 6, read)
    assert read == [([0, 1], [0, 0]), ([1, 0], [1, 2])]
    assert drafted.nodes.tolist() == [0, 1, 1, 0, 0, 1]
    assert drafted.depths.tolist() == [1, 1, 2, 2, 3, 3]
    assert drafted.parents == (0, 0, 0, 1, 2, 3, 4)
    assert children_of(drafted.parents) == ((1, 2), (3,), (4,), (5,), (6,), (), ())
    assert len(drafted.drafts) == len(drafted.q) == 0


def test_a_tree_may_end_before_its_depth() -> None:
    drafted = tree(3, 2, 2, [])
    assert drafted.nodes.tolist() == [0, 1]
    assert drafted.depths.tolist() == [1, 1], "0 1 is as likely as 1, but comes later"


def walked(*uniforms: list[float]) -> tuple[TreeWalk, object]:
    """LINE's rule with k = 3, delta = 0.25 on the tree above, whose rows all have p = TARGET."""
    drafted = tree(3, 2, 6, [])
    lending = lantern(delta=0.25)._neighbourhood
    walk = TreeWalk(drafted.nodes, drafted.parents, TARGET.expand(7, -1), lending)
    for u in uniforms:
        walk.descend(torch.tensor(u, dtype=torch.float64))
    return walk, walk.finish(torch.full((4,), 0.5, dtype=torch.float64))


def test_the_first_accepted_child_is_the_next_node() -> None:
    walk, verification = walked([REJECT, ACCEPT], [ACCEPT, ACCEPT], [REJECT, ACCEPT])
    assert walk.path[-1] == 6
    assert int(verification.count) == 3
    assert verification.path.tolist() == [0, 2, 4, 6]
    assert verification.drafts.tolist() == [1, 0, 1, -1]
    assert verification.status.tolist()[:3] == [Status.ACCEPTED] * 2 + [Status.RESAMPLED]
    near(walk.left(), [0.5455, 0, 0, 0.2727, 0.1818])
    found = walk.diagnostics(lambda p, q, x: Groups(x, p, x[:, None])).candidates
    assert found is not None
    assert (found.tokens >= 0).tolist() == [[True, True], [True, False], [True, False]]
    assert found.tokens[0].tolist() == [0, 1]
    near(found.tests[0, 1, :3], [0.5, 1, 0.5])


def test_the_record_of_a_tree_has_its_path_and_the_candidates_tried() -> None:
    model = Toy((3, 4), 5)
    knobs = {"drafts": "tree", "depth": 3, "width": 3, "nodes": 7, "k": 3, "delta": 0.25}
    decoder, seen = Lantern(model, LanternSettings(**knobs)), []
    for seed in range(30):
        with torch.inference_mode():
            steps: list[Step] = list(decoder.steps("", seed))
        assert max(step.drafter_passes for step in steps) == 3
        for step in steps[1:]:
            last, rejections = step.committed[-1], step.rows.rejections
            first = [candidates[0] for candidates in tried(step) if len(candidates)]
            if last["status"] == Status.FRESH:
                assert last["draft"] == NONE
                seen.append("bonus")
            else:
                tokens, q = rejections[0]["tokens"], rejections[0]["q"]
                assert tokens[q > 0].tolist() == [last["draft"]] == [first[-1]["token"]]
                assert q.max() == 1
                seen.append("rejected")
            for row, candidates in zip(step.committed, tried(step), strict=True):
                if row["status"] == Status.ACCEPTED:
                    assert candidates[-1]["token"] == row["draft"] == row["token"]
                    assert candidates[-1]["acceptance"] == row["acceptance"]
                    seen.append(f"accepted {len(candidates)}")
            assert (step.window["draft"] != NONE).all(), "nothing is shown behind the path"
    assert {"bonus", "rejected", "accepted 1", "accepted 2", "accepted 3"} == set(seen)


def tried(step: Step) -> list:
    """The candidates of each committed position."""
    counts = step.positions["refs"] >> 4
    ends = counts.cumsum()
    return [
        step.rows.candidates[end - count : end]
        for count, end in zip(counts[: len(step.committed)], ends, strict=False)
    ]


@pytest.mark.parametrize("knobs", [{}, {"drafts": "tree"}, {"drafter": "jacobi"}])
def test_what_was_never_tested_is_dropped_and_never_rejected(knobs: dict[str, str]) -> None:
    decoder, seen = Lantern(Toy((3, 4), 5), LanternSettings(**knobs)), Counter[Status]()
    for seed in range(10):
        with torch.inference_mode():
            for step in decoder.steps("", seed):
                untested = step.positions["uniform"] == NONE
                assert (step.positions["status"][untested] != Status.REJECTED).all()
                assert (step.positions["status"][~untested] != Status.DROPPED).all()
                seen.update(map(Status, step.positions["status"].tolist()))
    assert (seen[Status.DROPPED] > 0) == (knobs.get("drafter") != "jacobi")
    assert (seen[Status.REFINED] > 0) == (knobs.get("drafter") == "jacobi")


# What a tree commits

TREE = [2, 0, 5]  # the drafts below a root, in this order
TREES = [
    {"k": 4, "delta": 0.2},
    {"k": 3, "delta": 0.05},
    {"k": 4, "bound": "lambda", "lam": 2.0},
    {"k": 6, "delta": 0.0},
]


def tree_distribution(p: Tensor, s: LanternSettings) -> list[float]:
    """What a tree of the certain drafts TREE commits at the first position, from the definition."""
    left, reached, committed = p.tolist(), 1.0, [0.0] * CODES
    for x in TREE:
        chosen = members(left, x, TOY.codebook, s)
        a = left[x] + sum(left[v] for v in chosen)
        committed[x] += reached * a
        reached *= 1 - a
        rest = [0.0 if v == x or v in chosen else left[v] for v in range(CODES)]
        left = [each / sum(rest) for each in rest]
    return [committed[v] + reached * left[v] for v in range(CODES)]


@pytest.mark.parametrize("knobs", TREES)
def test_a_tree_commits_by_the_changed_distribution(knobs: dict[str, float]) -> None:
    """Every outcome of the verification."""
    decoder = Lantern(TOY, LanternSettings(**knobs))
    tokens = torch.tensor(TREE)
    p = distribution(2)
    tree = Window(tokens[:0], p[None][:0], nodes=tokens, parents=(0, 0, 0, 0))
    expected = tree_distribution(p, decoder.settings)
    assert sum(expected) == pytest.approx(1, abs=rounding(1))
    found = torch.zeros(CODES, dtype=torch.float64)

    def run() -> int:
        state = decoder.begin("", 0)
        state.noise = SymbolicNoise()
        return int(settled(decoder.verify(state, tree, p.expand(4, -1)).tokens[:1]))

    for choices, token in outcomes(run, {}):
        found[token] += choices.weight
    torch.testing.assert_close(found.float(), torch.tensor(expected))
