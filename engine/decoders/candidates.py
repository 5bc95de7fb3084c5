"""Several candidates for each of a window's first positions, and their verification in turn."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Candidates, Diagnostics, Verification, Window
from engine.decoders.speculate import acceptance_probability, chain_acceptance, count_leading
from engine.decoders.tree import Tree
from engine.numerics.distributions import gather, in_turn, normalise, residual, sample
from engine.trace import Status


@dataclass(slots=True, kw_only=True)
class TreeWindow(Window):
    """A window whose first positions have several candidates each, which form a tree.

    If the tree is verified from the root down, `candidates` [n, K] has a row for each level below
    the root: every node of the level above has these K candidates. For traversal verification every
    node with several candidates has K of its own. `candidates` then has a row for each such node,
    level by level. Below a node of the spine (`Tree`) the first candidate is the spine's next
    draft.

    `candidate_q` [n, K, V] has the distribution that each candidate was drawn from. `layout` gives
    the parent of each row of the pass.
    """

    layout: Tree
    candidates: Tensor
    candidate_q: Tensor


def draw_candidates(drafts: Tensor, q: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """Return K candidates [n, K] for each of `drafts` [n], and their distributions [n, K, V].

    The first candidate is the draft itself. The others are drawn from the draft's q [n, V] without
    replacement, with the uniform numbers u [n, K]; the first number of a row is not used. A
    candidate's distribution is q without the earlier candidates, normalised again. It is all zero
    where q has no further token.
    """
    tokens, drawn_from = [drafts], [q]
    for k in range(1, u.shape[1]):
        drawn_from.append(normalise(drawn_from[-1].scatter(-1, tokens[-1][:, None], 0)))
        tokens.append(sample(drawn_from[-1], u[:, k]))
    return torch.stack(tokens, 1), torch.stack(drawn_from, 1)


class CandidateWalk:
    """Verification of a tree, from the root down, without a copy from the device to the host.

    Every level is computed, even if an earlier level ended the walk. Numbers have the shape [1],
    because indexing by a 0-dim tensor would copy that tensor to the host.
    """

    def __init__(self, p: Tensor, room: Tensor) -> None:
        """Begin at the root.

        Args:
            p: the model's distributions [rows, V].
            room: how many drafts come before the image's end (0-dim).
        """
        self.p, self.room = p, room
        self.alive = torch.ones(1, dtype=torch.bool, device=p.device)
        self.rejected = torch.zeros_like(self.alive)  # whether the walk ended with a rejection
        # How many nodes are accepted, and the row of the last one.
        self.depth = torch.zeros(1, dtype=torch.long, device=p.device)
        self.node = torch.zeros_like(self.depth)
        self.left = p[0]  # the distribution to sample if the walk ends here
        self.path = [self.node]
        self.tokens: list[Tensor] = []
        self.acceptance: list[Tensor] = []
        self.uniform: list[Tensor] = []
        self.trials: list[tuple[Tensor, ...]] = []

    def descend(self, children: Tensor, candidates: Tensor, candidate_q: Tensor, u: Tensor) -> None:
        """Go down one level.

        Args:
            children: for each row, the rows of its children, or -1 [rows, K].
            candidates: the level's candidates [K].
            candidate_q: the distribution that each candidate was drawn from [K, V].
            u: uniform number of each candidate's test [K].
        """
        rows = children[self.node][0]
        q = gather(candidate_q, candidates)
        exists = (rows >= 0) & (q > 0) & (len(self.tokens) < self.room)
        p, remainder = in_turn(self.left, candidate_q, candidates, exists)
        acceptance = acceptance_probability(p, q)
        accepted = exists & (u < acceptance)
        any_accepted = accepted.any(0, keepdim=True)
        first = torch.where(any_accepted, accepted.int().argmax(0, keepdim=True), 0)
        tried = exists & (
            torch.arange(len(u), device=u.device) <= torch.where(any_accepted, first, len(u))
        )
        self.trials.append((candidates, p, q, acceptance, u, tried & self.alive))
        node = torch.where(any_accepted, rows[first], self.node)
        self.left = torch.where(
            self.alive, torch.where(any_accepted, self.p[node][0], remainder), self.left
        )
        self.rejected = torch.where(
            self.alive, exists.any(0, keepdim=True) & ~any_accepted, self.rejected
        )
        self.alive = self.alive & any_accepted
        self.depth = self.depth + self.alive
        self.node = torch.where(self.alive, node, self.node)
        self.path.append(self.node)
        self.tokens.append(candidates[first])
        self.acceptance.append(acceptance[first])
        self.uniform.append(u[first])

    def diagnostics(self) -> Diagnostics:
        """Return the candidates tried at each level that the walk reached."""
        if not self.trials:
            return Diagnostics()
        tokens, *tests, tried = map(torch.stack, zip(*self.trials, strict=True))
        candidates = Candidates(torch.where(tried, tokens, -1), torch.stack(tests, -1))
        return Diagnostics(candidates)

    def finish(self, window: Window, u: Tensor, u_end: Tensor) -> Verification:
        """Go on from the tree's last level down the spine, as SJD does; return the verification.

        R is the number of drafts in `window`. The numbers `u` [R] test the drafts. The last token
        to be committed is sampled with the number that `u_end` [R] has for that token's position.
        """
        rows, levels = len(window.drafts), len(self.tokens)
        spine, room = self.p[:rows], self.room
        path = torch.arange(rows, device=spine.device)
        on_spine = self.alive & (self.node == levels)
        tokens, acceptance, uniform = window.drafts, chain_acceptance(window, spine), u
        leading = count_leading(u[levels:] < acceptance[levels:], room - levels)
        end = self.depth + torch.where(on_spine, leading, 0)
        below = torch.where(end < room, residual(spine[end], window.q[end]), spine[end])
        remainder = torch.where(on_spine, below, self.left[None])
        rejected = torch.where(on_spine, end < room, self.rejected)
        if levels:
            tokens = torch.cat([*self.tokens, tokens[levels:]])
            acceptance = torch.cat([*self.acceptance, acceptance[levels:]])
            uniform = torch.cat([*self.uniform, uniform[levels:]])
            path = torch.cat([*self.path, path[levels + 1 :]])
        tests = tokens, acceptance, uniform
        return path_verification(window, self.p, path, end, rejected, remainder, tests, u_end)


def path_verification(
    window: Window,
    p: Tensor,
    path: Tensor,
    end: Tensor,
    rejected: Tensor,
    remainder: Tensor,
    tests: tuple[Tensor, Tensor, Tensor],
    u_end: Tensor,
) -> Verification:
    """Return the verification that accepts the drafts on a path of a window's tree.

    Args:
        window: a window of R drafts.
        p: the model's distributions, one for each row of the pass [rows, V].
        path: row of the pass that asks for each position [R].
        end: number of accepted drafts [1].
        rejected: whether a draft was rejected after them [1].
        remainder: the distribution of the last committed token, not normalised [1, V].
        tests: for each position, the draft on the path, its acceptance probability and the number
            that it was compared with, each [R].
        u_end: for each position, the number that samples its token if it is the last committed [R].
    """
    tokens, acceptance, uniform = tests
    rows = len(window.drafts)
    spine, i = p[:rows], torch.arange(rows, device=p.device)
    drafts = torch.where(i < end, tokens, window.drafts)
    none = (i == rows - 1) | ((i == end) & ~rejected)  # the last position and a bonus token
    status = torch.where(i < end, int(Status.ACCEPTED), int(Status.REFINED))
    status = torch.where(i == end, int(Status.RESAMPLED), status)
    return Verification(
        count=end[0] + 1,
        tokens=torch.where(i == end, sample(remainder, u_end[end]), tokens),
        q=spine,
        status=torch.where((i == end) & ~rejected, int(Status.FRESH), status),
        p=torch.where((i <= end)[:, None], p[path], spine),
        acceptance=acceptance,
        uniform=torch.where(i <= end, uniform, torch.nan),
        drafts=torch.where(none, -1, drafts),
        path=path,
    )
