"""A small model with classifier-free guidance, which may end after some tokens."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from engine.infilling import Fills
from tools.judge.toys import Toy


class GuidedToy(Toy):
    """Toy that has logits without a prompt too; guidance mixes both.

    It can draw a picture on from any cell, and so draws forks.
    """

    fills_in = Fills.BELOW

    def __init__(self, grid: tuple[int, int] = (2, 2), codes: int = 2, *, seed: int = 0) -> None:
        super().__init__(grid, codes, seed=seed)
        self.unconditional = Toy(grid, codes, seed=seed + 3)

    def logits_after(self, tokens: Sequence[int], place: int, guided: tuple[float, int]) -> Tensor:
        scale, count = guided
        conditional = super().logits_after(tokens, place, guided)
        if count and place >= count:
            return conditional
        unconditional = self.unconditional.logits_after(tokens, place, guided)
        return unconditional + scale * (conditional - unconditional)
