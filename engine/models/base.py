"""ImageModel: what a decoder needs of a model.

Decoders know token ids and distributions. Prompts and pixels stay behind this interface.
"""

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
    """Per-lane state: plan, KV cache and committed length.

    Each model has its own class, which its other methods and its drafter take.
    """

    def attended(self, rows: int) -> Hashable:
        """Return how much of the cache a pass over a window of `rows` rows reads.

        This is everything about the pass that is not on the device, besides the tokens.
        """

    def keep(self, rows: Sequence[int], frontier: int | None = None) -> None:
        """Make these rows of the last window permanent, root first, and discard the others.

        All positions before `frontier` are committed now. By default these are the earlier ones and
        one for each row.
        """

    def close(self) -> None:
        """Release the cache and the state of the last window."""


class Drafter(Protocol):
    """An EAGLE-style drafter: predicts the next tokens from the target's last hidden states."""

    def extend(self, ctx: Any, rows: Sequence[int], tokens: Tensor) -> Tensor:
        """Read what the target has just committed; return logits [V] of the first token to draft.

        It reads the hidden states of the last window's `rows`, and the token `tokens[i]` to which
        row i led. One drafter pass.
        """

    def next(self, ctx: Any, token: Tensor) -> Tensor:
        """Return logits [V] of the token after the drafted `token` (0-dim). One drafter pass."""

    def expand(self, ctx: Any, tokens: Tensor, parents: Tensor) -> Tensor:
        """Return logits [W, V] of the token after each of `tokens` [W] of a tree. One drafter pass.

        The tokens are one level deeper than those of the last call. `parents` [W] are the tokens
        that they follow, numbered in the order of the calls; 0 is the last committed token.
        """


class ImageModel(ABC):
    """A model of image codes.

    Its slots are the grid's codes row by row. Some models have forced tokens between them, which no
    decoder samples: `forced_ids[n]` is the id forced at slot n, or -1. `sampling` are the model's
    recommended settings.
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
        """Name and version of the runtime of its layers; "" for PyTorch."""
        return ""

    @cached_property
    def slots(self) -> Slots:
        """The places of its lanes."""
        return Slots()

    @cached_property
    def plan(self) -> Plan:
        """The plan of a whole picture."""
        return whole(self.grid, self.forced_ids.tolist())

    def check_prompt(self, text: str) -> None:
        """Raise SettingError for a prompt that the model cannot take, as `start` does."""
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
        """Tokenise the prompt and open an empty cache.

        The first window prefills the prompt, and the tokens that the plan knows.

        Args:
            prompt: the text.
            guidance: scale of classifier-free guidance.
            guided_tokens: guide only positions before this one; 0 guides all. The logits of the
                others are the conditional row's.
            plan: the order of the tokens; the whole picture's if None.
            slot: provides the cache, if given.
        """

    @abstractmethod
    def forward(
        self, ctx: Any, tokens: Tensor, parents: Parents = None, targets: Tensor | None = None
    ) -> Tensor:
        """Run one forward pass over a window and return logits [L, V].

        Row i's logits are those of its target: image codes only, float32 (float64 of a network in
        float64), with guidance mixed in where the target is guided.

        Args:
            ctx: the lane's context.
            tokens: ids on the device [L]: the root, then the drafts. The root is the last committed
                token. In the first window it is the last known token or the prompt's last, whatever
                id is given.
            parents: the row that each row follows; None for a chain. A row that is its own parent
                is a root. A plan with several fronts has many roots; without `parents` all rows
                are.
            targets: the positions that rows ask for [L]; by default those after their own. With
                several fronts a target of `length` is padding.
        """

    @abstractmethod
    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        """Return pictures of codes: int [h, w] to uint8 [8h, 8w, 3], or batches of both.

        The scale of 8 is the model's own.
        """


def host_count(model: ImageModel, count: Tensor | int, most: int) -> int:
    """Return a count that a step may use on the host.

    With static shapes it is `most`, the upper bound. Otherwise it is `count` itself, and a count on
    the device [] is waited for.
    """
    return most if model.static else int(count)


def host_rows(model: ImageModel, where: Tensor) -> Tensor | slice:
    """Return the indices of the rows that are true in `where` (bool [R]), for use in a step.

    With static shapes it is all rows. A `where` on a device is waited for.
    """
    return slice(None) if model.static else where.nonzero()[:, 0]


def planned(model: ImageModel, infilling: Infilling | None) -> tuple[ImageModel, Plan]:
    """Return the model that draws a whole picture or fills in a part, and the plan.

    Raises SettingError where the model cannot fill in, or the infilling does not fit it.
    """
    if infilling is None:
        return model, model.plan
    infilling.check(model.grid, model.vocab_size)
    infilling.check_model(model.fills_in, model.name)
    if model.fills_in is Fills.BELOW:
        return model, below(model.plan, infilling)
    return model.filler or model, anywhere(model.grid, infilling)
