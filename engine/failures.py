"""The kinds of failure, for code that reacts to one; its message is for people."""

from __future__ import annotations

from enum import Enum


class Failure(Enum):
    """Set where an exception is caught (`engine.models.supply.device.classify`)."""

    OUT_OF_MEMORY = "out of memory"
    DEVICE_LOST = "device lost"
    REJECTED_SETTING = "rejected setting"
    MISSING_MODEL = "missing model"
    OVERFLOW = "overflow"
    BUG = "bug"
