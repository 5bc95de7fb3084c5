"""The kinds of failure, for code that reacts to them; an error's message is for people."""

from __future__ import annotations

from enum import Enum


class Failure(Enum):
    """A kind of failure.

    `engine.models.supply.device.classify` returns the kind of a caught exception.
    """

    OUT_OF_MEMORY = "out of memory"
    DEVICE_LOST = "device lost"
    REJECTED_SETTING = "rejected setting"
    MISSING_MODEL = "missing model"
    OVERFLOW = "overflow"
    BUG = "bug"
