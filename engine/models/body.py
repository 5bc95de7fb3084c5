"""BodyModel: the adapter of any Llama-like transformers body, run with a 4D mask, explicit position
ids and our KV cache.

A family's file has what differs: its prompt rows, embedding, head, forced tokens and pixels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from engine.cache import WindowCache, ancestors
from engine.models.base import ImageModel
from engine.models.lean import LeanBody

MAX_WINDOW = 128


@dataclass(frozen=True, slots=True)
class Prompt:
    """Prompt rows as embeddings [R, P, D], conditional row first; `start` [R] is the length of each
    row's left padding. Raises ValueError for shapes that do not fit."""

    embeddings: Tensor
    start: Tensor

    def __post_init__(self) -> None:
        if self.embeddings.dim() != 3 or self.start.shape != self.embeddings.shape[:1]:
            raise ValueError(
                f"prompt rows {tuple(self.embeddings.shape)} and starts {tuple(self.start.shape)}"
                " do not fit"
            )


class BodyContext:
    """Per-lane state: prompt, KV cache and committed length; `hidden` [R, L, D] are the last
    window's hidden states."""

    def __init__(self, prompt: Prompt, guidance: float, cache: WindowCache) -> None:
        self.prompt, self.guidance, self.cache = prompt, guidance, cache
        self.committed = 0
        self.hidden: Tensor | None = None
        self.drafter_cache: WindowCache | None = None
        self.drafted: Tensor | None = None  # the drafter's last predicted hidden state [R, 1, D]

    @property
    def prompt_rows(self) -> int:
        """Prompt rows before the root in the next window: all but the last in the first window,
        then none."""
        return 0 if self.cache.base else self.prompt.embeddings.shape[1] - 1

    def close(self) -> None:
        self.hidden = self.drafter_cache = self.drafted = None
        self.cache = None  # type: ignore[assignment]  # a closed context is not used again


class BodyModel(ImageModel):
    """An ImageModel over a body that transformers has loaded, run by a LeanBody."""

    body: PreTrainedModel
    dtype: torch.dtype

    @cached_property
    def lean(self) -> LeanBody:
        """Built in the first `start`: on ZeroGPU, the device is there no sooner."""
        return LeanBody(self.body.layers, self.body.norm, self.body.rotary_emb)

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
        drawn = self.decode(codes if codes.dim() == 3 else codes[None])
        pictures = (
            ((drawn.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).cpu().numpy()
        )
        return pictures if codes.dim() == 3 else pictures[0]

    def position_ids(self, slots: Tensor, start: Tensor) -> Tensor:
        """Position ids [R, T] of cache slots [T] in rows that begin at `start` [R]: padding is not
        counted."""
        return (slots - start[:, None]).clamp_min(0)

    def start(self, prompt: str, guidance: float) -> BodyContext:
        rows = self.prompt(prompt, guidance != 1.0)
        count, length = rows.embeddings.shape[:2]
        lean, slots = self.lean, length + self.length + MAX_WINDOW
        cache = WindowCache(
            len(lean.layers), count, lean.kv_heads, slots, lean.head_dim, self.dtype, self.device
        )
        return BodyContext(rows, guidance, cache)

    def forward(
        self, ctx: BodyContext, tokens: Tensor, parents: Sequence[int] | None = None
    ) -> Tensor:
        before, length = ctx.prompt_rows, len(tokens)
        seen = ancestors(parents, length)
        depth = (seen.sum(1) - 1).to(self.device)
        positions = ctx.committed - 1 + depth
        if ctx.committed == 0:
            drafts = self.embed(tokens[1:], positions[1:])
            fed = torch.cat(
                [ctx.prompt.embeddings, drafts.expand(len(ctx.prompt.start), -1, -1)], 1
            )
        else:
            fed = self.embed(tokens, positions).expand(len(ctx.prompt.start), -1, -1)
        ctx.cache.open(before + length)
        slot = torch.cat(
            [torch.arange(before, device=self.device), ctx.cache.base + before + depth]
        )
        hidden = self.lean(
            fed, self._mask(ctx, before, seen), self.position_ids(slot, ctx.prompt.start), ctx.cache
        )
        ctx.hidden = hidden[:, -length:]
        return guide(self.head(ctx.hidden), ctx.guidance)

    def _mask(self, ctx: BodyContext, before: int, seen: Tensor) -> Tensor:
        """Additive mask [R, 1, T, base + T] for a window of `before` prompt rows, then a tree."""
        # All on the device: a copy from it would wait for the work that is under way.
        length, base = len(seen), ctx.cache.base
        visible = torch.ones(
            before + length, base + before + length, dtype=torch.bool, device=self.device
        )
        visible[:before, base:] = visible[:before, base:].tril()
        visible[before:, base + before :] = seen.to(self.device)
        slots = torch.arange(visible.shape[1], device=self.device)
        padding = slots < ctx.prompt.start[:, None]
        # A padding row sees itself alone: a row that sees nothing at all would be a row of NaN.
        itself = slots == base + torch.arange(before + length, device=self.device)[:, None]
        allowed = (visible[None] & ~padding[:, None]) | itself
        mask = torch.zeros(allowed.shape, dtype=self.dtype, device=self.device)
        return mask.masked_fill_(~allowed, torch.finfo(self.dtype).min)[:, None]

    def keep(self, ctx: BodyContext, rows: Sequence[int]) -> None:
        before = ctx.prompt_rows
        ctx.cache.keep([*range(before), *(before + row for row in rows)])
        ctx.committed += len(rows)


def guide(logits: Tensor, guidance: float) -> Tensor:
    """Classifier-free guidance on raw logits [R, L, V], conditional row first: u + s (c - u),
    float32 [L, V]."""
    logits = logits.float()
    return logits[0] if len(logits) == 1 else logits[1] + guidance * (logits[0] - logits[1])
