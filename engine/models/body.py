"""BodyModel: the adapter of any Llama-like transformers body, run with a 4D mask, explicit position
ids and our KV cache.

A family's file has what differs: its prompt rows, embedding, head, forced tokens and pixels.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from engine.clock import to_device
from engine.core import Parents, Plan
from engine.infilling import Fills
from engine.models.base import MAX_ROWS, ImageModel
from engine.models.cache import WindowCache, ancestors
from engine.models.lean import LeanBody
from engine.models.onnx_body import Body, fastest_body
from engine.models.slots import Slot
from engine.models.supply.card import ModelCard

BUCKET = 256  # slots: with static shapes, bodies attend to a multiple of so many


@dataclass(frozen=True, slots=True)
class Prompt:
    """Prompt rows as embeddings [R, P, D], conditional row first; `start` is the length of each
    row's left padding. Raises ValueError for shapes that do not fit."""

    embeddings: Tensor
    start: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.embeddings.dim() != 3 or len(self.start) != len(self.embeddings):
            raise ValueError(
                f"prompt rows {tuple(self.embeddings.shape)} and starts {self.start} do not fit"
            )


class BodyContext:
    """Per-lane state: plan, prompt, KV cache and committed length; `hidden` [R, L, D] are the last
    window's hidden states. R is 1 without guidance, and behind the guided tokens. `prompt` is the
    text's inputs and those of what is known; `text` is how many the text's are, `inputs` how many a
    row has."""

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
        self.rows, self.length = prompt.embeddings.shape[:2]
        # Of each position its slot; then the one that padding asks for; last the root's.
        behind = max(plan.slots) + 1
        self.slots = slot.place(
            "slots", torch.tensor([*plan.slots, behind, plan.root], device=device)
        )
        # And of what the cache holds, in its order, the place: the text's rows, then slots. With
        # several fronts also of the last window's rows, and of those that are kept.
        known = (text + slot for slot, _ in plan.known for _ in range(inputs))
        places = [*range(text), *known]
        unused = [0] * (cache.slots - len(places))
        self.cached = slot.place("cached", torch.tensor([*places, *unused], device=device))
        self.standing = slot.place("standing", torch.zeros_like(self.cached))
        self.start = slot.place("start", torch.tensor(prompt.start, device=device))
        # How many rows the text has, and the prompt, as a captured graph reads them.
        self.behind = slot.place("behind", torch.tensor(text, device=device))
        self.origin = slot.place("origin", torch.tensor(self.length, device=device))
        # What padding adds to the attention mask of every row, [R, 1, 1, slots]. A drafter's trees
        # reach further than the cache.
        slots = torch.arange(cache.slots + MAX_ROWS, device=device)
        padding = slots < self.start[:, None, None, None]
        least = torch.finfo(prompt.embeddings.dtype).min
        self.padding = slot.place("padding", padding.to(prompt.embeddings.dtype) * least)
        # Where rows may ask ahead: what stands in the root's place in the first window, [R, 1, D].
        self.root: Tensor | None = None
        self.hidden: Tensor | None = None
        self.prompt_hidden: Tensor | None = None  # of the prompt but its last row, for a drafter
        self.drafter_cache: WindowCache | None = None
        # States that the drafter predicted [R, 1 + T, D]: after the last committed token and T
        # drafts of a tree, of a chain after the newest draft alone. And which of the drafts each
        # of a tree's rows attends to, bool [1 + T, T].
        self.drafted: Tensor | None = None
        self.branches: Tensor | None = None

    @property
    def committed(self) -> int:
        """Image positions in the cache, and the root's own, which the next window brings."""
        return max(0, self.cache.base - self.length + 1) // self.inputs

    @property
    def prompt_rows(self) -> int:
        """Prompt inputs before the root in the next window: all but the last in the first window,
        then none."""
        return 0 if self.cache.base else self.length - 1

    def attended(self, rows: int) -> tuple[int, int]:
        return self.rows, self.cache.reach(self.prompt_rows + self.inputs * rows)

    def guide(
        self, logits: Tensor, positions: Tensor, guidance: float | Tensor | None = None
    ) -> Tensor:
        """Logits [R, L, V] of rows that ask for sequence positions [L] to [L, V], with guidance
        where it applies: the lane's, or one of each row [L, 1]."""
        mixed = guide(logits, self.guidance if guidance is None else guidance)
        if self.rows == 1 or not self.guided_tokens:
            return mixed
        guided = (positions < self.guided_tokens)[:, None]
        return torch.where(guided, mixed, logits[0].to(mixed.dtype))

    def advance(self, frontier: int) -> None:
        """The unconditional row leaves the batch where no position from `frontier` on is guided.
        Its part of the caches stays allocated until `close`: freeing it would copy the rest."""
        if self.rows == 1 or not 0 < self.guided_tokens <= frontier:
            return
        self.rows, self.start, self.padding = 1, self.start[:1], self.padding[:1]
        self.prompt = Prompt(self.prompt.embeddings[:1], self.prompt.start[:1])
        self.hidden = None if self.hidden is None else self.hidden[:1]
        self.prompt_hidden = None if self.prompt_hidden is None else self.prompt_hidden[:1]
        self.cache.narrow()
        if self.drafter_cache is not None:
            self.drafter_cache.narrow()

    def close(self) -> None:
        self.hidden = self.prompt_hidden = self.drafter_cache = None
        self.drafted = self.branches = None
        self.cache = None  # type: ignore[assignment]  # a closed context is not used again


class BodyModel(ImageModel):
    """An ImageModel over a body that transformers has loaded, run by a LeanBody or, where there
    are `graphs` of its layers, by ONNX Runtime."""

    body: PreTrainedModel
    dtype: torch.dtype
    fills_in = Fills.BELOW
    inputs = 1  # of the body's sequence, in each row of a window
    card: ModelCard | None = None  # of a public model at its true size
    # Whole pictures that `pixels` decodes together, or smaller ones of as many cells; a card's
    # working memory is for one.
    together: int = 1
    graphs: Path | None = None  # their folder; for prompts without padding alone

    @cached_property
    def lean(self) -> LeanBody:
        """Built in the first `start`: on ZeroGPU, the device is there no sooner."""
        return LeanBody(self.body.layers, self.body.norm, self.body.rotary_emb)

    @cached_property
    def run_layers(self) -> Body:
        return fastest_body(self.lean, self.graphs)

    @property
    def runtime(self) -> str:
        """What runs the layers, where it is not PyTorch: on a GPU once they have run."""
        runs = "run_layers" in vars(self) or self.graphs
        return self.run_layers.runtime if runs else ""

    @cached_property
    def _chain(self) -> tuple[Tensor, Tensor]:
        """`shape` of the longest window's chain, of which others' is the beginning."""
        return self._chain_of(self.inputs * MAX_ROWS)

    def _chain_of(self, length: int) -> tuple[Tensor, Tensor]:
        depths = torch.arange(length, device=self.device)
        return depths, additive_mask(depths <= depths[:, None], self.dtype)

    def shape(self, parents: Parents, length: int) -> tuple[Tensor, Tensor]:
        """How far below the root each of a window's rows is, [L], and their additive mask
        [L, L]."""
        if parents is None:
            # Behind a drafter's prompt there are more.
            depths, mask = self._chain
            if length > len(depths):
                depths, mask = self._chain_of(length)
            return depths[:length], mask[:length, :length]
        return _tree(parents, self.device, self.dtype)

    @abstractmethod
    def prompt(self, text: str, guided: bool) -> Prompt:
        """The prompt's rows: conditional, and unconditional too if guided."""

    @abstractmethod
    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens [L] at sequence positions [L] to embeddings [L, D]."""

    @abstractmethod
    def head(self, hidden: Tensor) -> Tensor:
        """States [R, L, D] to logits over image codes [R, L, V]."""

    @abstractmethod
    def decode(self, codes: Tensor) -> Tensor:
        """Codes [B, h, w], any h and w, on the device, to pixels [B, 3, H, W] in about -1 .. 1."""

    @torch.inference_mode()
    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        codes = torch.as_tensor(np.asarray(tokens), dtype=torch.long, device=self.device)
        cells = self.together * self.grid[0] * self.grid[1]
        most = max(1, cells // (codes.shape[-2] * codes.shape[-1]))
        some = torch.split(codes if codes.dim() == 3 else codes[None], most)
        try:
            drawn = [((self.decode(c).clamp(-1, 1) + 1) * 127.5).round().byte().cpu() for c in some]
        except torch.OutOfMemoryError as error:
            raise MemoryError(f"no memory is left on {self.device} for a picture") from error
        pictures = torch.cat(drawn).permute(0, 2, 3, 1).numpy()
        return pictures if codes.dim() == 3 else pictures[0]

    def embed_rows(
        self, ctx: BodyContext, tokens: Tensor, slots: Tensor, asked: Tensor | None
    ) -> Tensor:
        """A window's rows [L, D], or [R, L, D], of tokens [L] at slots [L]; the root's is -1 in the
        first window of a whole picture. `asked` [L] are the slots that rows ask for, where a plan
        lets them ask ahead."""
        return self.embed(tokens, slots)

    def embed_known(self, tokens: Tensor, slots: Tensor) -> Tensor:
        """The inputs [`inputs` * K, D] of known tokens [K] at slots [K]."""
        return self.embed(tokens, slots)

    def position_ids(self, places: Tensor, start: Tensor) -> Tensor:
        """Position ids [R, T] of places [T], the text's rows and behind them the slots, in rows
        that begin at `start` [R]: padding is not counted."""
        return (places - start[:, None]).clamp_min(0)

    def start(
        self,
        prompt: str,
        guidance: float,
        guided_tokens: int = 0,
        plan: Plan | None = None,
        slot: Slot | None = None,
    ) -> BodyContext:
        rows, plan = self.prompt(prompt, guidance != 1.0), plan or self.plan
        count, text = rows.embeddings.shape[:2]
        if plan.known:
            slots, ids = torch.tensor(plan.known, device=self.device).unbind(1)
            known = self.embed_known(ids, slots).expand(count, -1, -1)
            rows = Prompt(torch.cat([rows.embeddings, known], 1), rows.start)
        lean, slot = self.lean, slot or Slot()
        cache = slot.cache(
            "body",
            len(lean.layers),
            count,
            lean.kv_heads,
            text + self.inputs * (len(plan.known) + plan.length + MAX_ROWS),
            lean.head_dim,
            self.dtype,
            self.device,
            BUCKET if self.static else 1,
        )
        return BodyContext(plan, rows, text, guidance, guided_tokens, cache, slot, self.inputs)

    def forward(
        self,
        ctx: BodyContext,
        tokens: Tensor,
        parents: Parents = None,
        targets: Tensor | None = None,
    ) -> Tensor:
        plan, before, length = ctx.plan, ctx.prompt_rows, len(tokens)
        ctx.cache.open(before + length)
        depths, tree = self.shape(None if plan.fronts else parents, length)
        positions = ctx.cache.first + depths - ctx.origin
        if before:
            positions += before
        # Rows behind the image's end are of no use, but a table has no entry for them.
        positions = positions.clamp_max(plan.length - 1)
        if targets is None:
            targets = positions + 1
        if plan.fronts:
            slots = ctx.slots[targets] - 1
        else:
            slots = ctx.slots[positions] if plan.ahead else positions + (plan.root + 1)
        asked = ctx.slots[targets.clamp_max(plan.length - 1)] if plan.ahead else None
        embedded = self.embed_rows(ctx, tokens, slots, asked).expand(ctx.rows, -1, -1)
        places = slots + ctx.behind
        if not ctx.cache.base:
            # The first window's root is the prompt's last token, whatever stands for it.
            embedded = torch.cat([ctx.prompt.embeddings, embedded[:, 1:]], 1)
            places = torch.cat([ctx.cached[:before], places])
        if plan.fronts:
            mask: Tensor | None = self._fronts(ctx, places, before, parents)
        else:
            mask = self._mask(ctx, before, tree)
        queries = None
        if asked is not None:
            standing = torch.cat([ctx.cached[:before], asked + ctx.behind - 1])
            queries = self.position_ids(standing, ctx.start)
        ids = self.position_ids(places, ctx.start)
        hidden = self.run_layers(embedded, mask, ids, ctx.cache, queries)
        ctx.hidden = hidden[:, -length:]
        if before and self.drafter is not None and not plan.infilling:
            ctx.prompt_hidden = hidden[:, :before]
        return ctx.guide(self.head(ctx.hidden), targets)

    def _fronts(self, ctx: BodyContext, places: Tensor, before: int, parents: Parents) -> Tensor:
        """Additive mask [R, 1, T, end] of a window's rows at places [T], the first `before` of them
        prompt rows. Each sees what stands no later, of the window's drafts those it follows."""
        cache = ctx.cache
        ctx.standing[: len(places)] = places
        there, behind = ctx.cached[: cache.end], torch.iinfo(torch.long).max
        there = torch.where(cache.hidden(0), behind, there).index_copy(0, cache.window, places)
        seen = there <= places[:, None]
        if parents is not None:
            others = _others(parents, self.device)
            hidden = torch.zeros_like(seen[before:]).index_copy(1, cache.window[before:], others)
            seen[before:] &= ~hidden
        least = torch.finfo(self.dtype).min
        mask = torch.where(seen, ctx.padding[..., : cache.end], least)
        # A padding row sees itself alone: a row that sees nothing would be a row of NaN.
        return torch.where(there == places[:, None], 0.0, mask).to(self.dtype)

    def _mask(self, ctx: BodyContext, before: int, tree: Tensor) -> Tensor | None:
        """Additive mask [R, 1, T, end] for a window of `before` prompt rows, then a tree with its
        mask [L, L]; None where nothing is masked."""
        cache = ctx.cache
        if len(tree) == 1 and not before and cache.bucket == 1 and not any(ctx.prompt.start):
            return None
        least = torch.finfo(self.dtype).min
        rows = torch.where(cache.hidden(before), least, ctx.padding[..., : cache.end])
        mask = rows.expand(-1, -1, before + len(tree), -1).clone()
        tree = tree.expand(ctx.rows, 1, -1, -1)
        mask[:, :, before:].index_copy_(3, cache.window[before:], tree)
        if before:
            later = torch.ones(before, before, dtype=torch.bool, device=self.device).triu(1)
            mask[:, :, :before, :before].masked_fill_(later, least)
            # A padding row sees itself alone: a row that sees nothing would be a row of NaN.
            mask[:, :, :before, :before].diagonal(dim1=-2, dim2=-1).zero_()
        return mask

    def keep(self, ctx: BodyContext, rows: Sequence[int], frontier: int | None = None) -> None:
        before, base = ctx.prompt_rows, ctx.cache.base
        parts = range(self.inputs)
        kept = [*range(before), *(before + self.inputs * row + n for row in rows for n in parts)]
        ctx.cache.keep(kept)
        if ctx.plan.fronts:
            chosen = to_device(torch.tensor(kept), self.device)
            ctx.cached[base : base + len(kept)] = ctx.standing[chosen]
        ctx.advance(ctx.committed if frontier is None else frontier)


# A graph that is captured finds its tree on the device.
@functools.lru_cache(maxsize=256)
def _tree(
    parents: tuple[int, ...], device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    seen = ancestors(parents)
    return (seen.sum(1) - 1).to(device), additive_mask(seen, dtype).to(device)


@functools.lru_cache(maxsize=256)
def _others(parents: tuple[int, ...], device: torch.device) -> Tensor:
    """Which rows of a window are drafts that a row does not follow, bool [L, L]."""
    drafts = torch.tensor([row != parent for row, parent in enumerate(parents)])
    return (drafts & ~ancestors(parents)).to(device)


def additive_mask(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to the attention scores where bool `seen` says which slots a row attends to."""
    return torch.zeros_like(seen, dtype=dtype).masked_fill_(~seen, torch.finfo(dtype).min)


def guide(logits: Tensor, guidance: float | Tensor) -> Tensor:
    """Classifier-free guidance on raw logits [R, L, V], conditional row first: u + s (c - u),
    [L, V] in float32, or in float64 where the network is; one s for all, or one a row [L, 1]."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return logits[0] if len(logits) == 1 else logits[1] + guidance * (logits[0] - logits[1])
