"""The contract of every decoder: a name, a badge, its settings, and a stream of steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import torch

from engine.core import Plan
from engine.infilling import Fills
from engine.models.base import ImageModel
from engine.settings import Sampling, SettingError
from engine.settings import Settings as AnySettings
from engine.trace import Step, StepTable


def never() -> bool:
    """Return False: nobody stops the decode."""
    return False


class Badge(Enum):
    """A decoder's promise about how its pictures compare with vanilla AR's."""

    IDENTICAL = "identical image"
    ROUNDED = "identical but for rounding"  # in place of IDENTICAL in half precision
    SAME_DISTRIBUTION = "same distribution"
    CHANGED_DISTRIBUTION = "changed distribution"
    NOT_JUDGED = "not judged"  # no promise is proved here, whatever the decoder's author says

    @property
    def lossless(self) -> bool:
        """True if the badge promises vanilla AR's distribution."""
        return self in (Badge.IDENTICAL, Badge.ROUNDED, Badge.SAME_DISTRIBUTION)


@dataclass(frozen=True, slots=True)
class NoSettings(AnySettings):
    """The settings of a decoder without knobs."""


class Decoder(ABC):
    """One way to decode an image; `engine.decoders.DECODERS` lists all decoders."""

    name: ClassVar[str]  # on the command line and in a trace
    title: ClassVar[str]  # on the page
    idea: ClassVar[str]  # one sentence for a newcomer, shown on the page
    paper: ClassVar[str]  # where it was published
    badge: ClassVar[Badge]
    default: ClassVar[bool] = True  # whether it races when no lanes are named
    infills: ClassVar[bool] = False  # whether it may ask for any cell, and races on infillings only
    whole_only: ClassVar[bool] = False  # whether it needs the rows of a whole picture
    Settings: ClassVar[type[AnySettings]] = NoSettings
    presets: ClassVar[Mapping[str, AnySettings]] = {}  # settings to choose from, by title

    def __init__(
        self,
        model: ImageModel,
        settings: AnySettings | None = None,
        sampling: Sampling | None = None,
        plan: Plan | None = None,
    ) -> None:
        """Prepare to decode with a model.

        Args:
            model: the model.
            settings: the decoder's settings; its defaults if None.
            sampling: how logits become probabilities; the model's default if None.
            plan: the order of the tokens; if None, the model's order for a whole picture.

        Raises:
            TypeError: the settings belong to another decoder.
            SettingError: the decoder only fills in pictures and the plan has no infilling, or
                `check_fills` raises it.
        """
        self.model, self.plan = model, plan or model.plan
        self.settings = settings if settings is not None else self.Settings()
        self.sampling = sampling if sampling is not None else model.sampling
        if not isinstance(self.settings, self.Settings):
            raise TypeError(
                f"{self.name} takes {self.Settings.__qualname__}, not"
                f" {type(self.settings).__qualname__}"
            )
        if self.infills and self.plan.infilling is None:
            raise SettingError(f"{self.title} fills in pictures: it draws no whole ones.")
        self.check_fills(model.fills_in, model.name)
        self._prepare()

    def _prepare(self) -> None:  # noqa: B027  (most have nothing to compute)
        """Compute what the decoder derives from its model, settings, sampling and plan."""

    @classmethod
    def check_fills(cls, fills: Fills, title: str) -> None:
        """Check that the decoder can fill in pictures with a model.

        `fills` says what the model can fill in; `title` is the model's name in the message. Raises
        SettingError if the decoder needs tokens in any order and the model only continues pictures.
        """
        if cls.infills and fills is Fills.BELOW:
            raise SettingError(
                f"{cls.title} asks for tokens out of order: {title} can only draw a picture on,"
                " token by token."
            )

    @property
    def captured(self) -> bool:
        """True if the decoder's steps are launched as CUDA graphs."""
        return False

    @abstractmethod
    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        """Decode one image step by step; closing the iterator releases the lane's slot.

        Some decoders audit the finished picture before they yield the last step: more passes then
        measure the price of each token (`WindowDecoder.audit`). `stopped()` is called between these
        passes; if the call returns True, the audit ends.
        """

    @torch.inference_mode()
    def generate(self, prompt: str, seed: int) -> list[int]:
        """Drain `steps` and return the tokens of the plan's positions [length]."""
        return StepTable.join([step.rows for step in self.steps(prompt, seed)]).tokens
