"""LANTERN (Jang et al., ICLR 2025, arXiv 2410.03355).

LANTERN is speculative decoding whose acceptance test adds the mass of a draft's nearest codes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from engine.core import Groups, Verification, Window
from engine.decoders.base import Badge, never
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import (
    JacobiWindowDecoder,
    JacobiWindowSettings,
    init_knob,
    window_knob,
)
from engine.decoders.lantern_tree import TreeWalk, draft_tree
from engine.decoders.shift import most_tokens, most_true
from engine.decoders.speculate import acceptance_probability, speculate
from engine.models.base import MAX_ROWS, Drafter, host_rows
from engine.models.neighbours import neighbours
from engine.numerics.distributions import exact, gather, logits_to_probs, residual, sample
from engine.numerics.randomness import Purpose
from engine.settings import Withdrawn, knob
from engine.trace import Step
from engine.trace.rows import TOP

FEW = 16  # nearest codes that are looked at first; to most drafts they lend enough
DRAFTS_AT_ONCE = 4096  # drafts whose neighbourhoods are held at once
# With static shapes, the largest number of tokens of one q that are looked at again because their
# FEW nearest codes do not lend enough.
MOST_DRAFTS = 1024
PAPER_K, PAPER_CODES = 1000, 16384  # k of the paper's main results (Table 3); LlamaGen's codes


@dataclass(frozen=True, slots=True)
class LanternSettings(JacobiWindowSettings):
    """LANTERN's settings.

    The default k = 0 stands for the paper's share of the codes, 1000 of LlamaGen's 16,384 (Sec.
    4.2.1). That is 62 of 1,024 and 125 of 2,048. The default delta = 0.1 is one of the paper's
    settings at temperature 1 (Table 3). LANTERN++ bounds the added mass by (lambda - 1) p(x)
    instead of delta.

    The paper's drafter proposes a tree of 60 tokens (App. C; 58 in the released code) with depth 5
    and width 10. The default here is a chain with depth 3, because it takes the fewest seconds on a
    laptop. Where a distribution is flat, a tree's likeliest tokens are accepted less often than a
    sampled chain.
    """

    window: int = window_knob(16, needs=("drafter", "jacobi"))
    init: str = init_knob(needs=("drafter", "jacobi"))
    drafter: str = knob(
        "eagle",
        "What drafts: a small EAGLE network, or the model's own Jacobi guesses, as where there is"
        " no such network.",
        choices=("eagle", "jacobi"),
    )
    drafts: str = knob(
        "chain",
        "Whether the EAGLE drafter guesses one token a position, or a tree of likely ones as in the"
        " paper.",
        choices=("chain", "tree"),
        needs=("drafter", "eagle"),
    )
    depth: int = knob(
        3,
        "How many positions the EAGLE drafter guesses ahead; 5 in the paper's code.",
        low=1,
        high=16,
        needs=("drafter", "eagle"),
    )
    nodes: int = knob(
        8,
        "How many tokens a tree has; 60 in the paper.",
        low=1,
        high=MAX_ROWS - 1,
        needs=("drafts", "tree"),
    )
    width: int = knob(
        3,
        "How many tokens follow one in a tree, and how many are followed at each depth; 10 in the"
        " paper's code.",
        low=1,
        high=10,
        needs=("drafts", "tree"),
    )
    k: int = knob(
        0,
        "How many of the codes nearest to the draft count as its neighbours, itself included; 0 is"
        " the paper's share, 1000 of 16,384.",
        low=0,
        high=1000,
    )
    bound: str = knob(
        "delta",
        "How the borrowed mass is limited: by a constant, or in proportion (LANTERN++).",
        choices=("delta", "lambda"),
    )
    delta: float = knob(
        0.1,
        "How much probability a draft may borrow from its neighbours.",
        low=0.0,
        high=1.0,
        needs=("bound", "delta"),
    )
    lam: float = knob(
        2.0,
        "LANTERN++: the draft's own mass may grow to this many times itself.",
        low=1.0,
        high=10.0,
        needs=("bound", "lambda"),
    )

    withdrawn: ClassVar = {
        "draws": Withdrawn(
            ("sampled", "top-1"), "drafts = tree with width = 1 is a chain of the likeliest tokens."
        )
    }

    def neighbours(self, codes: int) -> int:
        """Return k for a model with `codes` codes: from 1, the draft alone, to all codes."""
        return min(max(1, self.k or codes * PAPER_K // PAPER_CODES), codes)


class Lantern(JacobiWindowDecoder):
    """Accepts a draft x with probability min(1, (p(x) + sum_A p) / q(x)).

    The neighbourhood A of x takes the codes nearest to x, nearest first, until A's mass under p
    would exceed delta. x counts among its k nearest codes but is not in A, so A has at most k - 1
    codes. On rejection LANTERN resamples from the residual of p' and q, where p' is p with the mass
    of A moved to x (Sec. 3.2, 3.3 and App. B, Alg. 1; the paper calls the target q and the drafter
    p). delta = 0 is lossless.

    This is the paper's rule. The released code differs in two ways. Its k nearest codes do not
    include x, so k + 1 codes count. After a rejection it moves no mass to x. Instead it zeroes x
    and, if A is not empty, all k + 1 nearest codes. For its trees of 60 tokens the code zeroes them
    in the target, for its static trees in the draft's q.
    """

    name, title = "lantern", "LANTERN"
    idea = "A small network drafts; look-alike tokens lend a guess their probability."
    paper = "Jang et al., LANTERN, ICLR 2025 (arXiv 2410.03355)"
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = LanternSettings
    settings: LanternSettings

    @property
    def eagle(self) -> Drafter | None:
        """The EAGLE network that drafts; None if the model's own Jacobi guesses are the drafts."""
        if self.plan.infilling:
            return None  # it was trained on whole pictures
        return self.model.drafter if self.settings.drafter == "eagle" else None

    @property
    def capturable(self) -> bool:
        return self.eagle is None  # a drafter reads as many tokens as were committed

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        self._neighbours()  # of the model alone, so computed before the first step's clock starts
        yield from super().steps(prompt, seed, stopped)

    def propose(self, state: DecodeState) -> Window:
        eagle = self.eagle
        if eagle is None:
            return super().propose(state)
        room = self.plan.length - state.frontier - 1  # the drafter's cache has no place behind it
        depth = min(self.settings.depth, room) if state.path else 0
        if not depth:
            return Window(*state.drafts_left(0)[:2])
        start = state.frontier - len(state.path)
        committed = state.offsets(state.frontier)[start:]
        logits = eagle.extend(state.ctx, state.path, state.ids(state.tokens[committed], committed))
        state.drafter_passes += 1
        if self.settings.drafts == "tree":
            return self._tree(state, eagle, logits, depth)
        return self._chain(state, eagle, logits, depth)

    def _chain(self, state: DecodeState, eagle: Drafter, logits: Tensor, depth: int) -> Window:
        """Return a chain of the drafter's tokens; `logits` [V] are for the first token."""
        tokens, q = list[Tensor](), list[Tensor]()
        positions = torch.split(state.positions(depth), 1)
        uniforms = state.uniform(Purpose.DRAFT, depth, 1)
        for i, (position, u) in enumerate(zip(positions, uniforms, strict=True)):
            if i:
                logits = eagle.next(state.ctx, state.ids(tokens[-1], position - 1)[0])
                state.drafter_passes += 1
            distribution = logits_to_probs(logits[None], self.sampling, state.forced(position))
            tokens.append(sample(distribution, u))
            q.append(distribution)
        return Window(torch.cat([*tokens, tokens[-1]]), torch.cat([*q, torch.zeros_like(q[-1])]))

    def _tree(self, state: DecodeState, eagle: Drafter, logits: Tensor, depth: int) -> Window:
        """Return a tree of the drafter's tokens; `logits` [V] are for the tree's first level."""
        positions = torch.split(state.positions(depth), 1)

        def expand(level: int, tokens: Tensor, parents: Tensor) -> Tensor:
            state.drafter_passes += 1
            ids = state.ids(tokens, positions[level - 1].expand(len(tokens)))
            logits = eagle.expand(state.ctx, ids, parents)
            return logits_to_probs(logits, self.sampling, state.forced(positions[level]))

        first = logits_to_probs(logits[None], self.sampling, state.forced(positions[0]))
        width, nodes = self.settings.width, self.settings.nodes
        return draft_tree(first, expand, depth, width, nodes, state.frontier)

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if window.nodes is not None and window.parents is not None:
            return self._verify_tree(state, window.nodes, window.parents, p)
        x = window.drafts
        acceptance = neighbourhood_acceptance(p, window.q, x, self._nearest(x), self.settings)
        # An EAGLE network drafts anew from what was committed.
        jacobi = self.eagle is None
        return speculate(state, window, p, acceptance, self._replacement, redraws=jacobi)

    def _verify_tree(
        self, state: DecodeState, nodes: Tensor, parents: tuple[int, ...], p: Tensor
    ) -> Verification:
        walk = TreeWalk(nodes, parents, p, self._neighbourhood)
        K = min(self.settings.width, *p.shape)
        u = state.uniform(Purpose.VERIFY, self.settings.depth + 1, K + 1)
        for level in range(self.settings.depth):
            walk.descend(u[level, :K])
        verification = walk.finish(u[:, K])
        verification.diagnostics = lambda: walk.diagnostics(self.groups)
        return verification

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        """Return the distribution [T, V] of the token that each of T tests of a chain commits.

        Let A(x) be the neighbourhood of a draft x, and p(A(x)) its mass. x is drafted and rejected
        with probability m(x) = max(q(x) - p(x) - p(A(x)), 0). The replacement of x is then drawn
        from max(p - q, 0) on the tokens outside A(x). Let r(x) be the sum of max(p - q, 0) over
        these tokens, and W(v) the sum of m(x) / r(x) over all x whose A(x) does not contain v. So
        the test commits token v with probability q(v) - m(v) + max(p(v) - q(v), 0) W(v).

        With static shapes only a limited number of drafts x can be looked at in each test; a test
        with more gets NaN. For a tree, whose nodes try several drafts, see `TreeWalk.shift`.
        """
        wide, draft = exact(p), exact(q)
        excess, total = (wide - draft).clamp_min(0), p.sum(-1, dtype=torch.float64)
        rejected, held = torch.zeros_like(wide), torch.zeros_like(wide)
        weights, remaining = torch.zeros_like(total), excess.sum(-1)

        def lacking(row: Tensor, x: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
            """Return q(x) - p(x) - p(A(x)) of drafts x [N], and which neighbours are in A(x).

            The second result is bool [N, k - 1]. `row` [N] is the row of p for each draft. `near`
            [N, k - 1] has the neighbours' indices in the flattened p.
            """
            masses = p.take(near)
            within = within_bound(masses, neighbourhood_bound(p[row, x], self.settings))
            lent = (masses * within).sum(-1, dtype=torch.float64) / total[row]
            return draft[row, x] - wide[row, x] - lent, within

        def entries(row: Tensor, x: Tensor, most: int | None = None) -> Tensor:
            return self._nearest(x, most) + row[:, None] * p.shape[1]

        most, beyond = most_tokens(draft > wide, self.model, self.sampling)
        drafts = (draft - wide).topk(most, sorted=False).indices
        tests = torch.arange(len(p), device=p.device)[:, None].expand_as(drafts)
        # For most drafts a few of their neighbours are enough.
        pairs = (torch.split(part.flatten(), DRAFTS_AT_ONCE * FEW) for part in (tests, drafts))
        lack = torch.cat(
            [lacking(row, x, entries(row, x, FEW))[0] for row, x in zip(*pairs, strict=True)]
        )
        most, others = most_true(lack.view_as(drafts) > 0, self.model, MOST_DRAFTS)
        lack, left_over = lack.view_as(drafts).topk(most, sorted=False)
        beyond = beyond | others
        some = host_rows(self.model, lack.flatten() > 0)
        tests, drafts = (part.gather(-1, left_over).flatten()[some] for part in (tests, drafts))
        pairs = (torch.split(part, DRAFTS_AT_ONCE) for part in (tests, drafts))
        for row, x in zip(*pairs, strict=True):
            here = entries(row, x)
            missing, within = lacking(row, x, here)
            missing = missing.clamp_min(0)
            rejected[row, x] = missing
            # Rounding apart, what is left outside A is at least the rejected mass.
            rest = remaining[row] - (excess.take(here) * within).sum(-1)
            weight = torch.where(missing > 0, missing / rest.maximum(missing), 0)
            weights.index_add_(0, row, weight)
            held.view(-1).scatter_add_(0, here.view(-1), (weight[:, None] * within).view(-1))
        committed = draft - rejected + excess * (weights[:, None] - held)
        return committed.masked_fill(beyond, torch.nan)

    def _neighbours(self) -> Tensor:
        return neighbours(self.model.codebook, self.settings.neighbours(self.model.vocab_size))

    def _nearest(self, x: Tensor, most: int | None = None) -> Tensor:
        nearest = self._neighbours()[:, :most].index_select(0, x.flatten())
        return nearest.view(*x.shape, nearest.shape[1]).long()

    def _neighbourhood(self, p: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return neighbourhood(p, x, self._nearest(x), self.settings)

    def _replacement(self, x: Tensor, p: Tensor, q: Tensor) -> Tensor:
        members, added = self._neighbourhood(p, x)
        moved = p.masked_fill(members, 0).scatter_add(-1, x[:, None], added[:, None])
        return residual(moved, q)

    def groups(self, p: Tensor, q: Tensor, x: Tensor) -> Groups:
        """Return each draft's neighbourhood, nearest first, and the two masses of the test.

        The masses are p's on the draft and its neighbourhood, and q(x).
        """
        members, added = self._neighbourhood(p, x)
        nearest = self._nearest(x)
        inside = members.gather(-1, nearest)  # the nearest ones, without a gap
        tokens = torch.cat([x[:, None], torch.where(inside, nearest, -1)[:, : TOP - 1]], -1)
        masses = torch.stack([gather(p, x) + added, gather(q, x)], -1)
        return Groups(1 + inside.sum(-1), masses, tokens)


def neighbourhood_acceptance(
    p: Tensor, q: Tensor, x: Tensor, nearest: Tensor, settings: LanternSettings
) -> Tensor:
    """Return the acceptance probabilities [H] of drafts x [H] under p and q [H, V].

    `nearest` [H, k - 1] has each draft's nearest codes, as `engine.models.neighbours` gives them.
    """
    _, added = neighbourhood(p, x, nearest, settings)
    return acceptance_probability(gather(p, x) + added, gather(q, x))


def neighbourhood(
    p: Tensor, x: Tensor, nearest: Tensor, settings: LanternSettings
) -> tuple[Tensor, Tensor]:
    """Return each draft's neighbourhood A within the settings' bound.

    Returns the members of A (bool [H, V]) and their mass under p [H].
    """
    mass = gather(p, x)
    return bounded_neighbourhood(p, nearest, neighbourhood_bound(mass, settings))


def neighbourhood_bound(mass: Tensor, settings: LanternSettings) -> Tensor:
    """Return how much mass the neighbours of a draft with p(x) = `mass` may add."""
    if settings.bound == "delta":
        return torch.full_like(mass, settings.delta)
    return (settings.lam - 1) * mass


def bounded_neighbourhood(p: Tensor, nearest: Tensor, bound: Tensor) -> tuple[Tensor, Tensor]:
    """Return the members of each neighbourhood (bool [H, V]) and their mass under p [H].

    `nearest` [H, k - 1] has the codes, nearest first, and `bound` [H] the largest mass. A
    neighbourhood ends before the first code that would take its mass over the bound.
    """
    masses = p.gather(-1, nearest)
    within = within_bound(masses, bound)
    members = torch.zeros_like(p, dtype=torch.bool).scatter(-1, nearest, within)
    return members, (masses * within).sum(-1)


def within_bound(masses: Tensor, bound: Tensor) -> Tensor:
    """Return which neighbours are in the neighbourhood (bool [.., k - 1]).

    `masses` [.., k - 1] has the neighbours' probabilities, nearest first. The sum of those in the
    neighbourhood may exceed `bound` [..] by a rounding error. A bound of 0 is exact.
    """
    return masses.cumsum(-1) <= bound[..., None] * (1 + 1e-6)
