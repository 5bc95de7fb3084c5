"""A model's windows against one forward over all that stands before each of their rows."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.core import Plan
from engine.models.body import BodyModel
from engine.models.context import BodyContext
from tests.floats import EXACT, rounding

OneShot = Callable[[list[int]], Tensor]  # tokens [n] to logits [n + 1, V]


def guided_before(count: int, guided: OneShot, alone: OneShot) -> OneShot:
    """The first `count` positions of one, 0 for all, the others of another."""

    def one_shot(tokens: list[int]) -> Tensor:
        logits = guided(tokens)
        return torch.cat([logits[:count], alone(tokens)[count:]]) if count else logits

    return one_shot


class Sequence:
    """A context together with the tokens that it should have seen. `one_shot` is in float64; so is
    the model, or off by its rounding."""

    def __init__(
        self,
        model: BodyModel,
        one_shot: OneShot,
        guidance: float,
        prompt: str = "",
        guided_tokens: int = 0,
        plan: Plan | None = None,
    ) -> None:
        self.model, self.one_shot, self.guidance = model, one_shot, guidance
        self.ctx: BodyContext = model.start(prompt, guidance, guided_tokens, plan)
        self.largest = 0.0  # of the logits so far
        self.guided = 0 if guidance == 1 else guided_tokens or self.ctx.plan.length
        self.tokens: list[int] = []

    def window(self, drafts: list[int], parents: list[int] | None = None) -> list[list[int]]:
        """Feeds a window of root and drafts, checks each row against its own path; returns the
        paths."""
        root = self.tokens[-1] if self.tokens else 0
        tree = None if parents is None else tuple(parents)
        logits = self.model.forward(self.ctx, torch.tensor([root, *drafts]), tree)
        assert logits.dtype == self.model.dtype
        assert len(self.ctx.hidden) == 1 + (len(self.tokens) < self.guided), "rows of the batch"
        paths: list[list[int]] = [[]]
        for row, token in enumerate(drafts, 1):
            paths.append([*paths[row - 1 if parents is None else parents[row]], token])
        if parents is None:
            expected = self.one_shot([*self.tokens, *drafts])[len(self.tokens) :]
        else:
            expected = torch.stack([self.one_shot([*self.tokens, *path])[-1] for path in paths])
        self.largest = max(self.largest, expected.abs().max().item())
        bound = {"rtol": 0, "atol": rounding(self.largest, self.guidance)}
        if logits.dtype == torch.float64:
            bound = EXACT
        torch.testing.assert_close(logits.double(), expected, **bound)
        return paths

    def keep(self, rows: list[int], path: list[int], token: int) -> None:
        """Keeps the rows of a path, root first, and commits its tokens and one more."""
        self.ctx.keep(rows)
        self.tokens += [*path, token]
        assert self.ctx.committed == len(self.tokens)

    def follow(self, end: int) -> None:
        """Chains and a tree, of which a path off the spine is kept, one row, and rows that are
        rejected; `end` is a token that must be in it."""
        self.window([5, 9, 1, 10])
        self.keep([0, 1, 2], [5, 9], end)
        # 0 - 1 - 2, and beside them 0 - 3 - 4 and 3 - 5: row 5's path is 0, 3, 5
        paths = self.window([1, 2, 8, 9, 10], [0, 0, 1, 0, 3, 3])
        self.keep([0, 3, 5], paths[5], 6)
        self.window([])
        self.keep([0], [], 3)
        paths = self.window([1, end, 3])
        self.keep([0, 1, 2, 3], paths[3], 0)
        self.window([4])

    def begin_with_a_tree(self) -> None:
        paths = self.window([1, 2, 3, 4], [0, 0, 0, 1, 2])
        self.keep([0, 2, 4], paths[4], 6)
        self.window([7, 7])
