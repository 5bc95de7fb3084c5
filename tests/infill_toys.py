"""Toys that fill in grids of any size."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from engine.infilling import MASKED, Fills
from tools.judge.toys import InfillToy, Toy


class NeighbourToy(InfillToy):
    """On a grid of any size: a cell's distribution depends on the cells beside it."""

    def __init__(self, grid: tuple[int, int] = (6, 6), codes: int = 16, *, seed: int = 0) -> None:
        Toy.__init__(self, grid, codes, seed=seed)
        generator = torch.Generator().manual_seed(seed)
        self.table = 1.2 * torch.randn(4, codes + 1, codes, generator=generator)

    def logits_at(self, codes: Sequence[int], cell: int) -> Tensor:
        (height, width), (row, column) = self.grid, divmod(cell, self.grid[1])
        beside = [(row, column - 1), (row - 1, column), (row, column + 1), (row + 1, column)]
        near = [
            codes[i * width + j] if 0 <= i < height and 0 <= j < width else MASKED
            for i, j in beside
        ]
        known = [self.vocab_size if code == MASKED else code for code in near]
        return sum((self.table[i, code] for i, code in enumerate(known)), torch.zeros(()))


class BelowToy(NeighbourToy):
    """Draws pictures on in raster order, as public models do."""

    fills_in = Fills.BELOW


def masks(cells: int) -> list[tuple[bool, ...]]:
    """Every mask of so many cells but the empty one."""
    return [mask for mask in itertools.product((False, True), repeat=cells) if any(mask)]
