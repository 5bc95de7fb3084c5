"""Small models with known distributions, all of whose sequences can be enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from engine.core import Plan
from engine.infilling import MASKED, Fills, Infilling
from engine.models.base import ImageModel
from engine.models.slots import Slot
from engine.settings import Sampling

CLASSES = 64  # of more codes than this, those that are equal modulo it lead to the same logits


class ToyContext:
    """Context of one decode with a toy.

    `kept` has the permanent tokens: all committed tokens except the newest, which is the next
    window's root. `paths` has, for each row of the last window, the tokens that the row's
    distribution is conditioned on. `guided` has the lane's guidance, and how many tokens it guides.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.kept: list[int] | None = None
        self.paths: list[list[int]] = []
        self.draft_paths: list[list[int]] = []  # the sequences after which a drafter has predicted
        self.closed = False
        self.guided = 1.0, 0

    def attended(self, rows: int) -> int:
        return 0  # it has no cache

    def keep(self, rows: Sequence[int], frontier: int | None = None) -> None:
        assert rows, "a pass commits a token at least"
        for before, row in itertools.pairwise(rows):
            assert self.paths[row][:-1] == self.paths[before], "kept rows are one path"
        self.kept = self.paths[rows[-1]]

    def close(self) -> None:
        self.paths, self.closed = [], True


class ToyDrafter:
    """Drafter of a toy: a second-order Markov source over the same codes, with its own logits."""

    def __init__(self, codes: int, seed: int) -> None:
        self.logits = _table(codes, seed)

    def extend(self, ctx: ToyContext, rows: Sequence[int], tokens: Tensor) -> Tensor:
        assert ctx.kept is not None, "a drafter drafts after a committed token"
        ctx.draft_paths = [[*ctx.kept, int(tokens[-1])]]
        assert ctx.draft_paths[0][-len(tokens) :] == tokens.tolist(), (
            "the drafter reads what was committed"
        )
        return self._logits(ctx.draft_paths)[0]

    def next(self, ctx: ToyContext, token: Tensor) -> Tensor:
        ctx.draft_paths = [[*ctx.draft_paths[-1], int(token)]]
        return self._logits(ctx.draft_paths)[0]

    def expand(self, ctx: ToyContext, tokens: Tensor, parents: Tensor) -> Tensor:
        above = [ctx.draft_paths[parent] for parent in parents.tolist()]
        new = [[*path, token] for path, token in zip(above, tokens.tolist(), strict=True)]
        assert len({len(path) for path in new}) == 1, "all at one depth"
        ctx.draft_paths = [*ctx.draft_paths, *new]
        return self._logits(new)

    def _logits(self, paths: list[list[int]]) -> Tensor:
        return torch.stack([self.logits[_state(path, self.logits.shape[-1])] for path in paths])


def _table(codes: int, seed: int) -> Tensor:
    """Return logits [C + 1, C + 1, codes] by the classes of the last two tokens.

    C is the number of classes, and index C stands for a token that is missing or forced.
    """
    generator, classes = torch.Generator().manual_seed(seed), min(codes, CLASSES)
    return 1.2 * torch.randn(classes + 1, classes + 1, codes, generator=generator)


def _state(tokens: Sequence[int], codes: int) -> tuple[int, int]:
    missing = min(codes, CLASSES)
    last = [token % CLASSES if 0 <= token < codes else missing for token in tokens[-2:]]
    before, newest = [missing, missing, *last][-2:]
    return before, newest


class Toy(ImageModel):
    """Model whose tokens, on a grid, come from a second-order Markov source of `codes` codes.

    With `forced`, an end-of-line id follows each row. Of more than CLASSES codes, those that are
    equal modulo CLASSES lead to the same distribution of the next tokens.
    """

    def __init__(
        self, grid: tuple[int, int] = (2, 2), codes: int = 3, *, forced: bool = False, seed: int = 0
    ) -> None:
        self.name, self.grid, self.vocab_size = "toy", grid, codes
        self.device = torch.device("cpu")
        self.codebook = torch.randn(codes, 2, generator=torch.Generator().manual_seed(seed + 1))
        row = [-1] * grid[1] + [codes + 5] * forced
        self.forced_ids = torch.tensor(row * grid[0])
        self.logits = _table(codes, seed)
        self.drafter = ToyDrafter(codes, seed + 7)
        self.sampling = Sampling(guidance=1.0, top_k=0)

    def start(
        self,
        prompt: str,
        guidance: float,
        guided_tokens: int = 0,
        plan: Plan | None = None,
        slot: Slot | None = None,
    ) -> ToyContext:
        plan = plan or self.plan
        ctx = FrontsContext(plan) if plan.fronts else ToyContext(plan)
        ctx.guided = guidance, guided_tokens
        return ctx

    def forward(
        self,
        ctx: ToyContext,
        tokens: Tensor,
        parents: Sequence[int] | None = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        window = tokens.tolist()
        if isinstance(ctx, FrontsContext):
            assert targets is not None, "rows of several fronts say what they ask for"
            places, seen = targets.tolist(), ctx.read(window, targets.tolist(), parents)
            paths = [[row[slot] for slot in sorted(row)] for row in seen]
            rows = zip(paths, places, strict=True)
            return torch.stack([self.logits_after(path, place, ctx.guided) for path, place in rows])
        known = [token for _, token in ctx.plan.known]
        ctx.paths = [known if ctx.kept is None else [*ctx.kept, window[0]]]
        for row in range(1, len(window)):
            ctx.paths.append(
                [*ctx.paths[row - 1 if parents is None else parents[row]], window[row]]
            )
        paths = ctx.paths
        return torch.stack([self.logits_after(path, len(path), ctx.guided) for path in paths])

    def logits_after(self, tokens: Sequence[int], place: int, guided: tuple[float, int]) -> Tensor:
        """Return the logits [V] in slot `place`, given the tokens that are seen before it.

        `guided` has the guidance, and how many tokens it guides. A Toy has no use for it.
        """
        return self.logits[_state(tokens, self.vocab_size)]

    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        shade = (tokens * 255 // max(1, self.vocab_size - 1)).astype(np.uint8)
        return np.repeat(np.repeat(shade, 8, -2), 8, -1)[..., None].repeat(3, -1)

    def distribution(self, tokens: Sequence[int]) -> Tensor:
        """Return p [V] after `tokens`, with `sampling`'s temperature, top-k and top-p."""
        guided = self.sampling.guidance, self.sampling.guided_tokens
        logits = self.logits_after(tokens, len(tokens), guided) / self.sampling.temperature
        least = logits.topk(self.sampling.top_k or self.vocab_size).values[-1]
        p = torch.softmax(logits.masked_fill(logits < least, -torch.inf), -1)
        if self.sampling.top_p == 1:
            return p
        likelier = torch.stack([p[p > each].sum() for each in p])
        kept = p.masked_fill(likelier >= self.sampling.top_p, 0)
        return kept / kept.sum()

    def conditional(self, plan: Plan, tokens: Sequence[int]) -> Tensor:
        """Return p [V] for the position that follows these tokens in the plan."""
        return self.distribution([*(token for _, token in plan.known), *tokens])

    def joint_distribution(self, plan: Plan | None = None) -> dict[tuple[int, ...], float]:
        """Return the exact probability of every whole sequence of a plan, forced ids included."""
        plan, probabilities = plan or self.plan, {}
        free = [i for i, token in enumerate(plan.forced) if token < 0]
        for codes in itertools.product(range(self.vocab_size), repeat=len(free)):
            sequence = list(plan.forced)
            for i, code in zip(free, codes, strict=True):
                sequence[i] = code
            chance = 1.0
            for i in free:
                chance *= float(self.conditional(plan, sequence[:i])[sequence[i]])
            probabilities[tuple(sequence)] = chance
        return probabilities


class FrontsContext(ToyContext):
    """Context of a plan that draws several rows of the grid at once (`Plan.fronts`).

    Each grid row in progress has a front: a root and the window rows that follow it. A window row
    sees the permanent tokens, the roots of all fronts, and the drafts that it follows. But it sees
    nothing in a slot after its own. Of the tokens that it sees, the two in the highest slots decide
    its distribution.

    Attributes:
        there: the permanent tokens by their slots.
        window: the slots and tokens of the last window.
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.there: dict[int, int] = {}
        self.window: list[tuple[int, int]] = []

    def read(
        self, tokens: list[int], targets: list[int], parents: Sequence[int] | None
    ) -> list[dict[int, int]]:
        """Take in the next window; return the tokens that each of its rows sees, by slot."""
        slots = [*self.plan.slots, self.plan.length + 1]  # padding comes after all others
        self.window = [(slots[n] - 1, token) for n, token in zip(targets, tokens, strict=True)]
        parents = range(len(tokens)) if parents is None else parents
        roots = [row for row, parent in enumerate(parents) if row == parent]
        followed = list[list[int]]()
        for row, parent in enumerate(parents):
            followed.append([] if row == parent else [*followed[parent], row])
        row_tokens = []
        for row, (own, _) in enumerate(self.window):
            seen = dict(self.window[each] for each in (*roots, *followed[row])) | self.there
            row_tokens.append({at: token for at, token in seen.items() if 0 <= at <= own})
        return row_tokens

    def keep(self, rows: Sequence[int], frontier: int | None = None) -> None:
        kept = dict(self.window[row] for row in rows)
        assert not kept.keys() & self.there.keys(), "a slot is kept once"
        self.there = self.there | {at: token for at, token in kept.items() if at >= 0}


class InfillToy(Toy):
    """Model in which each cell's distribution, given the other cells' codes, is arbitrary.

    These distributions fit no common joint distribution. So the joint distribution of a mask's
    cells depends on the order in which they are filled in.
    """

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
        if plan is None or plan.infilling is None or plan.infilling.forks:
            return super().start(prompt, guidance, guided_tokens, plan, slot)
        return InfillContext(plan)

    def logits_of(self, plan: Plan, path: Sequence[int], target: int) -> Tensor:
        """Return the logits of a plan's position `target`; `path` has the plan's first tokens."""
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
        row_targets = [len(path) for path in ctx.paths]
        if targets is not None:
            assert int(targets[0]) == row_targets[0], "the root asks for the position after it"
            row_targets = targets.tolist()
        rows = zip(ctx.paths, row_targets, strict=True)
        return torch.stack([self.logits_of(ctx.plan, path, target) for path, target in rows])

    def conditional(self, plan: Plan, tokens: Sequence[int]) -> Tensor:
        if plan.infilling is None or plan.infilling.forks:
            return super().conditional(plan, tokens)
        return torch.softmax(self.logits_of(plan, tokens, len(tokens)).double(), -1)

    def logits_at(self, codes: Sequence[int], cell: int) -> Tensor:
        """Return the logits of a cell, given all cells' codes; MASKED is an unknown code."""
        index = 0
        for code in codes:
            index = index * (self.vocab_size + 1) + (self.vocab_size if code == MASKED else code)
        return self.table[index, cell]


class InfillContext(ToyContext):
    """Context of an infilling; `done` is the number of window rows that were kept so far."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.done = 0

    def keep(self, rows: Sequence[int], frontier: int | None = None) -> None:
        self.done += len(rows)
        if self.done < self.plan.length:  # otherwise nothing reads these rows
            super().keep(rows, frontier)


def infilling(mask: Sequence[bool], order: str, codes: int, seed: int = 0) -> Infilling:
    """Return an infilling whose known cells hold arbitrary codes."""
    generator = torch.Generator().manual_seed(seed)
    known = torch.randint(codes, (len(mask),), generator=generator).tolist()
    return Infilling.of_mask(known, mask, order)
