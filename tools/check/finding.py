"""Finding: a fact, a fault with what to do, or the reason why something was not checked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch

from engine.models.body import BodyModel
from engine.models.supply.card import CARDS

log = logging.getLogger(__name__)
REPORT = "attach this report to an issue of the repository"


class Grade(Enum):
    GOOD = "good"
    FAULT = "fault"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    Raises ValueError for a fault without `advice`, or `advice` without a fault.

    Attributes:
        name: what was checked.
        outcome: whether what was checked is good, is a fault, or was left out.
        words: what was found.
        advice: what to do about a fault.
        figures: what was found, as numbers.
    """

    name: str
    outcome: Grade
    words: str
    advice: str = ""
    figures: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.advice) != (self.outcome is Grade.FAULT):
            raise ValueError(f"{self.name}: a fault, and nothing else, must say what to do")

    @property
    def text(self) -> str:
        """The words and, for a fault, what to do about it."""
        return self.words + (f" What to do: {self.advice}" if self.advice else "")


@dataclass(frozen=True, slots=True)
class Subject:
    """A loaded model to check; `twin(device, dtype)` loads the same model once more."""

    model: BodyModel
    twin: Callable[[torch.device, torch.dtype], BodyModel]

    @property
    def title(self) -> str:
        return CARDS[self.model.name].title if self.model.name in CARDS else "a small model"

    @property
    def on_gpu(self) -> bool:
        return self.model.device.type == "cuda"


Check = Callable[[Subject], Iterator[Finding]]


def good(name: str, words: str, **figures: Any) -> Finding:
    return Finding(name, Grade.GOOD, words, figures=figures)


def fault(name: str, words: str, advice: str, **figures: Any) -> Finding:
    return Finding(name, Grade.FAULT, words, advice, figures)


def left_out(name: str, words: str) -> Finding:
    return Finding(name, Grade.LEFT_OUT, words)


def run(check: Check, subject: Subject, name: str) -> Iterator[Finding]:
    """Yield a check's findings.

    An error that the check raises becomes a fault, so that other checks go on.
    """
    try:
        yield from check(subject)
    except Exception as error:
        log.exception("the check of %s failed", name)
        yield fault(name, f"It raised {type(error).__name__}: {error}", f"{REPORT}.")
