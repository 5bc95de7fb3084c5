"""EAGLE-2's tree of drafts and LANTERN's rule on it.

Sources: Li et al., EMNLP 2024, arXiv 2406.16858; Jang et al., ICLR 2025, App. B, Alg. 1, which
verifies a chain.

The tree's shape is known on the host, and the host walks the tree. It waits for the device once to
draft the tree, and once a level to verify it. The host then knows which child was accepted, so only
children of the path's nodes are tried.

Shapes: N nodes of a tree, at most K children of a node, V codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.core import Candidates, Diagnostics, Groups, Verification, Window
from engine.models.supply.card import not_numbers
from engine.numerics.distributions import exact, gather, one_hot, sample, total_variation
from engine.trace import Status

# From distributions p [rows, V] and drafts x [rows] to the members of each draft's neighbourhood,
# bool [rows, V], and their mass under p [rows].
Neighbourhood = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def draft_tree(
    first: Tensor,
    expand: Callable[[int, Tensor, Tensor], Tensor],
    depth: int,
    width: int,
    count: int,
    position: int,
) -> Window:
    """Return a window whose `nodes` are a tree of drafts; its `drafts` are empty.

    The likelihood of a node is the product of the drafter's probabilities on its path (EAGLE-2,
    Sec. 4). In each round the `width` likeliest nodes of the deepest level get their `width`
    likeliest tokens as children. In the end only the likeliest `count` nodes stay.

    Args:
        first: the drafter's distribution after the root [1, V].
        expand: `expand(level, tokens, parents)` returns the distributions [width, V] after each of
            `tokens` [width], nodes of level `level`; `parents` is as in `Drafter.expand`.
        depth: number of levels below the root.
        width: number of nodes expanded in a round, and number of children that each of them gets.
        count: largest number of nodes.
        position: the position of the first level.

    Raises:
        ModelError: a probability is NaN.
    """
    width = min(width, first.shape[-1])
    chance, token = (values[0] for values in first.topk(width))
    # Each candidate's token, chance, depth, and the candidate that it follows, 0 for the root.
    tokens, chances = [token], [chance]
    depths, parents = [torch.ones_like(token)], [torch.zeros_like(token)]
    # The candidates expanded next: their numbers, and the drafter's numbers of their parents.
    candidate, read = torch.arange(1, width + 1, device=first.device), torch.zeros_like(token)
    for level in range(1, depth):
        below, children = expand(level, token, read).topk(width)
        below, children = (below * chance[:, None]).view(-1), children.view(-1)
        tokens.append(children)
        chances.append(below)
        depths.append(torch.full_like(children, level + 1))
        parents.append(candidate.repeat_interleave(width))
        chance, best = below.topk(width)
        token = children[best]
        candidate = best + (1 + width + (level - 1) * width**2)
        read = best // width + (1 + (level - 1) * width)
    # Stable, so that a child as likely as its parent comes after it.
    ranked, order = torch.cat(chances).sort(descending=True, stable=True)
    kept = order[:count].sort().values
    nans = ranked[:count].isnan().long()  # the sort has them first
    candidates, above, unknown = torch.stack([kept + 1, torch.cat(parents)[kept], nans]).tolist()
    if any(unknown):
        raise not_numbers("drafter", position)
    row_of = {candidate: row for row, candidate in enumerate([0, *candidates])}
    followed = (0, *(row_of[parent] for parent in above))
    return Window(
        token[:0],
        first[:0],
        nodes=torch.cat(tokens)[kept],
        depths=torch.cat(depths)[kept],
        parents=followed,
    )


def children_of(parents: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the rows of each row's children, in order."""
    below: list[list[int]] = [[] for _ in parents]
    for row, parent in enumerate(parents[1:], 1):
        below[parent].append(row)
    return tuple(map(tuple, below))


@dataclass(frozen=True, slots=True)
class Level:
    """A node of the path, and the trials of its children in order.

    Attributes:
        tokens: the children's tokens [K].
        targets: target distribution of each child: the node's p after the rejections of earlier
            children [K, V].
        mass: mass of each child with its neighbourhood, under the child's target [K].
        left: the node's p after the rejection of all children [V].
        u: uniform number of each child's test [K].
        tried: how many children were tried.
        child: index of the child with which the path goes on.
    """

    tokens: Tensor
    targets: Tensor
    mass: Tensor
    left: Tensor
    u: Tensor
    tried: int
    child: int

    @property
    def acceptance(self) -> Tensor:
        """Probability that each child is accepted if all earlier children were rejected [K]."""
        return self.mass.clamp_max(1)


class TreeWalk:
    """Verification of a tree, from the root down.

    A node's children are tried in order. The remainder is the distribution that the rejections so
    far have left; at first it is the node's p. Each draft x counts as certain: q(x) = 1. So the
    probability of accepting x is the remainder's mass on x and x's neighbourhood. A rejection sets
    that mass to 0 and scales the rest of the remainder to sum to 1. The first accepted child is the
    next node. If no child is accepted, the step's last token is a sample of the remainder; at a
    leaf it is a sample of p. After a node without an accepted child the walk goes on through first
    children, only to record these children.
    """

    def __init__(
        self, nodes: Tensor, parents: tuple[int, ...], p: Tensor, neighbourhood: Neighbourhood
    ) -> None:
        """Begin at the root.

        Args:
            nodes: the nodes' tokens in order of depth, the drafter's likeliest sibling first [N].
            parents: parent of each row; the root is row 0 [1 + N].
            p: the model's distributions after each row [1 + N, V].
            neighbourhood: returns the members of a draft's neighbourhood and their mass.
        """
        self.nodes, self.p, self.neighbourhood = nodes, p, neighbourhood
        self.children = children_of(parents)
        self.path = [0]  # rows
        self.accepted, self.alive = 0, True
        self.levels: list[Level] = []

    def descend(self, u: Tensor) -> None:
        """Go down one level, if there is one; `u` [K] are the numbers of the children's tests."""
        row = self.path[-1]
        below = self.children[row]
        if not below:
            return
        remainder, targets, masses = self.p[row : row + 1], list[Tensor](), list[Tensor]()
        tokens = [self.nodes[child - 1 : child] for child in below]
        for x in tokens:
            members, added = self.neighbourhood(remainder, x)
            targets.append(remainder)
            masses.append(gather(remainder, x) + added)
            rest = self.rejected(remainder, x, members)
            total = rest.sum(-1, keepdim=True, dtype=torch.float64).to(rest.dtype)
            remainder = torch.where(total > 0, rest / total, remainder)
        mass, u = torch.cat(masses), u[: len(below)]
        passed = (u < mass.clamp_max(1)).tolist() if self.alive else []
        self.alive = any(passed)
        child = passed.index(True) if self.alive else 0
        tried = child + 1 if self.alive else len(passed)
        level = Level(torch.cat(tokens), torch.cat(targets), mass, remainder[0], u, tried, child)
        self.levels.append(level)
        self.path.append(below[child])
        self.accepted += self.alive

    def rejected(self, p: Tensor, x: Tensor, members: Tensor) -> Tensor:
        """Return the remainder of p [1, V], not normalised, after draft x [1] is rejected.

        `members` is x's neighbourhood (bool [1, V]).
        """
        return p.masked_fill(members, 0).scatter(-1, x[:, None], 0)

    def left(self) -> Tensor:
        """Return the distribution of the step's last token [V]."""
        end = self.accepted
        return self.levels[end].left if end < len(self.levels) else self.p[self.path[end]]

    def finish(self, u: Tensor) -> Verification:
        """Return the verification, once all levels are walked.

        `u` [levels + 1] has a uniform number for each node of the path. The number of the last
        accepted node (the root, if no draft is accepted) samples the step's last token.
        """
        rows, end = torch.tensor(self.path, device=self.p.device), self.accepted
        i = torch.arange(len(rows), device=rows.device)
        drafts, p = _and_end(self.nodes[rows[1:] - 1], -1), self.p[rows]
        status = torch.where(i < end, int(Status.ACCEPTED), int(Status.DROPPED))
        status[end] = int(Status.RESAMPLED if end < len(self.levels) else Status.FRESH)
        acceptance = torch.stack([level.acceptance[level.child] for level in self.levels])
        uniform = torch.stack([level.u[level.child] for level in self.levels])
        uniform = torch.where(i[:-1] <= end, uniform, torch.nan)
        return Verification(
            count=torch.full_like(rows[0], end + 1),
            tokens=torch.where(
                i == end, sample(self.left()[None], u[end : end + 1]), drafts.clamp_min(0)
            ),
            q=p,
            status=status,
            p=p,
            acceptance=_and_end(acceptance),
            uniform=_and_end(uniform),
            drafts=drafts,
            path=rows,
            redraws=False,
        )

    def diagnostics(self, groups: Callable[[Tensor, Tensor, Tensor], Groups]) -> Diagnostics:
        """Return the candidates tried at each level, and each path node's q, group and shift.

        `groups(p, q, drafts)` computes the groups of the path's drafts. Its `p` is the remainder
        that each draft was tested against; its `q` is 1 at the draft.
        """
        tokens, tests = list[Tensor](), list[Tensor]()
        most = max(len(level.u) for level in self.levels)
        for level in self.levels:
            q, beside = torch.ones_like(level.u), most - len(level.u)
            tokens.append(F.pad(level.tokens[: level.tried], (0, most - level.tried), value=-1))
            columns = torch.stack([level.mass, q, level.acceptance, level.u], -1)
            tests.append(F.pad(columns, (0, 0, 0, beside)))
        p = torch.stack([level.targets[level.child] for level in self.levels])
        drafts = torch.stack([level.tokens[level.child] for level in self.levels])
        q = one_hot(drafts, p.shape[-1])
        shown = Groups(*map(_and_end, groups(p, q, drafts)))
        candidates = Candidates(torch.stack(tokens), torch.stack(tests))
        return Diagnostics(candidates, _and_end(q), _and_end(self.shift()), shown)

    def shift(self) -> Tensor:
        """Return TV(p', p) at the nodes of the path, [levels] in float64.

        Let p' be the distribution of the token that a node commits. The node's children x_1, x_2,
        .. have the acceptance probabilities a_1, a_2, .. The node commits x_k with probability a_k
        prod_{j < k} (1 - a_j). If no child is accepted, it commits a sample of the remainder.
        """
        shifts = []
        for row, level in zip(self.path, self.levels, strict=False):
            acceptance = level.acceptance.double()
            rejected = (1 - acceptance).cumprod(-1)
            reached = torch.cat([torch.ones_like(rejected[:1]), rejected[:-1]])
            committed = rejected[-1] * exact(level.left)
            committed.scatter_add_(-1, level.tokens, reached * acceptance)
            shifts.append(total_variation(committed, exact(self.p[row])))
        return torch.stack(shifts)


def _and_end(values: Tensor, end: float = 0) -> Tensor:
    """Append an entry filled with `end` to `values` [levels, ..], for the last row of a path.

    `values` has one entry for each draft of the path; the last row has no draft.
    """
    return torch.cat([values, torch.full_like(values[:1], end)])
