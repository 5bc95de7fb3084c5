"""Lanes' clocks: set by a test, or scaled for all tests at once."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from unittest.mock import patch

from engine.clock import StepClock
from engine.decoders import DECODERS
from engine.decoders.base import Decoder
from engine.trace import Seconds

_measured = StepClock.seconds


@contextmanager
def set_clocks(**milliseconds: float) -> Iterator[None]:
    """Inside it, or in a function that it decorates, a decoder's step takes as long on any machine:
    20 ms, and 1 ms more for each decoder before it in their order, or as many as given for it."""

    def charge(decoder: Decoder, spent: Seconds) -> Seconds:
        total = milliseconds.get(decoder.name, 20 + list(DECODERS).index(decoder.name)) / 1000
        draft = 0.2 * total if spent.draft else 0.0  # where a drafter ran
        return Seconds(
            forward=0.8 * total - draft, verify=0.1 * total, cache=0.1 * total, draft=draft
        )

    with patch.object(StepClock, "seconds", _charging(charge)):
        yield


def scale_clocks(seed: str) -> None:
    """From here on, multiplies what is measured of a decoder's steps by a factor from 1/8 to 8,
    log-uniform, which is drawn for the seed and the decoder."""

    def charge(decoder: Decoder, spent: Seconds) -> Seconds:
        factor = 8 ** random.Random(f"clock {seed} {decoder.name}").uniform(-1, 1)
        return Seconds(**{part: factor * value for part, value in asdict(spent).items()})

    StepClock.seconds = _charging(charge)


def _charging(charge: Callable[[Decoder, Seconds], Seconds]) -> Callable[[StepClock], Seconds]:
    """A StepClock.seconds that says of a decoder's step what `charge` makes of the measurement."""

    def seconds(clock: StepClock) -> Seconds:
        spent = _measured(clock)
        decoder = sys._getframe(1).f_locals.get("self")  # of the frame that ends the step
        # a test of the clock itself has none
        return charge(decoder, spent) if isinstance(decoder, Decoder) else spent

    return seconds
