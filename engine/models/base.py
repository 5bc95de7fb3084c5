"""ImageModel: the interface through which decoders use a model.

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

MAX_ROWS = 96  # largest number of rows in a window


class Context(Protocol):
    """Per-lane state: plan, KV cache and committed length.

    Each model defines its own context class. The model's methods and its drafter take an instance
    of that class.
    """

    def attended(self, rows: int) -> Hashable:
        """Return a key for the part of the cache that a pass over `rows` window rows reads.

        A lane replays a captured pass when this key is the same again. Everything else that changes
        from pass to pass must be in tensors on the device.
        """

    def keep(self, rows: Sequence[int], frontier: int | None = None) -> None:
        """Make `rows` of the last window permanent, root first, and discard its other rows.

        From now on all positions before `frontier` count as committed. The default is the number of
        positions committed so far, plus one for each of `rows`.
        """

    def close(self) -> None:
        """Release the cache and the state of the last window."""


class Drafter(Protocol):
    """A drafter like EAGLE's: predicts the next tokens from the target's last hidden states."""

    def extend(self, ctx: Any, rows: Sequence[int], tokens: Tensor) -> Tensor:
        """Read what the target has just committed; return logits [V] of the first token to draft.

        The drafter reads the target's hidden states of the last window's `rows`. `tokens[i]` is the
        token committed after the i-th of these rows. This is one drafter pass.
        """

    def next(self, ctx: Any, token: Tensor) -> Tensor:
        """Return logits [V] of the token after the drafted `token` (0-dim). One drafter pass."""

    def expand(self, ctx: Any, tokens: Tensor, parents: Tensor) -> Tensor:
        """Return logits [W, V] of the token after each of `tokens` [W] of a tree. One drafter pass.

        The tokens are one level deeper than those of the last call. `parents` [W] has the number of
        each token's parent. Drafted tokens are numbered from 1 in the order of the calls; 0 is the
        last committed token.
        """


class ImageModel(ABC):
    """A model of image codes.

    A picture is a sequence of tokens, and each token has a numbered slot. The tokens are the grid's
    codes, row by row. Some models have forced tokens between the codes, which no decoder samples:
    `forced_ids[n]` is the id forced at slot n, or -1. `sampling` has the model's recommended
    settings.
    """

    name: str
    grid: tuple[int, int]
    vocab_size: int
    codebook: Tensor  # [V, D]
    device: torch.device
    forced_ids: Tensor
    sampling: Sampling
    weights: str = ""  # identifies the weights; "" if nothing does
    dtype: torch.dtype = torch.float32  # in which the layers compute
    drafter: Drafter | None = None
    # Whether windows keep their width to the image's end and the cache is read in buckets. Every
    # step then runs the same operations as the step before, as a CUDA graph requires.
    static: bool = False
    # Captures the parts of a lane's steps as graphs; None without graphs. Needs static shapes.
    captures: Captures | None = None
    # Whether decoding a picture takes seconds, as with a public model on a CPU. A board then
    # decodes only finished pictures.
    slow_pixels: bool = False
    # The preview decoder, for grids that are still being decoded. It takes and returns what
    # `pixels` does. It is at least ten times as fast as `pixels`, and draws nearly as well.
    preview: Callable[[np.ndarray], np.ndarray] | None = None
    fills_in: Fills = Fills.NOTHING
    filler: ImageModel | None = None  # the model that fills in any cells, if this one cannot
    swatches: bytes | None = None  # picture of all codes (`visualize.pictures.swatches`)

    @property
    def runtime(self) -> str:
        """Name and version of the runtime that runs the model's layers; "" for PyTorch."""
        return ""

    @cached_property
    def slots(self) -> Slots:
        """The model's lane slots, which races share."""
        return Slots()

    @cached_property
    def plan(self) -> Plan:
        """The plan of a whole picture."""
        return whole(self.grid, self.forced_ids.tolist())

    def check_prompt(self, text: str) -> None:
        """Raise SettingError for a prompt that `start` would reject."""
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
        """Tokenise the prompt, open an empty cache, and return the lane's context.

        The first window prefills the prompt and the plan's known tokens.

        Args:
            prompt: the text.
            guidance: scale of classifier-free guidance.
            guided_tokens: guide only positions before this one; 0 guides all. Logits of unguided
                positions are the conditional row's.
            plan: the order of the tokens; None for the plan of a whole picture.
            slot: the lane's slot, which provides the cache; None for a new slot.
        """

    @abstractmethod
    def forward(
        self, ctx: Any, tokens: Tensor, parents: Parents = None, targets: Tensor | None = None
    ) -> Tensor:
        """Run one forward pass over a window and return logits [L, V].

        Row i's logits are those of its target position, over image codes only. They are float32, or
        float64 for a network in float64. Guidance is mixed in where the target is guided.

        Args:
            ctx: the lane's context.
            tokens: ids on the device [L]: the root, then the drafts. The root is the last committed
                token. In the first window the root is the last known token or, without known
                tokens, the prompt's last; the id given for it is ignored.
            parents: the row that each row follows. A row that is its own parent is a root. None
                means a chain after one root. In a plan with several fronts, a window may have many
                roots, and None means that all rows are roots.
            targets: the position that each row asks for [L]; by default the one after the row's
                own. With several fronts a target equal to the plan's length is padding.
        """

    @abstractmethod
    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        """Return the picture uint8 [f h, f w, 3] of codes int [h, w].

        A code stands for f x f pixels, where f is 8 or 16, depending on the model. A batch of codes
        [B, h, w] gives a batch of pictures [B, f h, f w, 3].
        """


def host_count(model: ImageModel, count: Tensor | int, most: int) -> int:
    """Return `count` as a number on the host, or its upper bound `most` if shapes are static.

    If shapes are not static and `count` is a tensor [] on the device, the host waits for it.
    """
    return most if model.static else int(count)


def host_rows(model: ImageModel, where: Tensor) -> Tensor | slice:
    """Return an index of the rows to process in a step: all rows, or those true in `where`.

    With static shapes the index selects all rows. Otherwise it selects the rows that are true in
    `where` (bool [R]), and the host waits for `where` if that is on the device.
    """
    return slice(None) if model.static else where.nonzero()[:, 0]


def planned(model: ImageModel, infilling: Infilling | None) -> tuple[ImageModel, Plan]:
    """Return the model that draws a picture, and the picture's plan.

    Without an `infilling` the picture is drawn whole. If `model` has a `filler`, the filler draws
    the infillings, except forks. A fork keeps the beginning of a picture. `model` itself draws
    forks and everything else. Raises SettingError where the model cannot fill in pictures, or the
    infilling does not fit the model.
    """
    if infilling is None:
        return model, model.plan
    infilling.check(model.grid, model.vocab_size)
    infilling.check_model(model.fills_in, model.name)
    if model.fills_in is Fills.BELOW or infilling.forks:
        return model, below(model.plan, infilling)
    return model.filler or model, anywhere(model.grid, infilling)
