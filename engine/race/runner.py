"""Race: runs a request's lanes by turns on the device, each with a clock of its own.

The next step always belongs to the lane with the smallest clock. So the clocks of running lanes
differ by at most one step, and the frames show a race in which each lane has the device to itself.
engine/clock.py says what a clock counts.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Generator, Sequence
from dataclasses import replace

import torch

from engine.decoders import DECODERS
from engine.models.base import ImageModel, planned
from engine.models.body import BodyModel
from engine.models.supply.card import ModelError
from engine.models.supply.device import check_lane_count, classify
from engine.race.hardware import machine_of
from engine.race.request import RaceRequest
from engine.settings import SettingError
from engine.trace import MAX_ERROR, Frame, Header, LaneState, Step, Trace

log = logging.getLogger(__name__)


class Race:
    """An iterator over the frames of a race.

    `stop()` ends the race after the step in progress; closing the iterator ends it at once. Either
    way, the slots of the lanes are released. If a lane raises, it has failed, and the other lanes
    go on.
    """

    def __init__(self, model: ImageModel, request: RaceRequest) -> None:
        """Prepare the lanes; `model` is the one that `request` names.

        Raises SettingError as `planned` does, and also if the sampling does not fit the model's
        pictures, the model cannot take the prompt, or the lanes do not fit on the device.
        """
        request.sampling.check(model.plan.length)
        model.check_prompt(request.prompt)
        if isinstance(model, BodyModel) and model.card:
            check_lane_count(
                model.card,
                model.device,
                model.dtype,
                len(request.lanes),
                model.slots,
                graphs=model.captures is not None,
            )
        self.request, self._stopped = request, False
        self.model, self.plan = planned(model, request.infilling)
        self._decoders = [
            DECODERS[lane.decoder](self.model, lane.settings, request.sampling, self.plan)
            for lane in request.lanes
        ]

    @property
    def header(self) -> Header:
        """The header of the race's trace."""
        model, request = self.model, self.request
        own = [decoder.plan.cells for decoder in self._decoders]
        return Header(
            request.prompt,
            request.seed,
            model.name,
            model.grid,
            model.vocab_size,
            self.plan.cells,
            request.sampling,
            tuple(
                replace(lane.plain(), cells=() if cells == self.plan.cells else cells)
                for lane, cells in zip(request.lanes, own, strict=True)
            ),
            machine_of(model),
            request.infilling,
            model.weights,
            str(model.dtype).removeprefix("torch."),
        )

    def trace(self, frames: Sequence[Frame]) -> Trace:
        """Return the trace of `frames`, which the race has yielded."""
        codebook = self.model.codebook.float().cpu().numpy().astype("<f4").tobytes()
        return Trace(self.header, tuple(frames), codebook)

    def stop(self) -> None:
        """End the race after the step in progress; any thread may call this."""
        self._stopped = True

    def __iter__(self) -> Generator[Frame, None, None]:
        request = self.request
        clocks = [0] * len(request.lanes)  # in microseconds, so that equal times are equal numbers
        running: dict[int, Generator[Step, None, None]] = {}
        # A full garbage collection visits half a million objects of libraries. It would add 0.2 s
        # to some lane's step, so objects that exist already are left out of it.
        gc.freeze()
        try:
            for i, decoder in enumerate(self._decoders):
                running[i] = decoder.steps(request.prompt, request.seed, lambda: self._stopped)
                yield Frame(i, LaneState.RACING)
            while running and not self._stopped:
                i = min(running, key=clocks.__getitem__)
                try:
                    # Entered for each step: another thread may resume the generator, and every
                    # thread has its own modes.
                    with torch.inference_mode():
                        step = next(running[i])
                except Exception as error:  # one lane's failure is that lane's alone
                    log.exception("lane %s failed", request.lanes[i].decoder)
                    running.pop(i)
                    yield self._failed(i, error)
                    continue
                clocks[i] += sum(step.micros)
                if step.after == self.plan.length:
                    running.pop(i).close()
                    yield Frame(i, LaneState.FINISHED, step)
                else:
                    yield Frame(i, LaneState.RACING, step)
            for i in list(running):
                running.pop(i).close()
                yield Frame(i, LaneState.STOPPED)
        finally:
            gc.unfreeze()
            for steps in running.values():
                steps.close()

    def _failed(self, lane: int, error: Exception) -> Frame:
        readable = isinstance(error, (SettingError, ModelError))
        text = str(error) if readable else f"{type(error).__name__}: {error}"
        failure = classify(error, self.model.device)
        return Frame(lane, LaneState.FAILED, error=text[:MAX_ERROR], failure=failure)
