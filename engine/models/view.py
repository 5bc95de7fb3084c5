"""A body model whose sequence positions are others than its own, with no weights of its own."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from engine.infilling import Fills, Infilling
from engine.models.base import ImageModel
from engine.models.body import BodyModel, Prompt
from engine.models.lean import LeanBody


class BodyView(BodyModel):
    """A body model that runs the network of the `whole` one. Subclasses say how their sequence
    positions follow from the whole's."""

    drafter = None

    def __init__(self, whole: BodyModel) -> None:
        self.whole = whole
        for name in ("name", "grid", "vocab_size", "codebook", "device", "dtype", "sampling"):
            setattr(self, name, getattr(whole, name))
        self.weights, self.slow_pixels = whole.weights, whole.slow_pixels
        self.static, self.capture = whole.static, whole.capture
        self.preview = whole.preview

    @property
    def lean(self) -> LeanBody:
        return self.whole.lean

    @property
    def swatches(self) -> bytes | None:
        """The whole model's: codes look the same."""
        return self.whole.swatches

    @swatches.setter
    def swatches(self, image: bytes | None) -> None:
        self.whole.swatches = image

    def neighbours(self, k: int) -> Tensor:
        return self.whole.neighbours(k)

    @property
    def fills_in(self) -> Fills:
        return self.whole.fills_in

    def infill(self, infilling: Infilling) -> ImageModel:
        return self.whole.infill(infilling)

    def in_waves(self, lag: int) -> ImageModel:
        return ImageModel.in_waves(self, lag)

    def prompt(self, text: str, guided: bool) -> Prompt:
        return self.whole.prompt(text, guided)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        return self.whole.embed(tokens, positions)

    def position_ids(self, slots: Tensor, start: Tensor) -> Tensor:
        return self.whole.position_ids(slots, start)

    def head(self, hidden: Tensor) -> Tensor:
        return self.whole.head(hidden)

    def decode(self, codes: Tensor) -> Tensor:
        return self.whole.decode(codes)

    def pixels(self, tokens: np.ndarray) -> np.ndarray:
        return self.whole.pixels(tokens)
