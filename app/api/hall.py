"""Prompts that the audience of a talk proposes from phones.

A stage is the page as the audience sees it. A hall is the list of prompts that phones have proposed
to one stage. The speaker opens and closes the hall, and it ends with its stage. While the hall is
open, the stage shows a link that contains the hall's code of eight digits. A phone that has the
link proposes one prompt at a time, and the speaker picks one of the prompts. Prompts are kept only
in memory, and only the stage reads them.
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
    """Return a text on one line, with one space for each run of white or invisible characters.

    Raises ValueError if the text has no other characters.
    """
    words = "".join(sign if sign.isprintable() else " " for sign in text).split()
    if not words:
        raise ValueError("there is nothing in it")
    return " ".join(words)


class Proposal(BaseModel):
    """A prompt that a phone proposes to the speaker; it replaces the phone's earlier prompt.

    `code` is the code in the link by which the phone proposes. `phone` is a name that the phone
    made up.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    code: str = Field(max_length=16)
    phone: str = Field(min_length=8, max_length=64)
    prompt: Annotated[str, Field(max_length=LENGTH), AfterValidator(_one_line)]


class Open(BaseModel):
    """A message that opens or closes a hall, the list of prompts that phones propose.

    The stage, which is the page as the audience of a talk sees it, sends this message.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    open: bool


class Taken(BaseModel):
    """A message that the speaker picked the prompt that has this `number` in the hall.

    The stage, which is the page as the audience of a talk sees it, sends this message.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    number: int = Field(ge=1, lt=2**53)


@dataclass
class Hall:
    """The prompts that phones have proposed to one stage, the page as an audience sees it.

    Attributes:
        code: the code in the link by which phones propose prompts.
        prompts: the number and the text of each phone's waiting prompt, by the phone's name.
        numbers: gives each new prompt its number.
    """

    code: str
    prompts: dict[str, tuple[int, str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def add(self, phone: str, prompt: str) -> bool:
        """Add a phone's prompt, in place of its earlier one; return False if the hall is full."""
        if phone not in self.prompts and len(self.prompts) >= PROPOSED:
            return False
        self.prompts[phone] = (next(self.numbers), prompt)
        return True

    def take(self, number: int) -> None:
        """Remove prompt `number` if it still waits."""
        self.prompts = {phone: one for phone, one in self.prompts.items() if one[0] != number}

    def told(self) -> dict[str, Any]:
        """Return the hall for its stage: {code, prompts: [{number, text}, ..]}, oldest first."""
        waiting = sorted(self.prompts.values())
        listed = [{"number": number, "text": text} for number, text in waiting]
        return {"code": self.code, "prompts": listed}
