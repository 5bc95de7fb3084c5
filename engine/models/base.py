"""ImageModel: what a decoder may ask of a model. Decoders know token ids and laws; prompts and
pixels stay behind this."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from engine.settings import Sampling


class Context(Protocol):
    """One lane's hold on the model: its cache, and how many sequence positions are permanent."""

    def close(self) -> None:
        """Gives the cache back."""


class Drafter(Protocol):
    """An EAGLE-style drafter: guesses the next tokens from the target's last hidden states."""

    def extend(self, ctx: Context, rows: Sequence[int], tokens: Tensor) -> Tensor:
        """Takes in what the target has just committed: the hidden states of the last window's
        `rows` and the token `tokens[i]` that row i led to. Returns logits [V] of the first token to
        draft. One drafter pass."""

    def next(self, ctx: Context, token: Tensor) -> Tensor:
        """After drafting `token` (0-dim): logits [V] of the token after it. One drafter pass."""


class ImageModel(ABC):
    """A model of image codes in raster order.

    Positions 0 .. length - 1 are the sequence the decoders fill in: the grid's codes row by row,
    with, in some models, forced tokens between them, which no decoder samples. `forced_ids[n]` is
    the id forced at position n, or -1. `sampling` are the settings it looks best with.
    """

    name: str
    grid: tuple[int, int]
    vocab_size: int
    codebook: Tensor
    device: torch.device
    forced_ids: Tensor
    sampling: Sampling
    drafter: Drafter | None = None

    @property
    def length(self) -> int:
        """Sequence positions of one picture, forced ones included."""
        return len(self.forced_ids)

    @property
    def cells(self) -> tuple[int, ...]:
        """The grid cell, in raster order, of every sequence position; -1 of a forced one."""
        count = itertools.count()
        return tuple(-1 if token >= 0 else next(count) for token in self.forced_ids.tolist())

    @property
    def stride(self) -> int:
        """Sequence positions from one row of the grid to the next."""
        return self.length // self.grid[0]

    def forced(self, position: int) -> int | None:
        """The token forced at this position, or None where the model is free."""
        token = int(self.forced_ids[position])
        return token if token >= 0 else None

    @abstractmethod
    def start(self, prompt: str, guidance: float) -> Context:
        """Tokenises the prompt and makes an empty cache; the prompt itself goes in with the first
        window."""

    @abstractmethod
    def forward(self, ctx: Context, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        """One forward pass over a window, tokens [L] on the device: row 0 the root, the last
        committed token (in the first window: the prompt's last token, whatever id stands there),
        then the drafts. `parents[i]` is the row that row i follows, for trees; None is a chain.
        Returns logits [L, V], float32, guidance mixed in, image codes only: row i's are those of
        the position after it."""

    @abstractmethod
    def keep(self, ctx: Context, rows: Sequence[int]) -> None:
        """Makes these rows of the last window permanent, root first, and forgets the others."""

    @abstractmethod
    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        """Codes int [h, w], or [B, h, w], to uint8 [8h, 8w, 3] (or the model's own scale), or a
        batch of such."""
