"""A lane's state on a body: prompt, cache, and the slots of the window's rows."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.clock import to_device
from engine.core import Parents, Plan
from engine.models.base import MAX_ROWS
from engine.models.cache import WindowCache, ancestors
from engine.models.slots import Slot


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt's guidance rows as embeddings [R, P, D]: P inputs in each of R rows.

    The conditional row comes first. With guidance the unconditional row follows. `start` is the
    length of each row's left padding. Raises ValueError where `embeddings` and `start` do not fit
    each other.
    """

    embeddings: Tensor
    start: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.embeddings.dim() != 3 or len(self.start) != len(self.embeddings):
            raise ValueError(
                f"prompt rows {tuple(self.embeddings.shape)} and starts {self.start} do not fit"
            )


class BodyContext:
    """Per-lane state: plan, prompt, KV cache and committed length.

    Shapes: R guidance rows, L rows of a window, V codes.

    Attributes:
        hidden: the last window's hidden states [R, L, D].
        batch: R, the number of guidance rows: 1 without guidance and after the guided tokens.
        prompt: the inputs of the text and of the known tokens.
        text: the number of the text's inputs.
        inputs: the number of inputs in each row of a window.
    """

    def __init__(
        self,
        plan: Plan,
        prompt: Prompt,
        text: int,
        guidance: float,
        guided_tokens: int,
        cache: WindowCache,
        slot: Slot,
        inputs: int = 1,
    ) -> None:
        self.plan, self.prompt, self.text, self.cache, self.slot = plan, prompt, text, cache, slot
        self.guidance, self.guided_tokens, self.inputs = guidance, guided_tokens, inputs
        device = prompt.embeddings.device
        self.batch, self.length = prompt.embeddings.shape[:2]
        # `slots` has the slot of each position, then the slot that padding asks for, then the
        # root's. `asking` has the slot of the row that asks for each position: one slot before.
        slots = torch.tensor([*plan.slots, max(plan.slots) + 1, plan.root], device=device)
        self.slots = slot.place("slots", slots)
        self.asking = slot.place("asking", slots[:-1] - 1)
        # `cached` has the place of each input in the cache: the text's, then the known tokens'.
        known = (text + slot for slot, _ in plan.known for _ in range(inputs))
        places = [*range(text), *known]
        unused = [0] * (cache.slots - len(places))
        self.cached = slot.place("cached", torch.tensor([*places, *unused], device=device))
        self.start = slot.place("start", torch.tensor(prompt.start, device=device))
        # Lengths of the text and of the prompt, as tensors that a captured graph can read.
        self.behind = slot.place("behind", torch.tensor(text, device=device))
        self.origin = slot.place("origin", torch.tensor(self.length, device=device))
        # The part of every row's attention mask that hides padding, [R, 1, 1, slots]. It is wider
        # than the cache, because a drafter's trees reach further.
        slots = torch.arange(cache.slots + MAX_ROWS, device=device)
        padding = slots < self.start[:, None, None, None]
        self.least = torch.finfo(prompt.embeddings.dtype).min
        self.padding = slot.place("padding", padding.to(prompt.embeddings.dtype) * self.least)
        # If rows may ask ahead: the first window's input in the root's place, [R, 1, D].
        self.root: Tensor | None = None
        self.hidden: Tensor | None = None
        self.prompt_hidden: Tensor | None = None  # of all prompt rows but the last, for a drafter
        self.drafter_cache: WindowCache | None = None
        # States that the drafter predicted. In a tree [R, 1 + T, D]: after the last committed
        # token and after each of T drafts. In a chain [R, 1, D]: after the newest draft alone.
        # `branches` tells which drafts each row of a tree attends to, bool [1 + T, T].
        self.drafter_states: Tensor | None = None
        self.branches: Tensor | None = None

    @property
    def committed(self) -> int:
        """Number of image positions committed.

        Their tokens are in the cache, except the root, which enters the cache with the next window.
        """
        return max(0, self.cache.base - self.length + 1) // self.inputs

    @property
    def prompt_rows(self) -> int:
        """Number of prompt inputs before the root in the next window.

        In the first window these are all prompt inputs but the last; in later windows there are
        none.
        """
        return 0 if self.cache.base else self.length - 1

    def attended(self, rows: int) -> tuple[int, int]:
        return self.batch, self.cache.reach(self.prompt_rows + self.inputs * rows)

    def positions(self, parents: Parents, length: int) -> Tensor:
        """Return the position [L] of each row's own token, at most the image's last position."""
        depths, _ = shape(parents, length, self.padding)
        first = (self.cache.first + self.prompt_rows - self.origin) // self.inputs
        return (first + depths).clamp_max(self.plan.length - 1)

    def standing(self, parents: Parents, targets: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the slot [L] of each row, and the slot [L] that each row asks for.

        `targets` [L] has the position that each row asks for. The second result is None if each row
        asks for the slot after its own.
        """
        return self.asking[targets], None

    def mask(self, places: Tensor, before: int, parents: Parents) -> Tensor | None:
        """Return a window's additive attention mask [R, 1, T, end]; None if it would hide nothing.

        T is the number of the window's inputs, and `end` that of the cache's attended slots.

        Args:
            places: the inputs' places [T], as in `BodyModel.position_ids`.
            before: number of prompt inputs at the start of the window.
            parents: the parents of the inputs after the prompt's.
        """
        cache = self.cache
        _, tree = shape(parents, len(places) - before, self.padding)
        if len(tree) == 1 and not before and cache.bucket == 1 and not any(self.prompt.start):
            return None
        rows = torch.where(cache.hidden(before), self.least, self.padding[..., : cache.end])
        mask = rows.expand(-1, -1, len(places), -1).clone()
        tree = tree.expand(self.batch, 1, -1, -1)
        mask[:, :, before:].index_copy_(3, cache.window[before:], tree)
        if before:
            later = torch.ones(before, before, dtype=torch.bool, device=mask.device).triu(1)
            mask[:, :, :before, :before].masked_fill_(later, self.least)
            # A padding row sees only itself, because a row that sees nothing becomes NaN.
            mask[:, :, :before, :before].diagonal(dim1=-2, dim2=-1).zero_()
        return mask

    def keep(self, rows: Sequence[int], frontier: int | None = None) -> None:
        """Make the prompt's inputs and the window's `rows` permanent, as `Context.keep` does."""
        before, parts = self.prompt_rows, range(self.inputs)
        kept = (before + self.inputs * row + n for row in rows for n in parts)
        self._keep_inputs([*range(before), *kept])
        self._advance(self.committed if frontier is None else frontier)

    def _keep_inputs(self, inputs: list[int]) -> None:
        self.cache.keep(inputs)

    def guide(
        self, logits: Tensor, positions: Tensor, guidance: float | Tensor | None = None
    ) -> Tensor:
        """Apply guidance to logits [R, L, V] of rows that ask for the plan's `positions` [L].

        Returns [L, V]. `guidance` [L, 1] has one scale for each row; None means the lane's scale
        for all rows. A row whose position is not guided gets the conditional row's logits. Hidden
        states can be mixed in the same way.
        """
        mixed = guide(logits, self.guidance if guidance is None else guidance)
        if self.batch == 1 or not self.guided_tokens:
            return mixed
        guided = (positions + self.plan.before < self.guided_tokens)[:, None]
        return torch.where(guided, mixed, logits[0].to(mixed.dtype))

    def _advance(self, frontier: int) -> None:
        """Drop the unconditional row if no position from `frontier` on is guided.

        The row's part of the caches stays allocated: freeing this part would copy the rest.
        """
        if self.batch == 1 or not 0 < self.guided_tokens <= frontier + self.plan.before:
            return
        self.batch, self.start, self.padding = 1, self.start[:1], self.padding[:1]
        self.prompt = Prompt(self.prompt.embeddings[:1], self.prompt.start[:1])
        self.hidden = None if self.hidden is None else self.hidden[:1]
        self.prompt_hidden = None if self.prompt_hidden is None else self.prompt_hidden[:1]
        self.cache.narrow()
        if self.drafter_cache is not None:
            self.drafter_cache.narrow()

    def close(self) -> None:
        self.hidden = self.prompt_hidden = self.drafter_cache = None
        self.drafter_states = self.branches = None
        del self.cache  # a closed context is not used again


class AheadContext(BodyContext):
    """The context of a plan whose rows may ask for any position.

    A row's slot is that of its own token, whatever the row asks for.
    """

    def standing(self, parents: Parents, targets: Tensor) -> tuple[Tensor, Tensor | None]:
        target_slots = self.slots[targets.clamp_max(self.plan.length - 1)]
        return self.slots[self.positions(parents, len(targets))], target_slots


class FrontsContext(BodyContext):
    """The context of a plan that draws several rows of the grid at once (`Plan.fronts`).

    A row sees the text, and the committed tokens in slots before the one that the row asks for. Of
    the drafts in such slots, a row sees its own and those of its ancestors by the window's
    `parents`. `cached` has the places of all inputs in the cache: the text's, the known tokens',
    and those kept from windows. `window` has the places of the last window's inputs.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.window = self.slot.place("window", torch.zeros_like(self.cached))

    def mask(self, places: Tensor, before: int, parents: Parents) -> Tensor:
        cache, self.window[: len(places)] = self.cache, places
        there, behind = self.cached[: cache.end], torch.iinfo(torch.long).max
        there = torch.where(cache.hidden(0), behind, there).index_copy(0, cache.window, places)
        seen = there <= places[:, None]
        if parents is not None:
            others = _others(parents, places.device)
            hidden = torch.zeros_like(seen[before:]).index_copy(1, cache.window[before:], others)
            seen[before:] &= ~hidden
        mask = torch.where(seen, self.padding[..., : cache.end], self.least)
        # A padding row sees only itself, because a row that sees nothing becomes NaN.
        return torch.where(there == places[:, None], 0.0, mask).to(self.padding.dtype)

    def _keep_inputs(self, inputs: list[int]) -> None:
        base, chosen = self.cache.base, to_device(torch.tensor(inputs), self.window.device)
        super()._keep_inputs(inputs)
        self.cached[base : base + len(inputs)] = self.window[chosen]


def context_kind(plan: Plan) -> type[BodyContext]:
    """Return the class of a lane's context for this plan."""
    if plan.fronts:
        return FrontsContext
    return AheadContext if plan.ahead else BodyContext


def shape(parents: Parents, length: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the depth [L] of a window's rows below the root, and the rows' additive mask [L, L].

    Both are on the device of `like`, and the mask has the dtype of `like`.
    """
    if parents is not None:
        return _tree(parents, like.device, like.dtype)
    # A drafter that reads the prompt has longer windows than MAX_ROWS.
    depths, mask = _chain(max(length, 2 * MAX_ROWS), like.device, like.dtype)
    return depths[:length], mask[:length, :length]


@functools.lru_cache(maxsize=16)
def _chain(length: int, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    depths = torch.arange(length, device=device)
    return depths, additive_mask(depths <= depths[:, None], dtype)


# Cached, so that the capture of a graph finds its tree on the device.
@functools.lru_cache(maxsize=256)
def _tree(
    parents: tuple[int, ...], device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    seen = ancestors(parents)
    return (seen.sum(1) - 1).to(device), additive_mask(seen, dtype).to(device)


@functools.lru_cache(maxsize=256)
def _others(parents: tuple[int, ...], device: torch.device) -> Tensor:
    """Return, for each row, the drafts other than its own and its ancestors' (bool [L, L])."""
    drafts = torch.tensor([row != parent for row, parent in enumerate(parents)])
    return (drafts & ~ancestors(parents)).to(device)


def additive_mask(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the mask to add to attention scores; `seen` (bool) tells which slots a row sees."""
    return torch.zeros_like(seen, dtype=dtype).masked_fill_(~seen, torch.finfo(dtype).min)


def guide(logits: Tensor, guidance: float | Tensor) -> Tensor:
    """Apply classifier-free guidance, u + s (c - u), to raw logits [R, L, V].

    c is the conditional row, which comes first, and u the unconditional row. s is `guidance`: one
    number, or one for each row of the window [L, 1]. If R is 1 there is no u, and c is the result.
    Returns [L, V] in float32, or in float64 for a network in float64.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return logits[0] if len(logits) == 1 else logits[1] + guidance * (logits[0] - logits[1])
