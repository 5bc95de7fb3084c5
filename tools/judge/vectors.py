"""Test vectors of speculative verification for other engines: docs/vectors.json.

docs/vectors.md describes them. `python -m tools.judge.vectors docs` writes the file and its schema
into the folder docs. The expected values of a chain are those of SJD's verification in float64. The
expected values of a tree are those of SJD-PAC's. The expected distributions are exact: they cover
every outcome of the random numbers that are not given. Shapes: N drafts, in a chain or a tree of
depth H; V codes.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor

from engine.core import Verification
from engine.decoders.candidates import TreeWindow
from engine.decoders.sjd import SJD
from engine.decoders.traversal import node_tests, verify_traversal
from engine.decoders.tree import climb_on, tree
from engine.numerics.distributions import gather, normalise
from engine.numerics.randomness import Purpose
from tools.judge.choices import outcomes
from tools.judge.enumeration import exactly
from tools.judge.one_pass import verify_chain, verifying, window_of
from tools.judge.symbolic import Numbers, SymbolicNoise, settled
from tools.judge.toys import Toy

DECIMALS = 12  # of an expected value
TOLERANCE = 1e-9
SUM = 1e-12  # how far a row may sum from 1

Rule = Literal["token", "block", "traversal"]
Row = list[float]


class Source(BaseModel):
    """The published test that a case is taken from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(description="their test's file, at the commit that was read")
    test: str = Field(description="the test's name")
    output: list[int] | None = Field(
        description="the tokens that the test expects at the accepted positions and the next one;"
        " null where it names none"
    )
    note: str = Field(description="what here is not theirs, and where their convention is another")


class Case(BaseModel):
    """One verification of a chain or a tree of drafts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="unique; what the case is about")
    rule: Rule = Field(
        description="token: each draft of a chain alone; block: all drafts of a chain together;"
        " traversal: a tree, from its leaves up"
    )
    p: list[Row] = Field(description="[H + 1, V]: the target's distributions; the last: the bonus")
    q: list[Row] = Field(description="[H, V]: the distributions that the drafts were drawn from")
    drafts: list[int] = Field(description="[N]: the drafted tokens, each with q > 0")
    parents: list[int] | None = Field(
        description="[N]: the draft that each draft of a tree follows, from 1, or 0 for the root;"
        " null for a chain"
    )
    uniforms: list[float] = Field(
        description="[N]: the number drawn for each draft, in [0, 1); its test passes if u < a"
    )
    acceptance: list[float] = Field(
        description="[N]: the probability a that each draft's own test passes, given the drafts"
    )
    accepted: int = Field(description="how many drafts are accepted")
    path: list[int] | None = Field(
        description="[accepted]: the accepted drafts of a tree, from 1; null for a chain"
    )
    next: Row = Field(description="[V]: the distribution of the token committed behind them")
    accepted_distribution: list[float] | None = Field(
        description="[H + 1]: the probability that k drafts are accepted, drafts drawn from q; null"
        " where a published row sums to 1 only to the digits that it has"
    )
    first_token: Row | None = Field(
        description="[V]: the distribution of the first committed token, drafts drawn from q: p[0];"
        " null with accepted_distribution"
    )
    source: Source | None = Field(description="null for a vector of this repository's own")

    @model_validator(mode="after")
    def _shapes(self) -> Case:
        """Raise ValueError if the fields do not fit together."""
        N, V = len(self.drafts), len(self.p[0])
        parents = list(range(N)) if self.parents is None else self.parents
        fit = len(parents) == len(self.uniforms) == len(self.acceptance) == N
        fit &= all(0 <= parent < node for node, parent in enumerate(parents, 1))
        depths = _depths(parents) if fit else [0]
        H = max(depths)
        fit &= len(self.p) == H + 1 and len(self.q) == H
        fit &= len(self.next) == V and 0 <= self.accepted <= H
        fit &= (self.parents is None) == (self.path is None) == (self.rule != "traversal")
        fit &= self.path is None or len(self.path) == self.accepted
        fit &= all(len(row) == V and min(row) >= 0 for row in [*self.p, *self.q])
        if not fit:
            raise ValueError("the fields' shapes do not fit together")
        drawn_from = [self.q[depth - 1] for depth in depths]
        if not all(q[x] > 0 for q, x in zip(drawn_from, self.drafts, strict=True)):
            raise ValueError("a draft with q = 0 is never drawn")
        if len(set(zip(parents, self.drafts, strict=True))) < N:
            raise ValueError("a token follows a draft once: there is no replacement")
        if not all(0 <= u < 1 for u in self.uniforms):
            raise ValueError("a uniform number must be in [0, 1)")
        whole = all(abs(sum(row) - 1) < SUM for row in [*self.p, *self.q])
        has_distributions = self.accepted_distribution is not None, self.first_token is not None
        if has_distributions != (whole, whole):
            raise ValueError("a case has its two distributions if and only if its rows sum to 1")
        return self


def _depths(parents: Sequence[int]) -> list[int]:
    """Return the depth of each draft, from 1."""
    depths = [0]
    for parent in parents:
        depths.append(depths[parent] + 1)
    return depths[1:]


class Vectors(BaseModel):
    """Test vectors of speculative verification.

    They give distributions, drafts and uniform numbers, and say what a lossless rule accepts
    and from which distribution it draws the next token.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["photo-finish-vectors"] = "photo-finish-vectors"
    version: Literal[2] = 2
    tolerance: float = Field(description="of every number, absolute, computed in float64")
    cases: list[Case]


class ChosenTests(SymbolicNoise):
    """Noise with given uniform numbers [H] for the tests; all other numbers stay symbolic."""

    def __init__(self, uniforms: Sequence[float]) -> None:
        super().__init__()
        self.uniforms = uniforms

    def uniform(self, purpose: Purpose, start: int, rows: int, draw: int, count: int) -> Tensor:
        numbers = super().uniform(purpose, start, rows, draw, count).as_subclass(Tensor).clone()
        if purpose is Purpose.VERIFY:
            numbers[: len(self.uniforms), 0] = torch.tensor(self.uniforms)
        return numbers.as_subclass(Numbers)


def sjd(rule: Rule, codes: int) -> SJD:
    return SJD(Toy((2, 3), codes), SJD.Settings(verification=rule))


def _verification(
    rule: Rule, p: Tensor, q: Tensor, drafts: Sequence[int], noise: Callable[[], SymbolicNoise]
) -> Callable[[], Verification]:
    """Return a function that verifies the drafts, to be run by `outcomes`.

    Each run of the function gets its random numbers from a new `noise()`.
    """
    decoder, window = sjd(rule, p.shape[-1]), window_of(torch.tensor(drafts), q)

    def run() -> Verification:
        state = verifying(decoder)
        state.noise = noise()
        state.room.fill_(len(drafts))
        return decoder.verify(state, window, p)

    return run


def next_distribution(
    rule: Rule, p: Tensor, q: Tensor, drafts: Sequence[int], uniforms: Sequence[float]
) -> tuple[int, Tensor]:
    """Return how many drafts are accepted at these uniforms, and the next token's distribution [V].

    The distribution covers all outcomes of the number that draws the token. p is [H + 1, V] and
    q is [H, V].
    """
    counts, following = set[int](), torch.zeros(p.shape[-1])
    run = _verification(rule, p, q, drafts, lambda: ChosenTests(uniforms))
    for choices, verification in outcomes(run, {}):
        accepted = int(settled(verification.count.view(1))) - 1
        token = int(settled(verification.tokens[accepted : accepted + 1]))
        following[token] += choices.weight
        counts.add(accepted)
    (accepted,) = counts
    return accepted, following


def outcome_distributions(rule: Rule, p: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distributions of the number of accepted drafts [H + 1], and of the sequence.

    Both average over drafts from q [H, V] and the verification's random numbers. A sequence has H +
    1 tokens: the committed ones, continued by p [H + 1, V]. Its distribution [V, .., V] has one
    axis for each token.
    """
    draws = itertools.product(*(row.nonzero()[:, 0].tolist() for row in q))
    return _distributions(
        p,
        (
            (
                float(gather(q, torch.tensor(drafts)).prod()),
                _verification(rule, p, q, drafts, SymbolicNoise),
            )
            for drafts in draws
        ),
    )


def _distributions(
    p: Tensor, draws: Iterable[tuple[float, Callable[[], Verification]]]
) -> tuple[Tensor, Tensor]:
    """Return what `outcome_distributions` does, given each draw's probability and verification."""
    counts, sequences = torch.zeros(len(p)), torch.zeros([p.shape[1]] * len(p))
    for chance, run in draws:
        for choices, verification in outcomes(run, {}):
            count = int(settled(verification.count.view(1)))
            committed = tuple(settled(verification.tokens[:count]).tolist())
            rest = torch.ones(())
            for row in p[count:]:
                rest = rest[..., None] * row
            weight = chance * choices.weight  # computed last: reading narrows the choices
            counts[count - 1] += weight
            sequences[committed] += weight * rest
    return counts, sequences


def case(
    name: str,
    rule: Rule,
    p: list[Row],
    q: list[Row],
    drafts: list[int],
    uniforms: list[float],
    source: Source | None = None,
) -> Case:
    """Return a case, with expected values that the engine computes."""
    with exactly():
        rows, draft_rows = torch.tensor(p), torch.tensor(q)
        numbers = [[u, 0.5, 0.5] for u in [*uniforms, 0.5]]
        verification = verify_chain(sjd(rule, len(p[0])), rows, draft_rows, drafts, verify=numbers)
        accepted, following = next_distribution(rule, rows, draft_rows, drafts, uniforms)
        assert accepted == int(verification.count) - 1
        assert following[verification.tokens[accepted]] > 0
        counts = first = None
        if (torch.cat([rows, draft_rows]).sum(-1) - 1).abs().max() < SUM:
            counts, sequences = outcome_distributions(rule, rows, draft_rows)
            first = sequences.flatten(1).sum(-1)
        return Case(
            name=name,
            rule=rule,
            p=p,
            q=q,
            drafts=drafts,
            parents=None,
            uniforms=uniforms,
            acceptance=_rounded(verification.acceptance[:-1]),
            accepted=accepted,
            path=None,
            next=_rounded(following),
            accepted_distribution=None if counts is None else _rounded(counts),
            first_token=None if first is None else _rounded(first),
            source=source,
        )


class Trees:
    """Trees of depth H, in which K drafts follow every node above the last level.

    The nodes are the root and the drafts, in SJD-PAC's order. Drafts are drawn from q [H, V], and
    the model's distributions are p [H + 1, V].
    """

    def __init__(self, p: Tensor, q: Tensor, K: int) -> None:
        self.layout = tree(1000, len(q), K, len(q) + 1)
        self.climb = climb_on(self.layout, p.device)
        self.p, self.q, self.rows = p, q, p[self.climb.depth]
        self.room = torch.tensor(len(q))

    def window(self, drafts: Sequence[int]) -> TreeWindow:
        """Return the window of a tree with these drafts [N]."""
        climb, nodes = self.climb, torch.tensor(drafts)
        K = len(self.layout.children[0])
        candidates = nodes[torch.cat(climb.levels[1:]) - 1].view(-1, K)
        drawn_from = [self.q[climb.depth[torch.cat(climb.levels[:-1])]]]
        for k in range(K - 1):
            drawn_from.append(normalise(drawn_from[-1].scatter(-1, candidates[:, k : k + 1], 0)))
        chain = window_of(nodes[: len(self.q)], self.q)
        return TreeWindow(
            chain.drafts,
            chain.q,
            nodes,
            climb.depth[1:],
            self.layout.parents,
            layout=self.layout,
            candidates=candidates,
            candidate_q=torch.stack(drawn_from, 1),
        )

    def verify(self, drafts: Sequence[int], uniforms: Sequence[float] | None) -> Verification:
        """Verify the drafts [N]; `uniforms` [N] are the numbers of the drafts' tests.

        With None the tests' numbers stay symbolic: each call then gives one outcome of the tests,
        and `outcomes` calls until it has all. The numbers that draw the last token always stay
        symbolic.
        """
        climb, rows = self.climb, len(self.p)
        numbers = SymbolicNoise().uniform(Purpose.VERIFY, 0, rows, 1, 1 + len(climb.levels[-1]))
        accept = numbers[:, 1:]
        if uniforms is not None:
            accept = torch.zeros(accept.shape)
            accept[climb.depth[1:] - 1, climb.number[1:]] = torch.tensor(uniforms)
        window = self.window(drafts)
        return verify_traversal(window, self.rows, self.room, accept, numbers[:, 0])

    def outcome_distributions(self) -> tuple[Tensor, Tensor]:
        """Return what the module's `outcome_distributions` returns, for these trees."""
        tokens, nodes = range(self.q.shape[1]), len(self.rows) - 1
        draws = list(itertools.product(tokens, repeat=nodes))
        windows = map(self.window, draws)
        chances = [float(gather(each.candidate_q, each.candidates).prod()) for each in windows]
        return _distributions(
            self.p,
            (
                (chance, functools.partial(self.verify, drafts, None))
                for drafts, chance in zip(draws, chances, strict=True)
                if chance
            ),
        )


def tree_case(
    name: str, p: list[Row], q: list[Row], K: int, drafts: list[int], uniforms: list[float]
) -> Case:
    """Return a case of a tree, with expected values that the engine computes.

    The root and each draft above the tree's last level are followed by K drafts.
    """
    with exactly():
        trees = Trees(torch.tensor(p), torch.tensor(q), K)
        h, left, _ = node_tests(trees.window(drafts), trees.rows, trees.room)
        paths = set[tuple[int, ...]]()
        for _, found in outcomes(lambda: trees.verify(drafts, uniforms), {}):
            count = int(settled(found.count.view(1)))
            paths.add(tuple(settled(found.path[:count]).tolist()))
        ((_, *path),) = paths
        following = left[[0, *path][-1]]
        counts, sequences = trees.outcome_distributions()
        return Case(
            name=name,
            rule="traversal",
            p=p,
            q=q,
            drafts=drafts,
            parents=list(trees.layout.parents[1:]),
            uniforms=uniforms,
            acceptance=_rounded(h[1:]),
            accepted=len(path),
            path=path,
            next=_rounded(following / following.sum()),
            accepted_distribution=_rounded(counts),
            first_token=_rounded(sequences.flatten(1).sum(-1)),
            source=None,
        )


def _rounded(values: Tensor) -> Row:
    return [round(value, DECIMALS) for value in values.tolist()]


# The worked numbers of docs/decoders.md.
P, Q = [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]
BONUS = [0.7, 0.1, 0.15, 0.05]
# The example of block verification's paper, (1/3, 2/3) and (2/3, 1/3).
THIRD, THIRDS = 0.333333333333, 0.666666666667
PAPER_P, PAPER_Q = [THIRD, THIRDS], [THIRDS, THIRD]
# Ratios 1/2, 1/4 and 3/2 on the drafts 0, 1, 2.
CHAIN_P = [[0.2, 0.5, 0.3], [0.5, 0.2, 0.3], [0.3, 0.1, 0.6], [0.25, 0.35, 0.4]]
CHAIN_Q = [[0.4, 0.3, 0.3], [0.1, 0.8, 0.1], [0.5, 0.1, 0.4]]
# The first two ratios take a to 1/2 and then, cut off at 1, to 1 (0.5 * 4 = 2), the third to 3/5.
CUT_P = [[0.2, 0.5, 0.3], [0.2, 0.4, 0.4], [0.3, 0.3, 0.4], [0.25, 0.35, 0.4]]
CUT_Q = [[0.4, 0.3, 0.3], [0.5, 0.1, 0.4], [0.5, 0.2, 0.3]]
# One unit in the last place above 0.3.
ABOVE = 0.30000000000000004


def own_cases() -> list[Case]:
    """Return this repository's own cases."""
    even = [[0.25, 0.75], [0.5, 0.5]]
    halves = [[0.5, 0.5]]
    topk_p, topk_q = [[0.5, 0.3, 0.2, 0.0], BONUS], [[0.0, 0.25, 0.5, 0.25]]
    apart_p, apart_q = [[0.6, 0.4, 0.0, 0.0], BONUS], [[0.0, 0.0, 0.3, 0.7]]
    same = [[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]
    nearly = [[0.3, 0.7], [0.9, 0.1]], [[ABOVE, 0.7]]
    certain_p = [[0.3, 0.5, 0.2], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]
    certain_q = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    ruled_p = [[0.5, 0.3, 0.2], [0.7, 0.0, 0.3], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]]
    ruled_q = [[0.25, 0.35, 0.4], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]
    rounded_p = [[0.07, 0.93], [0.1, 0.9], [0.6, 0.4], [0.5, 0.5]]
    rounded_q = [[0.1, 0.9], [0.07, 0.93], [0.2, 0.8]]
    zero = [[0.5, 0.5], [0.2, 0.8], [0.6, 0.4]], [[0.2, 0.8], [0.2, 0.8]]
    paper = [PAPER_P] * 3, [PAPER_Q] * 2
    return [
        case("worked numbers: rejected", "token", [P, BONUS], [Q], [0], [0.5]),
        case("worked numbers: accepted", "token", [P, BONUS], [Q], [1], [0.5]),
        case("p above q: accepted whatever u is", "token", [P, BONUS], [Q], [3], [0.999]),
        case("certain draft: rejected", "token", [P, BONUS], [[0.0, 0.0, 1.0, 0.0]], [2], [0.9]),
        case("certain draft: accepted", "token", [P, BONUS], [[0.0, 0.0, 1.0, 0.0]], [2], [0.29]),
        case("top-k: p rules the draft out, u = 0", "token", topk_p, topk_q, [3], [0.0]),
        case("top-k: accepted", "token", topk_p, topk_q, [2], [0.39]),
        case("p and q have no token in common", "token", apart_p, apart_q, [3], [0.0]),
        case("p = q", "token", [*same, [*BONUS[:2], 0.2]], same, [0, 2], [0.999, 0.999]),
        case("u at the threshold: rejected", "token", even, halves, [0], [0.5]),
        case("u below the threshold: accepted", "token", even, halves, [0], [0.499]),
        case("only rounding is left: next is p", "token", *nearly, [0], [0.9999999999999999]),
        case("the first rejection ends it", "token", CHAIN_P, CHAIN_Q, [0, 1, 2], [0.6, 0.1, 0.1]),
        case("rejected in the middle", "token", CHAIN_P, CHAIN_Q, [0, 1, 2], [0.4, 0.3, 0.1]),
        case("the last is rejected", "token", CHAIN_P, CHAIN_Q, [0, 1, 0], [0.4, 0.2, 0.7]),
        case("all accepted: the bonus", "token", CHAIN_P, CHAIN_Q, [0, 1, 2], [0.4, 0.2, 0.9]),
        case("the paper's example by token", "token", *paper, [0, 1], [0.9, 0.5]),
        case("one draft: the rule by token", "block", [P, BONUS], [Q], [0], [0.5]),
        case("saved by a later draft", "block", *paper, [0, 1], [0.9, 0.5]),
        case("a failed block", "block", *paper, [0, 0], [0.3, 0.5]),
        case("passed, then failed", "block", *paper, [1, 0], [0.5, 0.9]),
        case("the residual is of a p", "block", CHAIN_P, CHAIN_Q, [0, 1, 2], [0.2, 0.4, 0.5]),
        case("no draft passes", "block", CHAIN_P, CHAIN_Q, [0, 1, 2], [0.4] * 3),
        case("the last has a, not h", "block", CHAIN_P, CHAIN_Q, [0, 1, 2], [0.9, 0.9, 0.15]),
        case("a is cut off at 1 in each step", "block", CUT_P, CUT_Q, [0, 1, 0], [0.9, 0.5, 0.7]),
        case("a block all accepted: the bonus", "block", CUT_P, CUT_Q, [0, 1, 0], [0.9, 0.5, 0.5]),
        case("a block of certain drafts", "block", certain_p, certain_q, [0, 2], [0.05, 0.5]),
        case("p rules out the second", "block", ruled_p, ruled_q, [0, 1, 2], [0.9, 0.0, 0.0]),
        case(
            "no draft behind saves one of p = 0",
            "block",
            ruled_p,
            ruled_q,
            [2, 1, 0],
            [0.9, 0.0, 0.0],
        ),
        case("a = 1 but for rounding", "block", rounded_p, rounded_q, [0, 0, 1], [0.5, 0.5, 0.9]),
        case("a = 1 and p = q behind: 0 / 0", "block", *zero, [0, 1], [0.5, 0.9]),
        *tree_cases(),
    ]


def tree_cases() -> list[Case]:
    """Return this repository's own cases of trees.

    In the larger tree drafts 1 and 3 follow the root, 2 and 4 follow 1, and 5 and 6 follow 3.
    """
    one = [P[::-1], BONUS], [P], 2
    p, q = [[0.2, 0.5, 0.3], [0.3, 0.2, 0.5], [0.3, 0.1, 0.6]], [[0.6, 0.4, 0.0], [0.0, 0.8, 0.2]]
    two = p, q, 2
    return [
        tree_case("worked numbers: the second candidate", *one, [3, 1], [0.5, 0.7]),
        tree_case("both candidates fail", *one, [3, 1], [0.5, 0.8]),
        tree_case("the first leaf", *two, [0, 2, 1, 1, 2, 1], [0.9, 0.8, *[0.9] * 4]),
        tree_case("behind its candidates", *two, [0, 1, 1, 2, 1, 2], [0.12, *[0.9] * 5]),
        tree_case("the second candidate's leaf", *two, [0, 1, 1, 2, 2, 1], [*[0.9] * 4, 0.6, 0.9]),
        tree_case(
            "a is S / (S + 1 - a)", *two, [0, 1, 1, 2, 2, 1], [0.3, 0.3, 0.085, 0.0, 0.7, 0.0]
        ),
        tree_case("the second leaf", *two, [1, 1, 0, 2, 1, 2], [0.9, 0.3, 0.0, 0.4, 0.0, 0.0]),
        tree_case("no node passes", *two, [0, 1, 1, 2, 1, 2], [*[0.9] * 3, 0.0, 0.9, 0.0]),
    ]


VLLM = "https://github.com/vllm-project/vllm/blob/974eaf34cccb4c1598a5ef2b289fe58b82421594"
ASCEND = "https://github.com/vllm-project/vllm-ascend/blob/05dd267b3e506d29effbe1ca839f297dec58c4a3"
XLLM = "https://github.com/jd-opensource/xllm/blob/00d3398c677734591742101e03bfd29efff6195a"
VLLM_BLOCK = f"{VLLM}/tests/v1/sample/test_rejection_sampler_block_verify.py"
ASCEND_TEST = f"{ASCEND}/tests/ut/sample/test_rejection_sampler.py"
XLLM_TEST = f"{XLLM}/xllm/core/framework/sampling/rejection_sampler_test.cpp"
AT_MOST = "They accept if u <= a."
MOCKED = "The bonus row is ours: their bonus is the id 100."


def published_cases() -> list[Case]:
    """Return those cases of other projects' tests that state probabilities, drafts and a result."""

    def source(url: str, test: str, output: list[int] | None, *notes: str) -> Source:
        return Source(url=url, test=test, output=output, note=" ".join(notes))

    two_p = [[0.0, 0.8, 0.0, 0.2], [0.2, 0.1, 0.3, 0.4], BONUS]
    two_q = [[0.0, 0.6, 0.0, 0.4], [0.1, 0.2, 0.3, 0.4]]
    one_p = [[0.3, 0.6, 0.1], [0.4, 0.35, 0.25]]
    three_p = [[0.4, 0.35, 0.25], [0.5, 0.3, 0.2]]
    ngram_p = [[0.3, 0.3, 0.4], [0.5, 0.3, 0.2]]
    certain = [1.0, 0.0, 0.0, 0.0]
    basic_p = [
        [0.1299, 0.2462, 0.1821, 0.1354, 0.3064],
        [0.1159, 0.2839, 0.1603, 0.2451, 0.1949],
        [0.0002, 0.0433, 0.6629, 0.1469, 0.1467],
        [0.2, 0.2, 0.2, 0.2, 0.2],
    ]
    basic_q = [
        [0.2104, 0.2163, 0.1912, 0.1937, 0.1884],
        [0.2100, 0.1803, 0.2398, 0.2088, 0.1610],
        [0.1838, 0.2079, 0.2270, 0.2451, 0.1362],
    ]
    replaced = "The test gives the replacement; that the draft is rejected is ours, by u = 0.9."
    return [
        case(
            "vLLM: block, both accepted",
            "block",
            two_p,
            two_q,
            [1, 0],
            [0.7, 0.6],
            source(
                VLLM_BLOCK,
                "test_block_verify_pytorch_accepts_and_appends_bonus",
                [1, 0],
                MOCKED,
                AT_MOST,
                "Its second request has a draft with q = 0.",
            ),
        ),
        case(
            "vLLM: block, replacement of a draft",
            "block",
            one_p,
            [[0.2, 0.7, 0.1]],
            [1],
            [0.9],
            source(
                VLLM_BLOCK,
                "test_sample_recovered_blockwise_pytorch_selects_argmax",
                [0],
                replaced,
                "The bonus row is ours. The test's q are the exponentials of its sampling.",
            ),
        ),
        case(
            "vLLM Ascend: token, both accepted",
            "token",
            two_p,
            two_q,
            [1, 0],
            [0.7, 0.6],
            source(
                ASCEND_TEST,
                "test_rejection_random_sample_pytorch",
                [1, 0],
                MOCKED,
                AT_MOST,
                "Its second request has a draft with q = 0.",
            ),
        ),
        case(
            "vLLM Ascend: token, rejected",
            "token",
            three_p,
            [[0.5, 0.3, 0.2]],
            [0],
            [0.85],
            source(
                ASCEND_TEST,
                "test_entropy_verify_comparison_with_without",
                None,
                "Its run without the entropy rule. Its replacement is the id 99; the bonus row is"
                " ours.",
                AT_MOST,
            ),
        ),
        case(
            "vLLM Ascend: token, replacement of a certain draft",
            "token",
            ngram_p,
            [[0.0, 0.0, 1.0]],
            [2],
            [0.9],
            source(
                ASCEND_TEST,
                "test_sample_recovered_tokens_pytorch_ngram",
                [1],
                replaced,
                "The bonus row is ours. Its second request; the first one's two scores are equal.",
            ),
        ),
        case(
            "xLLM: token, two of three accepted",
            "token",
            basic_p,
            basic_q,
            [1, 2, 3],
            [0.4785, 0.6589, 0.9399],
            source(
                XLLM_TEST,
                "RejectionSamplerTest.Basic",
                [1, 2, 2],
                "The bonus row is ours: its bonus is the id 5. Two rows sum to 0.9999 and 1.0001.",
            ),
        ),
        case(
            "xLLM: token, replacement of a certain draft",
            "token",
            [[0.1, 0.6, 0.2, 0.1]] * 3,
            [certain, certain],
            [0, 0],
            [0.5, 0.5],
            source(
                XLLM_TEST,
                "RejectionSamplerTest.RandomFusedRecoveryDistribution",
                None,
                "The bonus row is ours. It samples and expects next = (0, 0.6, 0.2, 0.1) / 0.9"
                " within 0.02.",
            ),
        ),
    ]


def make_vectors() -> Vectors:
    return Vectors(tolerance=TOLERANCE, cases=[*own_cases(), *published_cases()])


def to_json(vectors: Vectors) -> str:
    """Return the file's text, with one field per line."""
    head = vectors.model_dump(exclude={"cases"})
    lines = [f'  "{name}": {json.dumps(value)},' for name, value in head.items()]
    cases = []
    for each in vectors.cases:
        fields = [f'      "{k}": {json.dumps(v)}' for k, v in each.model_dump().items()]
        cases.append("    {\n" + ",\n".join(fields) + "\n    }")
    return "\n".join(["{", *lines, '  "cases": [', ",\n".join(cases), "  ]", "}"]) + "\n"


def to_schema() -> str:
    """Return the file's JSON Schema."""
    return json.dumps(Vectors.model_json_schema(), indent=2) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.judge.vectors", description=__doc__)
    parser.add_argument("folder", type=Path, help="where vectors.json and its schema are written")
    folder = parser.parse_args().folder
    (folder / "vectors.json").write_text(to_json(make_vectors()), "utf-8")
    (folder / "vectors.schema.json").write_text(to_schema(), "utf-8")


if __name__ == "__main__":
    main()
