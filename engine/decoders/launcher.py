"""How the parts of a lane's steps are launched: as CUDA graphs, or operation by operation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import torch

from engine.clock import StepClock
from engine.decoders.base import Decoder
from engine.decoders.decode_state import DecodeState
from engine.graphs import CaptureError, Graphs

log = logging.getLogger(__name__)

Run = Callable[..., Any]  # as `Launcher.run`


class Launcher:
    """Runs the parts of one lane's steps, and charges them to the lane's clock.

    The graphs belong to the lane's slot, and the next race uses them too. Where a part cannot be
    captured or replayed, the lane goes on without graphs.
    """

    def __init__(self, decoder: Decoder, state: DecodeState) -> None:
        self._decoder, self._state = decoder, state
        self.clock = StepClock(state.model.device)
        self._graphs: Graphs | None = None
        if (captures := state.model.captures) and decoder.captured:
            self._graphs = state.slot.graphs = state.slot.graphs or Graphs(captures.make())

    def run(self, part: str, key: Hashable, function: Callable[..., Any], *inputs: Any) -> Any:
        """Return `function(*inputs)`, and charge its time to the lane's clock as `part`.

        "propose" is charged as "draft" if the drafter ran, else as "verify"; "record" is not
        charged. `key` is as in `Graphs.run`.
        """
        result = self._launched(part, key, partial(function, *inputs))
        if part == "propose":
            self.clock.lap("draft" if self._state.drafter_passes else "verify")
        elif part != "record":
            self.clock.lap(part)
        return result

    def _launched(self, part: str, key: Hashable, function: Callable[[], Any]) -> Any:
        state = self._state
        # The first step reads the prompt too: its shapes are its own.
        if self._graphs is None or not state.step:
            return function()
        try:
            return self._graphs.run(part, key, function, self.clock)
        except CaptureError as error:
            self._graphs = state.slot.graphs = None
            self.clock.skip()
            result = function()  # which raises where the device itself is lost
            self._note(error)
            return result

    def _note(self, error: CaptureError) -> None:
        log.warning("%s goes on without CUDA graphs: %s", self._decoder.title, error)
        captures = self._state.model.captures
        # Another race may have the memory that this one lacks.
        if captures and not isinstance(error.__cause__, torch.OutOfMemoryError):
            captures.without[self._decoder.name] = str(error)
