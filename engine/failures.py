"""The kinds of failure, for code that reacts to one. The message is for people."""

from __future__ import annotations

from enum import Enum


class Failure(Enum):
    """A kind of failure.

    `engine.models.supply.device.classify` sets it where the exception is caught.
    """

    OUT_OF_MEMORY = "out of memory"
    DEVICE_LOST = "device lost"
    REJECTED_SETTING = "rejected setting"
    MISSING_MODEL = "missing model"
    OVERFLOW = "overflow"
    BUG = "bug"
