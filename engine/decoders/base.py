"""What every decoder is: a name, a badge, its settings, and a stream of steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import torch

from engine.models.base import ImageModel
from engine.settings import Sampling, Settings
from engine.trace import Step


class Badge(Enum):
    """What a decoder promises about the picture, next to vanilla AR's."""

    IDENTICAL = "identical image"
    SAME_DISTRIBUTION = "same distribution"
    CHANGED_DISTRIBUTION = "changed distribution"


@dataclass(frozen=True, slots=True)
class NoSettings(Settings):
    """For decoders without a knob."""


class Decoder(ABC):
    """One way to decode a picture. Subclasses in this folder are found by themselves: see
    `engine.decoders.DECODERS`."""

    name: ClassVar[str]  # how it is called on a command line and in a trace
    title: ClassVar[str]  # how it is called on the page
    idea: ClassVar[str]  # what it does, in one sentence for a newcomer
    paper: ClassVar[str]  # where it was published
    badge: ClassVar[Badge]
    order: ClassVar[int]  # where its lane stands beside the others
    default: ClassVar[bool] = True  # whether it races unless asked not to
    Settings: ClassVar[type[Settings]] = NoSettings

    def __init__(
        self, model: ImageModel, settings: Settings | None = None, sampling: Sampling | None = None
    ) -> None:
        self.model = model
        self.settings = settings if settings is not None else self.Settings()
        self.sampling = sampling if sampling is not None else model.sampling
        if not isinstance(self.settings, self.Settings):
            raise TypeError(
                f"{self.name} takes {self.Settings.__qualname__}, not"
                f" {type(self.settings).__qualname__}"
            )

    @abstractmethod
    def steps(self, prompt: str, seed: int) -> Iterator[Step]:
        """Decodes one picture, a step at a time. Closing the iterator gives the cache back."""

    @torch.inference_mode()
    def generate(self, prompt: str, seed: int) -> list[int]:
        """Drains `steps`: the whole sequence of `model.length` tokens."""
        return [int(t) for step in self.steps(prompt, seed) for t in step.committed["token"]]
