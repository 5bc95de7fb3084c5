"""Race: lanes over one model, prompt and seed, on an honest clock.

Lanes take turns on the device. Each is charged its own forward, verification, cache and drafter
time alone, and the next to step is always the one whose clock is furthest behind: at every instant
the frames show a true race, at whatever speed the machine manages, and whoever watches is charged
to nobody.

`python -m engine.race "red apple on sky clouds" --seed 7 --lanes ar,sjd --out race.json` runs one
in a terminal.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from engine.decoders import DECODERS
from engine.hardware import device_name
from engine.models.base import ImageModel
from engine.models.card import ModelError
from engine.settings import Sampling, SettingError, Settings
from engine.trace import (
    MAX_ERROR,
    MAX_LANES,
    MAX_PROMPT,
    MAX_SEED,
    Frame,
    Header,
    LaneState,
    LaneStats,
    Step,
    Trace,
    TraceLane,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lane:
    """One decoder in a race."""

    decoder: str
    # type: ignore[assignment]  # None: the decoder's defaults
    settings: Settings = field(default=None)

    def __post_init__(self) -> None:
        if self.decoder not in DECODERS:
            raise SettingError(
                f"There is no decoder called {self.decoder!r}; there are {', '.join(DECODERS)}."
            )
        if self.settings is None:
            object.__setattr__(self, "settings", DECODERS[self.decoder].Settings())
        if not isinstance(self.settings, DECODERS[self.decoder].Settings):
            raise SettingError(f"These are not settings of {self.decoder}: {self.settings!r}")

    def plain(self) -> TraceLane:
        """The lane as a trace's header has it."""
        return TraceLane(self.decoder, dataclasses.asdict(self.settings))


def check(lanes: Sequence[Lane], prompt: Any, seed: Any) -> None:
    """Raises SettingError where there is nothing to race, or the prompt or seed cannot be used,
    whatever the model."""
    if not 1 <= len(lanes) <= MAX_LANES:
        raise SettingError(f"A race has 1 to {MAX_LANES} lanes, not {len(lanes)}.")
    if not isinstance(prompt, str) or not prompt.strip():
        raise SettingError("Type what the picture should show: the prompt is empty.")
    if len(prompt) > MAX_PROMPT:
        raise SettingError(
            f"The prompt has {len(prompt)} characters; at most {MAX_PROMPT} are allowed."
        )
    # no tokenizer takes one, and no file
    if any("\ud800" <= character <= "\udfff" for character in prompt):
        raise SettingError("The prompt holds half a character: type it again.")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
        raise SettingError(f"The seed is a whole number from 0 to {MAX_SEED}.")


class Race:
    """An iterator of frames. `stop()` ends it after the step in progress; closing the iterator ends
    it at once. Either way the caches are given back. A lane that raises is failed and the others go
    on."""

    def __init__(
        self,
        model: ImageModel,
        lanes: Sequence[Lane],
        prompt: str,
        seed: int,
        sampling: Sampling | None = None,
    ) -> None:
        """Raises SettingError as `check` does."""
        check(lanes, prompt, seed)
        self.model, self.lanes, self.prompt, self.seed = model, tuple(lanes), prompt, seed
        self.sampling = sampling if sampling is not None else model.sampling
        self._stopped = False

    def stop(self) -> None:
        """Ends the race after the step in progress; may be called from any thread."""
        self._stopped = True

    @property
    def header(self) -> Header:
        """The header of its trace."""
        model = self.model
        return Header(
            self.prompt,
            self.seed,
            model.name,
            model.grid,
            model.vocab_size,
            model.cells,
            self.sampling,
            tuple(lane.plain() for lane in self.lanes),
            device_name(model.device),
        )

    def trace(self, frames: Sequence[Frame]) -> Trace:
        """The trace of what it has yielded."""
        codebook = self.model.codebook.float().cpu().numpy().astype("<f4").tobytes()
        return Trace(self.header, tuple(frames), codebook)

    def __iter__(self) -> Iterator[Frame]:
        stats = [LaneStats() for _ in self.lanes]
        running: dict[int, Iterator[Step]] = {}
        try:
            for i, lane in enumerate(self.lanes):
                decoder = DECODERS[lane.decoder](self.model, lane.settings, self.sampling)
                running[i] = decoder.steps(self.prompt, self.seed)
                yield Frame(i, LaneState.RACING)
            while running and not self._stopped:
                i = min(running, key=lambda lane: stats[lane].clock)
                try:
                    # Entered for each step: a generator may be resumed on another thread, whose
                    # modes are its own.
                    with torch.inference_mode():
                        step = next(running[i])
                except Exception as error:  # one lane's failure is that lane's alone
                    log.exception("lane %s failed", self.lanes[i].decoder)
                    running.pop(i)
                    # their words are for the visitor as they stand
                    told = isinstance(error, (SettingError, ModelError))
                    text = str(error) if told else f"{type(error).__name__}: {error}"
                    yield Frame(i, LaneState.FAILED, error=text[:MAX_ERROR])
                    continue
                stats[i].add(step)
                if step.after == self.model.length:
                    running.pop(i).close()
                    yield Frame(i, LaneState.FINISHED, step)
                else:
                    yield Frame(i, LaneState.RACING, step)
            for i in list(running):
                running.pop(i).close()
                yield Frame(i, LaneState.STOPPED)
        finally:
            for steps in running.values():
                steps.close()


if __name__ == "__main__":
    from engine.cli import main

    main()
