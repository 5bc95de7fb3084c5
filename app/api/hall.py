"""Prompts that the audience in a hall proposes from phones.

A stage is the page as the audience of a talk sees it. It opens a hall and shows a link with the
hall's code. A phone that has the link proposes one prompt at a time, and the speaker picks one of
the prompts. The hall is closed until the speaker opens it, and ends with the stage. Prompts are
kept only in memory, and only the stage reads them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LENGTH = 200  # most characters in a prompt
PROPOSED = 60  # most waiting prompts, each from a different phone
FULL_HALL = "The speaker has enough prompts to choose from. Try again in a moment."


def _one_line(text: str) -> str:
    """Return a text on one line, with one space for each run of white or invisible characters."""
    words = "".join(sign if sign.isprintable() else " " for sign in text).split()
    if not words:
        raise ValueError("there is nothing in it")
    return " ".join(words)


class Proposal(BaseModel):
    """A prompt that a phone proposes; it replaces the phone's earlier prompt."""

    model_config = ConfigDict(strict=True, extra="forbid")

    code: str = Field(max_length=16)
    phone: str = Field(min_length=8, max_length=64)
    prompt: Annotated[str, Field(max_length=LENGTH), AfterValidator(_one_line)]


class Open(BaseModel):
    """A stage's message that opens or closes its hall."""

    model_config = ConfigDict(strict=True, extra="forbid")

    open: bool


class Taken(BaseModel):
    """A stage's message that the speaker picked prompt `number`, which no longer waits."""

    model_config = ConfigDict(strict=True, extra="forbid")

    number: int = Field(ge=1, lt=2**53)


@dataclass
class Hall:
    """A stage's open hall. `prompts` has each phone's waiting prompt: its number and its text."""

    code: str
    prompts: dict[str, tuple[int, str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def add(self, phone: str, prompt: str) -> bool:
        """Add a phone's prompt; return whether there is room for it."""
        if phone not in self.prompts and len(self.prompts) >= PROPOSED:
            return False
        self.prompts[phone] = (next(self.numbers), prompt)
        return True

    def take(self, number: int) -> None:
        """Remove prompt `number` if it still waits."""
        self.prompts = {phone: one for phone, one in self.prompts.items() if one[0] != number}

    def told(self) -> dict[str, Any]:
        """Return the message to the stage: the code and the waiting prompts, the oldest first."""
        waiting = sorted(self.prompts.values())
        listed = [{"number": number, "text": text} for number, text in waiting]
        return {"code": self.code, "prompts": listed}
