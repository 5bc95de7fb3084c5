"""A lane a racer: one race as a race of one lane on each of several devices of a kind, put together
again. Lanes then run at once; passes and pictures are those of one device, since a lane depends on
model, prompt, seed and its own settings alone."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from app.serving.race_stream import Recording, Snapshot, WorkerEvents, WorkerFailure
from cluster.streams import Stream, merge
from engine.race import RaceRequest
from engine.trace import Frame, LaneState, Trace
from visualize.board import CLOCKS, replay
from visualize.recorded_race import Pictures, RecordedRace

# of a board, what every lane's racer knows and the page does not
_SHARED = ("machine", "grid", "cells", "dtypes", "codes", "swatches")


def race_apart(
    request: RaceRequest, waiting: dict[str, Any], start: Callable[[RaceRequest], Stream]
) -> WorkerEvents:
    """The race's stream, of the races of its lanes, which `start` starts; `waiting` is its board
    before it begins. One lane's WorkerFailure ends them all. Closed, it cancels every one."""
    lanes = [replace(request, lanes=(lane,)) for lane in request.lanes]
    boards: list[dict[str, Any] | None] = [None] * len(lanes)
    recordings: list[RecordedRace | None] = [None] * len(lanes)
    seq = 0
    with contextlib.closing(merge([start(lane) for lane in lanes])) as events:
        for i, event in events:
            if isinstance(event, Recording):
                recordings[i] = RecordedRace.loads(event.text)
            elif isinstance(event, Snapshot):
                boards[i], seq = event.board, seq + 1
                yield Snapshot(_board(waiting, boards, seq))
            else:
                yield event
                if isinstance(event, WorkerFailure):
                    return
    whole = join(request, [found for found in recordings if found is not None])
    last = {"seq": seq + 1, "recorded": False, "apart": True, "note": _note(boards)}
    yield Snapshot(replay(whole) | last)
    yield Recording(whole.dumps())


def _board(
    waiting: dict[str, Any], boards: Sequence[dict[str, Any] | None], seq: int
) -> dict[str, Any]:
    """The board of the race, from those of its lanes so far. Places come with the finish."""
    known = next(board for board in boards if board is not None)
    lanes = [
        before
        if board is None
        else board["lanes"][0] | {"title": before["title"], "places": dict.fromkeys(CLOCKS)}
        for before, board in zip(waiting["lanes"], boards, strict=True)
    ]
    state = {"seq": seq, "state": "racing", "lanes": lanes, "apart": True, "note": _note(boards)}
    return waiting | {name: known[name] for name in _SHARED} | state


def _note(boards: Sequence[dict[str, Any] | None]) -> str:
    """What the lanes' boards say; what several say, once."""
    notes = dict.fromkeys(board["note"] for board in boards if board is not None)
    return " ".join(filter(None, notes))


def join(request: RaceRequest, recordings: Sequence[RecordedRace]) -> RecordedRace:
    """One race from the races of its lanes, in the order of their clocks."""
    traces = [recording.trace for recording in recordings]
    header = replace(traces[0].header, lanes=tuple(lane.plain() for lane in request.lanes))
    timed = [_timed(trace, i) for i, trace in enumerate(traces)]
    frames = tuple(frame for _, _, _, frame in heapq.merge(*timed))
    pictures = [recording.pictures for recording in recordings if recording.pictures is not None]
    files = tuple(each.lanes[0] for each in pictures)
    shown = Pictures(pictures[0].swatches, files) if len(files) == len(traces) else None
    return RecordedRace(Trace(header, frames, traces[0].codebook), shown)


def _timed(trace: Trace, lane: int) -> Iterator[tuple[float, int, int, Frame]]:
    """The frames of a race of one lane, as those of lane number `lane`, each with the lane's
    seconds and what settles equal ones."""
    seconds = 0.0
    for number, frame in enumerate(trace.frames):
        if frame.step is not None:
            seconds += frame.step.seconds.total
        # A lane without a step has not begun: frames of lanes that begin come first.
        begins = frame.step is None and frame.state is LaneState.RACING
        yield -1.0 if begins else seconds, lane, number, replace(frame, lane=lane)
