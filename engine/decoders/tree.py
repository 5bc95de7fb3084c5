"""Trees of drafts: the side nodes of a window and the parent of each row (SJD-PAC, Sec. 4.1).

A tree has D levels, and the root is the first. Every node above the last level has K children: K =
4, D = 3 gives 21 nodes. If the tree is verified from the root down, all nodes of a level offer the
same K candidates. For traversal verification each node has candidates of its own.

The paper speaks of K candidates for D positions. The released code builds this tree from them. With
the K = 4, D = 4 of the paper's Table 3 it would have 85 nodes and not fit a window of 64 rows.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Tree:
    """The rows of a window with a tree: row 0 is the root, 1 .. H the spine, then the side nodes.

    The spine is the chain of the first candidates, which goes on below the tree's last level.

    Attributes:
        spine: H, the number of drafts on the spine.
        branching: number of levels with several candidates.
        parents: the row that each row follows; the root's is 0.
        side: (depth, candidate) of each side node; the row of node i is H + 1 + i.
        children: for each row, the row of each of its candidates, or -1.
    """

    spine: int
    branching: int
    parents: tuple[int, ...]
    side: tuple[tuple[int, int], ...]
    children: tuple[tuple[int, ...], ...]


def side_nodes(K: int, D: int) -> int:
    """Return the number of side nodes: the nodes of a tree that are not on its spine."""
    return len(_branches(K, D - 1))


@functools.lru_cache(maxsize=256)
def _branches(K: int, levels: int) -> tuple[tuple[int, int, int], ...]:
    """Return (depth, candidate, parent) of each side node.

    A parent below zero stands for row -parent - 1 of the spine, where row 0 is the root. Any other
    parent is the index of a side node.
    """
    nodes: list[tuple[int, int, int]] = []
    above = [-1]
    for depth in range(1, levels + 1):
        here = []
        for parent in above:
            for k in range(K):
                if parent < 0 and k == 0:
                    here.append(-depth - 1)
                else:
                    nodes.append((depth, k, parent))
                    here.append(len(nodes) - 1)
        above = here
    return tuple(nodes)


@functools.lru_cache(maxsize=256)
def tree(window: int, room: int, K: int, D: int) -> Tree:
    """Return the tree of a window of at most `window` rows; no node is deeper than `room`.

    The tree has `D` levels, and each node above the last level has `K` children. The spine takes
    the remaining rows.
    """
    levels = min(D - 1, room) if K > 1 else 0
    branches = _branches(K, levels)
    spine = min(window - 1 - len(branches), room)

    def row(node: int) -> int:
        return -node - 1 if node < 0 else spine + 1 + node

    parents = [0, *range(spine), *(row(parent) for _, _, parent in branches)]
    children = [[-1] * K for _ in parents]
    for depth in range(spine):
        children[depth][0] = depth + 1
    for node, (_, k, parent) in enumerate(branches):
        children[row(parent)][k] = row(node)
    return Tree(
        spine,
        levels,
        tuple(parents),
        tuple((d, k) for d, k, _ in branches),
        tuple(tuple(below) for below in children),
    )


@functools.lru_cache(maxsize=256)
def side_on(layout: Tree, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return depth and candidate of each side node [S], on the device."""
    depth, candidate = torch.tensor(layout.side, dtype=torch.long).view(-1, 2).T.to(device)
    return depth, candidate


@functools.lru_cache(maxsize=256)
def children_on(layout: Tree, device: torch.device) -> Tensor:
    """Return `layout.children` [rows, K], on the device."""
    return torch.tensor(layout.children).to(device)


class Climb(NamedTuple):
    """The tables with which traversal verification walks a tree; a node is a row of the window.

    Attributes:
        levels: for each depth d, the nodes at that depth [K^d], down to the last level with several
            candidates. The children of levels[d][j] are levels[d + 1][K j : K j + K].
        upward: all nodes in the order of their tests [rows]. A node comes after all nodes below it,
            and after its parent's earlier candidates.
        depth: depth of each node [rows].
        number: index of each node among the nodes of its depth [rows].
        paths: for each node, a path with a node at every depth 0 .. H [rows, H + 1]. It runs from
            the root to the node and on through first children. Where there is no child, nodes of
            the spine fill up the path.
    """

    levels: tuple[Tensor, ...]
    upward: Tensor
    depth: Tensor
    number: Tensor
    paths: Tensor


@functools.lru_cache(maxsize=256)
def climb_on(layout: Tree, device: torch.device) -> Climb:
    """Return the tree's `Climb`, on the device."""
    levels = [[0]]
    for _ in range(layout.branching):
        levels.append([child for row in levels[-1] for child in layout.children[row]])
    downward, waiting = list[int](), [0]
    while waiting:
        downward.append(waiting.pop())
        waiting += [child for child in layout.children[downward[-1]] if child >= 0]
    paths = {0: [0]}
    for row in downward[1:]:
        paths[row] = [*paths[layout.parents[row]], row]
    depth = [len(paths[row]) - 1 for row in range(len(paths))]
    number = {row: j for rows in levels for j, row in enumerate(rows)}
    for path in paths.values():
        while len(path) <= layout.spine:
            child = layout.children[path[-1]][0]
            path.append(child if child >= 0 else len(path))
    return Climb(
        tuple(torch.tensor(rows).to(device) for rows in levels),
        torch.tensor(downward[::-1]).to(device),
        torch.tensor(depth).to(device),
        torch.tensor([number.get(row, 0) for row in range(len(paths))]).to(device),
        torch.tensor([paths[row] for row in range(len(paths))]).to(device),
    )
