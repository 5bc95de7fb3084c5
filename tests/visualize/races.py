"""Races for tests of what draws them: real ones over the toy model, each run once a session, and
hand-made steps."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.infilling import Infilling
from engine.race import Lane, Race
from engine.settings import Sampling
from engine.trace import Frame, Header, LaneState, Seconds, Status, Step, Trace
from tests.clocks import set_clocks
from tests.infill_toys import NeighbourToy
from tests.races import race_of
from tests.steps import Spot, build
from tools.judge.toys import Toy
from visualize.board.board import Board
from visualize.board.snapshot import Snapshot
from visualize.pictures.recorded_race import RecordedRace, record

FIVE = ("ar", "sjd", "gsd", "lantern", "sjd-pac")
# Whose rows of the picture advance each at its own pace, by three readings of the rule.
ROWS = (
    "rows:c=2;window=4",
    "rows:c=3;window=3;lower_rows=postponed",
    "rows:c=2;window=4;reading=code",
)
MASK = tuple(2 <= cell // 6 < 5 and 1 <= cell % 6 < 5 for cell in range(36))  # of 6 x 6 tokens


def toy_race(names: Sequence[str] = FIVE, *, side: int = 8, forced: bool = False) -> Race:
    return race_of(Toy((side, side), 16, forced=forced), names, "a prompt", 7)


@functools.cache
def toy_trace(
    names: tuple[str, ...] = FIVE, *, side: int = 4, forced: bool = False, **milliseconds: float
) -> tuple[Trace, Toy]:
    """A whole race on a toy of side x side tokens, by clocks that are set, and the toy."""
    race = toy_race(names, side=side, forced=forced)
    with set_clocks(**milliseconds):
        return race.trace(list(race)), race.model


@functools.cache
def recorded(names: tuple[str, ...] = ("ar", "sjd"), **options: Any) -> RecordedRace:
    """The recording of a `toy_trace`."""
    return record(*toy_trace(names, **options))


def run(
    names: tuple[str, ...] = FIVE, *, side: int = 8, forced: bool = False
) -> tuple[Header, list[Frame]]:
    """A `toy_trace` as its header and its frames."""
    trace, _ = toy_trace(names, side=side, forced=forced)
    return trace.header, list(trace.frames)


def snapshots(header: Header, frames: Iterable[Frame], every: int = 5) -> list[Snapshot]:
    """A board before the first of these frames, after every so many of them, and at the end."""
    board = Board(header, pixels)
    shots = [board.snapshot()]
    for i, move in enumerate(frames):
        board.fold(move)
        if i % every == 0:
            shots.append(board.snapshot())
    return [*shots, board.snapshot()]


def filled_trace(names: Sequence[str] = ("ar", "assd"), **milliseconds: float) -> tuple[Trace, Toy]:
    """A race that fills in a part of 6 x 6 tokens, and the toy."""
    infilling = Infilling.of_mask([5 * cell % 16 for cell in range(36)], MASK)
    race = race_of(NeighbourToy(), names, "a prompt", 7, infilling=infilling)
    with set_clocks(**milliseconds):
        return race.trace(list(race)), race.model


def headed(trace: Trace, **changes: Any) -> Trace:
    """The same frames under a header with these changes."""
    return replace(trace, header=replace(trace.header, **changes))


def prompted(recording: RecordedRace, prompt: str) -> RecordedRace:
    return replace(recording, trace=headed(recording.trace, prompt=prompt))


def pixels(tokens: np.ndarray) -> np.ndarray:
    """Tokens int [B, h, w] to patches of 8 x 8 pixels, one colour a token, uint8 [B, 8h, 8w, 3]."""
    colours = np.stack([tokens * factor % 256 for factor in (37, 91, 151)], -1)
    return colours.astype(np.uint8).repeat(8, 1).repeat(8, 2)


def step(
    before: int, after: int, *, drafts: int = 0, nfe: int = 1, seconds: float = 1.0, token: int = 3
) -> Step:
    """A hand-made step: everything committed was accepted, every draft refined."""
    spots = [
        Spot(at, token, token, status, 0.5, 0.5, 0.25, 0.75)
        for at in range(before, after + drafts)
        for status in [Status.ACCEPTED if at < after else Status.REFINED]
    ]
    return build(nfe, before, after, spots, Seconds(forward=seconds))


def steps(
    *lengths: int,
    seconds: float | Seconds = 1.0,
    tv: float | None = None,
    top1: float = 0.5,
    shift: float | None = None,
    passed: bool = True,
) -> list[Step]:
    """Hand-made steps that committed so many tokens each. With `tv` drafts were tested, and all
    passed, or the last of a step did not."""
    made, before = [], 0
    clock = seconds if isinstance(seconds, Seconds) else Seconds(seconds)
    for nfe, after in enumerate(np.cumsum(lengths).tolist(), 1):
        tested = [Status.ACCEPTED] * (after - before)
        if not passed:
            tested[-1] = Status.RESAMPLED
        draft = None if tv is None else 1
        more = {"tv": tv, "shift": shift, "uniform": 0.5}
        spots = [
            Spot(at, draft, 1, Status.FRESH if tv is None else status, top1, **more)
            for at, status in enumerate(tested, before)
        ]
        made.append(build(nfe, before, after, spots, clock))
        before = after
    return made


def frame(lane: int, step: Step, length: int) -> Frame:
    return Frame(lane, LaneState.FINISHED if step.after == length else LaneState.RACING, step)


def trace_of(
    lanes: Mapping[str, Sequence[Step]],
    *,
    length: int,
    rows: int = 1,
    state: LaneState = LaneState.FINISHED,
) -> Trace:
    """A trace of hand-made lanes on a grid of so many rows, all of which end in a state."""
    header = Header(
        prompt="a prompt",
        seed=1,
        model="toy",
        grid=(rows, length // rows),
        vocab_size=5,
        cells=tuple(range(length)),
        sampling=Sampling(),
        lanes=tuple(Lane(name).plain() for name in lanes),
        machine="here",
    )
    frames = [
        Frame(i, LaneState.RACING, step) for i, steps in enumerate(lanes.values()) for step in steps
    ]
    error = "OSError: gone" if state is LaneState.FAILED else None
    return Trace(header, (*frames, *(Frame(i, state, error=error) for i in range(len(lanes)))))
