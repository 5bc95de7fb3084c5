"""Toys whose tokens depend on where others stand, for decoders that draw several rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from tools.judge.toys import FrontsContext, Toy, ToyContext


class SureToy(Toy):
    """A Toy of which some positions are sure to hold a 0: what is sure needs no run of its own
    where every outcome is enumerated."""

    def __init__(
        self,
        grid: tuple[int, int],
        codes: int = 2,
        *,
        forced: bool = False,
        seed: int = 0,
        sure: Sequence[int] = (),
    ) -> None:
        super().__init__(grid, codes, forced=forced, seed=seed)
        self._sure = sure

    def logits_at(self, seen: Mapping[int, int], position: int) -> Tensor:
        """Of a position, given the tokens that are seen, by their positions."""
        last = [seen[at] for at in sorted(seen)][-2:]
        none = self.vocab_size
        return self._table(*[none] * (2 - len(last)), *last)

    def _table(self, *tokens: int) -> Tensor:
        return self.logits[tuple(min(token, self.vocab_size) for token in tokens)]

    def _logits(self, seen: Mapping[int, int], position: int) -> Tensor:
        logits = self.logits_at(seen, position)
        if position not in self._sure:
            return logits
        others = torch.arange(self.vocab_size) > 0
        return torch.where(others, -torch.inf, logits)

    def forward(
        self,
        ctx: ToyContext,
        tokens: Tensor,
        parents: Sequence[int] | None = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        if isinstance(ctx, FrontsContext):
            assert targets is not None
            seen, asked = ctx.read(tokens.tolist(), targets.tolist(), parents), targets.tolist()
        else:
            super().forward(ctx, tokens, parents, targets)
            seen, asked = [dict(enumerate(path)) for path in ctx.paths], map(len, ctx.paths)
        return torch.stack([self._logits(*row) for row in zip(seen, asked, strict=True)])

    def distribution(self, tokens: Sequence[int]) -> Tensor:
        return torch.softmax(self._logits(dict(enumerate(tokens)), len(tokens)), -1)


class AboveToy(SureToy):
    """A token depends on its left neighbour and on the one above it alone."""

    def logits_at(self, seen: Mapping[int, int], position: int) -> Tensor:
        none, stride = self.vocab_size, self.plan.stride
        left = seen[position - 1] if position % stride else none
        return self._table(left, seen.get(position - stride, none))
