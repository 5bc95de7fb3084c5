"""Trees of drafts: the side nodes of a window and the parent of each row (SJD-PAC, Sec. 4.1).

The paper's tree of K candidates for D positions can be read in several ways. Its text says a K-ary
tree (`full` or `deep`), but then K = 4, D = 4 of its Table 3 does not fit a window of 64 rows; only
`spine` and `lanes` fit every row of that table.

* `full`: every node of D levels, the root counted as the first, has the same K candidates below it.
  The released code does this; K = 4, D = 3 are 21 nodes.
* `deep`: the same with D levels below the root; 85 nodes for K = 4, D = 3.
* `spine`: K candidates at each of D levels, but only the first has children.
* `lanes`: K candidates below the root, each with a chain of its own, D long.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

READINGS = ("full", "spine", "lanes", "deep")


@dataclass(frozen=True, slots=True)
class Tree:
    """Rows of one window: 0 the root, 1 .. H the spine, then side nodes.

    spine: H; branching: how many levels have several candidates; parents[row]: the row it follows
    (the root's is 0); side[i]: (depth, candidate) of side node i, whose row is H + 1 + i;
    children[row][k]: the row of candidate k below it, or -1.
    """

    spine: int
    branching: int
    parents: tuple[int, ...]
    side: tuple[tuple[int, int], ...]
    children: tuple[tuple[int, ...], ...]


def side_nodes(K: int, D: int, reading: str) -> int:
    """How many rows the tree takes beside its spine."""
    return len(_branches(K, _levels(D, reading), reading))


def _levels(D: int, reading: str) -> int:
    return D - 1 if reading == "full" else D


@functools.lru_cache(maxsize=256)
def _branches(K: int, levels: int, reading: str) -> tuple[tuple[int, int, int], ...]:
    """(depth, candidate, parent) of each side node; a parent below zero is spine node -parent - 1,
    else a side node."""
    nodes: list[tuple[int, int, int]] = []
    above = [-1]
    for depth in range(1, levels + 1):
        here = []
        for parent in above:
            on_spine = parent < 0
            lane = 0 if on_spine else nodes[parent][1]
            for k in range(K):
                if on_spine and k == 0:
                    here.append(-depth - 1)
                elif (
                    reading in ("full", "deep")
                    or (on_spine and (reading == "spine" or depth == 1))
                    or (reading == "lanes" and not on_spine and k == lane)
                ):
                    nodes.append((depth, k, parent))
                    here.append(len(nodes) - 1)
        above = here if reading != "spine" else [-depth - 1]
    return tuple(nodes)


@functools.lru_cache(maxsize=256)
def tree(window: int, room: int, K: int, D: int, reading: str) -> Tree:
    """The tree of a window of `window` rows where at most `room` drafts fit below the root."""
    levels = min(_levels(D, reading), room) if K > 1 else 0
    branches = _branches(K, levels, reading)
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
    """Depth and candidate of each side node [S], on the device."""
    depth, candidate = torch.tensor(layout.side, dtype=torch.long).view(-1, 2).T.to(device)
    return depth, candidate


@functools.lru_cache(maxsize=256)
def children_on(layout: Tree, device: torch.device) -> Tensor:
    """`layout.children` [rows, K], on the device."""
    return torch.tensor(layout.children).to(device)
