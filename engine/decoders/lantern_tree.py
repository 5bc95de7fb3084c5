"""EAGLE-2's tree of drafts (Li et al., EMNLP 2024, arXiv 2406.16858) and LANTERN's rule on it (Jang
et al., ICLR 2025, App. B, Alg. 1: a chain there).

Shapes: N nodes of a tree, K children of a node at most, V codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.decoders.decode_state import Diagnostics, Verification, Window
from engine.decoders.speculate import pad_end
from engine.numerics.distributions import exact, gather, one_hot, sample, total_variation
from engine.trace import Status

# From distributions p [rows, V] and drafts x [rows] to the members of each draft's neighbourhood,
# bool [rows, V], and their mass under p [rows].
Neighbourhood = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass(slots=True, kw_only=True)
class DraftTree(Window):
    """A tree with its nodes in order of depth; `drafts` follow the first child of each. children
    [1 + N, K]: the rows below each row, the drafter's likeliest first, -1 for none."""

    children: Tensor


def draft_tree(
    first: Tensor,
    expand: Callable[[int, Tensor, Tensor], Tensor],
    depth: int,
    width: int,
    count: int,
) -> DraftTree:
    """A tree of at most `count` nodes, up to `depth` below the root, from the drafter's
    distribution `first` [1, V] after the root.

    In each round the `width` likeliest nodes of the last depth get their `width` likeliest tokens
    as children; in the end the likeliest nodes of all stay. How likely a node is, is the product of
    the drafter's probabilities on its path (EAGLE-2, Sec. 4). `expand(depth, tokens, parents)`
    gives the distributions [width, V] after tokens at a depth; parents as in `Drafter.expand`.
    """
    width = min(width, first.shape[-1])
    chance, token = (values[0] for values in first.topk(width))
    # Of all candidates, and of the root before them: token, chance, depth and whom it follows.
    tokens, chances = [token], [chance]
    depths, parents = [torch.ones_like(token)], [torch.zeros_like(token)]
    candidate = torch.arange(1, width + 1, device=first.device)  # those expanded
    read = torch.zeros_like(token)  # what they follow, by the drafter's count
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
    order = torch.cat(chances).sort(descending=True, stable=True).indices
    kept = order[:count].sort().values
    rows = torch.arange(len(kept) + 1, device=first.device)
    row_of = kept.new_zeros(1 + len(order)).scatter_(0, kept + 1, rows[1:])
    above = torch.cat([rows[:1], row_of[torch.cat(parents)[kept]]])
    children = children_of(above, width)
    nodes = torch.cat(tokens)[kept]
    row, drafts = rows[:1], []
    for _ in range(depth):
        row = torch.where(row >= 0, children[row, 0], -1)
        drafts.append(torch.where(row > 0, nodes[(row - 1).clamp_min(0)], -1))
    spine = torch.cat(drafts)
    return DraftTree(
        spine,
        one_hot(spine.clamp_min(0), first.shape[-1]),
        nodes,
        torch.cat(depths)[kept],
        above,
        children=children,
    )


def children_of(parents: Tensor, width: int) -> Tensor:
    """The rows [rows, K] below each row, in their order, -1 for none; K is `width`, or fewer where
    there are fewer rows."""
    count = len(parents)
    rows = torch.arange(count, device=parents.device)
    below = (parents == rows[:, None]) & (rows > 0)
    first = torch.where(below, rows, count).topk(min(width, count), largest=False).values
    return torch.where(first < count, first, -1)


class Walk:
    """Verification of a tree. From the root down, a node's children are tried in order against what
    is left of its p; a draft is certain, q(x) = 1. Child x is accepted with probability p(x) and
    its neighbourhood's mass, and the first accepted one is the next node. At a rejection, R(p', q)
    is p without x and its neighbourhood. Where no child is accepted, a sample of what is left ends
    the step; after a leaf, one of p.

    The trials of all nodes are computed together, and every level of the walk, whether or not an
    earlier one ended it: nothing waits for the device. Numbers of shape [1], since indexing by a
    tensor without a dimension would copy it to the host. Behind its end the walk goes on through
    first children, for the record alone.
    """

    def __init__(self, window: DraftTree, p: Tensor, neighbourhood: Neighbourhood) -> None:
        """p [1 + N, V]."""
        assert window.nodes is not None
        self.p, self.left, self.children = p, p, window.children
        below = window.children
        self.token = torch.where(
            below >= 0, window.nodes[(below - 1).clamp_min(0)], -1
        )  # [1 + N, K]
        self.targets, masses = [], []
        for tokens in self.token.unbind(1):
            exists, x = tokens >= 0, tokens.clamp_min(0)
            members, added = neighbourhood(self.left, x)
            self.targets.append(self.left)
            masses.append((gather(self.left, x) + added) * exists)
            rest = self.rejected(self.left, x, members)
            total = rest.sum(-1, keepdim=True, dtype=torch.float64).to(p.dtype)
            self.left = torch.where(exists[:, None] & (total > 0), rest / total, self.left)
        self.mass = torch.stack(masses, 1)
        self.acceptance = self.mass.clamp_max(1)
        self.row = torch.zeros_like(below[:1, 0])
        self.alive = torch.ones_like(self.row, dtype=torch.bool)
        self.accepted = torch.zeros_like(self.row)
        self.path, self.uniforms = [self.row], list[Tensor]()
        self.shown, self.tested = list[Tensor](), list[Tensor]()

    def rejected(self, p: Tensor, x: Tensor, members: Tensor) -> Tensor:
        """What the rejection of drafts x [rows] leaves of p [rows, V], not normalised."""
        return p.masked_fill(members, 0).scatter(-1, x[:, None], 0)

    def descend(self, u: Tensor) -> None:
        """One level; u [K]."""
        passed = u < self.acceptance[self.row][0]
        self.tested.append(self.alive)
        self.alive = self.alive & passed.any(0, keepdim=True)
        first = torch.where(self.alive, passed.int().argmax(0, keepdim=True), 0)
        below = self.children[self.row, first]
        self.row = torch.where(below >= 0, below, self.row)
        self.accepted = self.accepted + self.alive
        self.path.append(self.row)
        self.shown.append(first)
        self.uniforms.append(u)

    def finish(self, u: Tensor) -> Verification:
        """After all levels; u [levels + 1] samples the last token."""
        self.rows, self.child = torch.cat(self.path), torch.cat(self.shown)
        at = self.rows[:-1], self.child
        self.drafts = self.token[at]
        levels, end = len(self.shown), self.accepted
        i = torch.arange(levels + 1, device=end.device)
        last = self.rows[end]
        drafts = pad_end(self.drafts, -1)
        ended = torch.where(drafts[end] >= 0, int(Status.RESAMPLED), int(Status.FRESH))
        status = torch.where(i < end, int(Status.ACCEPTED), int(Status.DROPPED))
        tested = torch.cat(self.tested) & (self.drafts >= 0)
        uniform = torch.stack(self.uniforms).gather(1, self.child[:, None])[:, 0]
        acceptance = torch.where(self.drafts >= 0, self.acceptance[at], torch.nan)
        p = self.p[self.rows]
        return Verification(
            count=end[0] + 1,
            tokens=torch.where(i == end, sample(self.left[last], u[end]), drafts.clamp_min(0)),
            q=p,
            status=torch.where(i == end, ended, status),
            drafts=drafts,
            p=p,
            acceptance=pad_end(acceptance, torch.nan),
            uniform=pad_end(torch.where(tested, uniform, torch.nan), torch.nan),
            path=self.rows,
            keeps_drafts=False,
        )

    def diagnostics(self, groups: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Diagnostics:
        """The candidates tried at each level, and the groups, by `groups(p, q, drafts)`, of the
        drafts shown: p [H, V] is what earlier rejections left."""
        rows, token = self.rows[:-1], self.token[self.rows[:-1]]
        i = torch.arange(len(rows), device=rows.device)
        k = torch.arange(token.shape[1], device=rows.device)
        untried = (k > self.child[:, None]) & (i < self.accepted)[:, None]
        tried = torch.cat(self.tested)[:, None] & (token >= 0) & ~untried
        u = torch.stack(self.uniforms)
        columns = [token, self.mass[rows], torch.ones_like(u), self.acceptance[rows], u, tried]
        p = torch.stack([target[rows] for target in self.targets], 1)[i, self.child]
        drafts = self.drafts.clamp_min(0)
        q = one_hot(drafts, p.shape[-1])
        candidates = torch.stack([column.double() for column in columns], -1)
        return Diagnostics(groups(p, q, drafts), candidates, q, self.shift())

    def shift(self) -> Tensor:
        """TV(p', p) [levels], float64, of the nodes of the path. Given the drafts x_1, x_2, .. of a
        node and their acceptance probabilities a_k, it commits x_k with probability
        a_k prod_{j < k} (1 - a_j), and else a sample of what they left of p: p' is the sum."""
        rows = self.rows[:-1]
        acceptance = self.acceptance[rows].double()
        rejected = (1 - acceptance).cumprod(-1)
        reached = torch.cat([torch.ones_like(rejected[:, :1]), rejected[:, :-1]], -1)
        committed = rejected[:, -1:] * exact(self.left[rows])
        committed.scatter_add_(-1, self.token[rows].clamp_min(0), reached * acceptance)
        return total_variation(committed, exact(self.p[rows]))
