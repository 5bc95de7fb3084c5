"""ImageModel: what a decoder needs of a model. Decoders know token ids and distributions; prompts
and pixels stay behind this."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from engine.core import Parents, Plan
from engine.graphs import Captures
from engine.infilling import Fills, Infilling
from engine.models.slots import Slot, Slots
from engine.plan import anywhere, below, whole
from engine.settings import Sampling

MAX_ROWS = 96  # of a window


class Context(Protocol):
    """Per-lane state: plan, KV cache and committed length. Each model has a class of its own, which
    its other methods and its drafter take."""

    def attended(self, rows: int) -> Hashable:
        """How much of the cache a pass over a window of `rows` rows reads: beside the tokens, all
        of it that is not on the device."""

    def keep(self, rows: Sequence[int], frontier: int | None = None) -> None:
        """Makes these rows of the last window permanent, root first, and discards the others.
        Positions before `frontier` are all committed now: by default those that were, and one a
        row."""

    def close(self) -> None:
        """Lets go of the cache and of what the last window left."""


class Drafter(Protocol):
    """An EAGLE-style drafter: predicts the next tokens from the target's last hidden states."""

    def extend(self, ctx: Any, rows: Sequence[int], tokens: Tensor) -> Tensor:
        """Reads what the target has just committed: the hidden states of the last window's `rows`
        and the token `tokens[i]` that row i led to. Returns logits [V] of the first token to draft.
        One drafter pass."""

    def next(self, ctx: Any, token: Tensor) -> Tensor:
        """After drafting `token` (0-dim): logits [V] of the token after it. One drafter pass."""

    def expand(self, ctx: Any, tokens: Tensor, parents: Tensor) -> Tensor:
        """After drafting `tokens` [W] of a tree, all at the depth behind the last call's: logits
        [W, V] of the token after each. `parents` [W] are the numbers, in the order of the calls,
        of the tokens that they follow, 0 for the last committed one. One drafter pass."""


class ImageModel(ABC):
    """A model of image codes.

    Its slots are the grid's codes row by row, with, in some models, forced tokens between them,
    which no decoder samples: `forced_ids[n]` is the id forced at slot n, or -1. `sampling` are the
    model's recommended settings.
    """

    name: str
    grid: tuple[int, int]
    vocab_size: int
    codebook: Tensor  # [V, D]
    device: torch.device
    forced_ids: Tensor
    sampling: Sampling
    weights: str = ""  # what identifies its weights, where anything does
    dtype: torch.dtype = torch.float32  # in which its layers compute
    drafter: Drafter | None = None
    # Whether windows keep their width to the image's end and the cache is read in buckets, so that
    # the operations of a step are those of the one before it: what a CUDA graph needs.
    static: bool = False
    # How the parts of a lane's steps are captured as graphs, where they are; needs static shapes.
    captures: Captures | None = None
    # Whether decoding a picture takes seconds, as a public model's does on a CPU: a board then
    # decodes those that are finished alone.
    slow_pixels: bool = False
    # Draws as `pixels` does, with its shapes: codes int [h, w] or [B, h, w] to uint8 pictures.
    # Nearly as well and ten times as fast or more, for grids that are still being decoded.
    preview: Callable[[np.ndarray], np.ndarray] | None = None
    fills_in: Fills = Fills.NOTHING
    filler: ImageModel | None = None  # what fills in any cells, where this one does not itself
    swatches: bytes | None = None  # of every code, once drawn: `visualize.pictures.swatches`

    @property
    def runtime(self) -> str:
        """What runs its layers, with the version, where that is not PyTorch."""
        return ""

    @cached_property
    def slots(self) -> Slots:
        """The places of its lanes."""
        return Slots()

    @cached_property
    def plan(self) -> Plan:
        """That of a whole picture."""
        return whole(self.grid, self.forced_ids.tolist())

    def check_prompt(self, text: str) -> None:
        """Raises SettingError for a prompt that the model cannot take, as `start` does."""
        return

    @abstractmethod
    def start(
        self,
        prompt: str,
        guidance: float,
        guided_tokens: int = 0,
        plan: Plan | None = None,
        slot: Slot | None = None,
    ) -> Context:
        """Tokenises the prompt and opens an empty cache, that of `slot` where there is one; the
        prompt itself, and what the plan (by default the whole picture's) says is known, is
        prefilled with the first window. Guidance is for positions before `guided_tokens`, 0 for
        all; the logits of the others are the conditional row's."""

    @abstractmethod
    def forward(
        self, ctx: Any, tokens: Tensor, parents: Parents = None, targets: Tensor | None = None
    ) -> Tensor:
        """One forward pass over a window, tokens [L] on the device: row 0 the root, the last
        committed token (in the first window: the last known one or the prompt's, whatever id stands
        there), then the drafts. `parents[i]` is the row that row i follows, for trees (one that is
        its own parent stands in the root's place); None is a chain. `targets` [L] are the positions
        that rows ask for, by default those after their own. Where a plan has several fronts, a root
        is its own parent, and there may be many; without `parents` all are. A target of `length` is
        padding there.
        Returns logits [L, V], float32 (float64 of a network in float64), guidance mixed in where it
        is for the row's target, image codes only: row i's are those of its target."""

    @abstractmethod
    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        """Codes int [h, w], or [B, h, w], to uint8 [8h, 8w, 3] (or the model's own scale), or a
        batch of such."""


def host_count(model: ImageModel, count: Tensor | int, most: int) -> int:
    """A count as a step may use it on the host: with static shapes, whose steps are the same
    whatever it is, the most that it can be. Elsewhere itself; one on the device [] is waited
    for."""
    return most if model.static else int(count)


def host_rows(model: ImageModel, where: Tensor) -> Tensor | slice:
    """The numbers of the rows of bool `where` [R] that are true, as a step may choose by them: with
    static shapes all. On a device they are waited for."""
    return slice(None) if model.static else where.nonzero()[:, 0]


def planned(model: ImageModel, infilling: Infilling | None) -> tuple[ImageModel, Plan]:
    """What draws a whole picture, or fills in a part, and the plan. Raises SettingError where the
    model cannot, or the infilling does not fit it."""
    if infilling is None:
        return model, model.plan
    infilling.check(model.grid, model.vocab_size)
    infilling.check_model(model.fills_in, model.name)
    if model.fills_in is Fills.BELOW:
        return model, below(model.plan, infilling)
    return model.filler or model, anywhere(model.grid, infilling)
