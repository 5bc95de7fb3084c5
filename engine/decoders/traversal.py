"""Traversal verification (NeurIPS 2025, arXiv 2505.12398): a tree is tested from its leaves up.

Shapes: R rows of a pass, of which the first H + 1 are the spine (`Tree`); n nodes of a level, K
candidates below each, V codes.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from engine.core import Candidates, Diagnostics, Verification
from engine.decoders.block import chain_tests, passing
from engine.decoders.candidates import TreeWindow, draw_candidates, path_verification
from engine.decoders.tree import Climb, Tree, children_on, climb_on
from engine.numerics.distributions import gather, residual, sample


def traversal_window(drafts: Tensor, q: Tensor, layout: Tree, u: Tensor) -> TreeWindow:
    """Return a window whose candidates are drawn anew under each parent.

    `drafts` [H + 1] are the spine's, drawn from q [H + 1, V]. Under a node of the spine the first
    candidate is the spine's next draft. All other candidates are drawn from the q of their depth,
    under each parent without replacement. Row i of `u` [levels, nodes of the last level] has the
    uniform numbers of the nodes of level i + 1.
    """
    climb, K = climb_on(layout, drafts.device), len(layout.children[0])
    parents = torch.cat(climb.levels[:-1])
    children, depth = torch.cat(climb.levels[1:]), climb.depth[parents]
    u = u[climb.depth[children] - 1, climb.number[children]].view(-1, K)
    first = torch.where(parents == depth, drafts[depth], sample(q[depth], u[:, 0]))
    candidates, candidate_q = draw_candidates(first, q[depth], u)
    nodes = torch.cat([drafts[:-1], drafts.new_zeros(len(layout.side))])
    nodes[children - 1] = candidates.flatten()
    return TreeWindow(
        drafts,
        q,
        nodes,
        climb.depth[1:],
        layout.parents,
        layout=layout,
        candidates=candidates,
        candidate_q=candidate_q,
    )


def verify_traversal(
    window: TreeWindow, p: Tensor, room: Tensor, accept: Tensor, u_end: Tensor
) -> Verification:
    """Accept the path to the first node that passes.

    A node is tested after all nodes below it, and its candidates are tested in turn. Each node has
    a number `a`, the model's distribution p, and the distribution q from which its candidates were
    drawn. The root begins with a = 1, and candidate x of a node begins with a_x = min(1, a * p(x) /
    q(x)). If x and all nodes below x fail, x's parent gets a new a, p and q before its next
    candidate is tested. Let S = sum_v max(a * p(v) - q(v), 0), with the parent's old a, p and q.
    Then

    * p becomes max(a * p - q, 0) / S, and q loses x and is normalised again;
    * a becomes S / (S + 1 - a).

    Once its candidates have failed, or if it has none, a node passes with probability `a`. The last
    token is a sample of the p of the node that passed. On a chain this is block verification.

    The rule is exact if the candidates of every node are drawn anew, from the q of its depth, in
    each pass. It is not exact with the same candidates under each parent, nor with drafts that are
    kept from pass to pass. Public implementations have S, or S / (1 - q(x)), as the new a, which is
    not exact either.

    The acceptance probability that is recorded for a draft is the `a` that its node has after all
    nodes below it have failed.

    Args:
        window: a window with candidates for each parent (`traversal_window`).
        p: the model's distributions [R, V].
        room: how many drafts come before the image's end, at most H (0-dim).
        accept: the numbers of the tests [H + 1, nodes of the last level]; row d - 1 has those of
            the nodes at depth d. The root, at depth 0, passes whatever its number is.
        u_end: the number that samples the last token, for each position [H + 1].
    """
    climb = climb_on(window.layout, p.device)
    h, left, tests = node_tests(window, p, room)
    u = accept[climb.depth - 1, climb.number]  # the root, whose number means nothing, passes
    passed = ((u < h) & (climb.depth <= room))[climb.upward]
    node = climb.upward[passed.int().argmax(0, keepdim=True)]
    end, path = climb.depth[node], climb.paths[node][0]
    assert window.nodes is not None
    draft_rows = torch.cat([path[1:], path[-1:]])  # the last position has no draft
    has_child = children_on(window.layout, p.device)[node, 0] >= 0
    tested = window.nodes[draft_rows - 1], h[draft_rows], u[draft_rows]
    rejected = has_child & (end < room)
    verification = path_verification(window, p, path, end, rejected, left[node], tested, u_end)
    verification.diagnostics = lambda: _tried(climb, window, tests, h, u, path, end)
    return verification


def node_tests(
    window: TreeWindow, p: Tensor, room: Tensor
) -> tuple[Tensor, Tensor, list[Rejections]]:
    """Return each node's a and p, once all nodes below it failed.

    The arguments are those of `verify_traversal`.

    Returns:
        Each node's a, the probability that it then passes [R]; its p, perhaps not normalised
        [R, V]; and the Rejections of each level whose nodes have several candidates.
    """
    climb, levels = climb_on(window.layout, p.device), window.layout.branching
    h, left = p.new_ones(len(p), dtype=torch.float64), p.clone()
    a, begun, tests = h[:1], 0, list[Rejections]()
    for depth, nodes in enumerate(climb.levels[:-1]):
        here = slice(begun, begun + len(nodes))
        begun += len(nodes)
        candidates = window.candidates[here], window.candidate_q[here]
        tests.append(reject_all(a, p[nodes], *candidates, depth < room))
        h[nodes], left[nodes] = tests[-1].parent, tests[-1].left
        a = tests[-1].a.flatten()
    h[climb.levels[-1]] = a
    # The rest of the spine is a chain.
    spine = slice(levels, len(window.drafts))
    below, q = p[spine], window.q[spine]
    a, h[spine] = chain_tests(below, q, window.drafts[spine], room - levels, a[:1])
    has_draft = torch.arange(len(below), device=p.device)[:, None] < room - levels
    left[spine] = torch.where(has_draft, residual(a[:, None].to(p.dtype) * below, q), below)
    return h, left, tests


class Rejections(NamedTuple):
    """The nodes of a level and their candidates, after all candidates failed one after another.

    `verify_traversal` defines a, p and q of a node, which change after each failed candidate.

    Attributes:
        exists: whether each candidate exists: it has q > 0 and the image a position for it [n, K].
        p: a * p(x) of each candidate x when its turn comes, with its node's a and p [n, K].
        q: q(x) of each candidate x when its turn comes [n, K].
        a: the number a_x with which each candidate x begins [n, K].
        parent: the number a of each node after its last candidate [n].
        left: p of each node after its last candidate [n, V].
    """

    exists: Tensor
    p: Tensor
    q: Tensor
    a: Tensor
    parent: Tensor
    left: Tensor


def reject_all(
    a: Tensor, p: Tensor, candidates: Tensor, candidate_q: Tensor, there: Tensor
) -> Rejections:
    """Return the Rejections of n nodes whose candidates [n, K] all fail, one after another.

    The nodes begin with `a` [n] and `p` [n, V]. A candidate that does not exist has a = 0 and
    changes nothing. `candidate_q` [n, K, V] has the q that each candidate was drawn from. `there`
    (0-dim) tells whether the image still has a position for the candidates.
    """
    masses = gather(candidate_q, candidates)
    exists = (masses > 0) & there
    raised, each = list[Tensor](), list[Tensor]()
    for k in range(candidates.shape[1]):
        scaled, here = a[:, None].to(p.dtype) * p, exists[:, k]
        raised.append(gather(scaled, candidates[:, k]))
        each.append(torch.where(here, (raised[-1] / masses[:, k]).clamp_max(1), 0).double())
        excess = (scaled - candidate_q[:, k]).clamp_min(0)
        mass = excess.sum(-1, dtype=torch.float64)
        remains = (here & (mass > 0))[:, None]
        p = torch.where(remains, (excess / mass[:, None]).to(p.dtype), p)
        a = torch.where(here, passing(a, mass), a)
    return Rejections(exists, torch.stack(raised, 1), masses, torch.stack(each, 1), a, p)


def _tried(
    climb: Climb,
    window: TreeWindow,
    tests: list[Rejections],
    h: Tensor,
    u: Tensor,
    path: Tensor,
    end: Tensor,
) -> Diagnostics:
    """Return the candidates tested below each node of the path; an accepted one comes last."""
    tokens, masses, begun = list[Tensor](), list[Tensor](), 0
    for depth, test in enumerate(tests):
        nodes = climb.levels[depth]
        at = (nodes == path[depth]).int().argmax(0, keepdim=True)
        rows = climb.levels[depth + 1].view(len(nodes), -1)[at][0]
        number = torch.arange(len(rows), device=rows.device)
        until = torch.where(depth < end, (rows == path[depth + 1]).int().argmax(), len(rows))
        tried = test.exists[at][0] & (number <= until) & (depth <= end)
        tokens.append(torch.where(tried, window.candidates[begun + at][0], -1))
        masses.append(torch.stack([test.p[at][0], test.q[at][0], h[rows], u[rows]], -1))
        begun += len(nodes)
    return Diagnostics(Candidates(torch.stack(tokens), torch.stack(masses)))
