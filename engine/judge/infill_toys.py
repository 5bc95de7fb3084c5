"""A toy that fills in any cells given any others, whose every joint distribution can be
enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from engine.infilling import MASKED, Fills, Infilling
from engine.judge.toys import Toy, ToyContext
from engine.models.slots import Slot
from engine.plan import Plan


class InfillToy(Toy):
    """Each cell's distribution is an arbitrary function of which other cells hold which codes: the
    joint distribution of a mask depends on the order in which its cells are filled in."""

    fills_in = Fills.ANY

    def __init__(self, grid: tuple[int, int] = (2, 3), codes: int = 2, *, seed: int = 0) -> None:
        super().__init__(grid, codes, seed=seed)
        cells = grid[0] * grid[1]
        generator = torch.Generator().manual_seed(seed)
        size = (codes + 1) ** cells, cells, codes
        self.table = 1.5 * torch.randn(size, generator=generator)

    def start(
        self,
        prompt: str,
        guidance: float,
        guided_tokens: int = 0,
        plan: Plan | None = None,
        slot: Slot | None = None,
    ) -> ToyContext:
        if plan is None or plan.infilling is None:
            return super().start(prompt, guidance, guided_tokens, plan, slot)
        return InfillContext(plan)

    def logits_of(self, plan: Plan, path: Sequence[int], target: int) -> Tensor:
        """Of position `target` of a plan, given the tokens of the first positions."""
        if target >= plan.length:
            return torch.zeros(self.vocab_size)
        assert plan.infilling is not None
        codes = list(plan.infilling.known)
        for cell, token in zip(plan.cells, path, strict=False):
            codes[cell] = token
        return self.logits_at(codes, plan.cells[target])

    def forward(
        self,
        ctx: ToyContext,
        tokens: Tensor,
        parents: Sequence[int] | None = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        if not isinstance(ctx, InfillContext):
            return super().forward(ctx, tokens, parents, targets)
        window = tokens.tolist()
        root: list[int] = [] if ctx.kept is None else [*ctx.kept, window[0]]
        ctx.paths = [root]
        for row in range(1, len(window)):
            parent = row - 1 if parents is None else parents[row]
            if parent == row:
                assert window[row] == window[0], "it stands in the root's place"
                ctx.paths.append(root)
            else:
                ctx.paths.append([*ctx.paths[parent], window[row]])
        asked = [len(path) for path in ctx.paths]
        if targets is not None:
            assert int(targets[0]) == asked[0], "the root asks for the position after it"
            asked = targets.tolist()
        rows = zip(ctx.paths, asked, strict=True)
        return torch.stack([self.logits_of(ctx.plan, path, target) for path, target in rows])

    def keep(self, ctx: ToyContext, rows: Sequence[int], frontier: int | None = None) -> None:
        if isinstance(ctx, InfillContext):
            ctx.done += len(rows)
            if ctx.done == ctx.plan.length:
                return  # nothing reads these rows
        super().keep(ctx, rows, frontier)

    def joint_distribution(self, plan: Plan | None = None) -> dict[tuple[int, ...], float]:
        """Every filling, in the order of its positions, with its exact probability."""
        if plan is None or plan.infilling is None:
            return super().joint_distribution(plan)
        joint = {}
        for tokens in itertools.product(range(self.vocab_size), repeat=plan.length):
            chance = 1.0
            for i, token in enumerate(tokens):
                logits = self.logits_of(plan, tokens[:i], i)
                chance *= float(torch.softmax(logits.double(), -1)[token])
            joint[tokens] = chance
        return joint

    def logits_at(self, codes: Sequence[int], cell: int) -> Tensor:
        """Of a cell, given the codes of all, MASKED where they are not known."""
        index = 0
        for code in codes:
            index = index * (self.vocab_size + 1) + (self.vocab_size if code == MASKED else code)
        return self.table[index, cell]


class InfillContext(ToyContext):
    """`done`: how many rows are permanent."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.done = 0


def infilling(mask: Sequence[bool], order: str, codes: int, seed: int = 0) -> Infilling:
    """An infilling whose known cells hold arbitrary codes."""
    generator = torch.Generator().manual_seed(seed)
    known = torch.randint(codes, (len(mask),), generator=generator).tolist()
    return Infilling.of_mask(known, mask, order)
