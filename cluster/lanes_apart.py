"""A lane a racer: one race as a race of one lane on each of several devices of a kind, put together
again. Lanes then run at once; passes and pictures are those of one device, since a lane depends on
model, prompt, seed and its own settings alone."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from app.serving.race_stream import Recording, WorkerEvents, WorkerFailure
from cluster.streams import Stream, merge
from engine.race import RaceRequest
from engine.trace import Frame, LaneState, Trace
from visualize.board import replay
from visualize.recorded_race import Pictures, RecordedRace
from visualize.snapshot import CLOCKS, Snapshot

# of a board, what every lane's racer knows and the page does not
_SHARED = ("machine", "grid", "cells", "dtypes", "codes", "swatches")


def race_apart(
    request: RaceRequest, waiting: Snapshot, start: Callable[[RaceRequest], Stream]
) -> WorkerEvents:
    """The race's stream, of the races of its lanes, which `start` starts; `waiting` is its board
    before it begins. One lane's WorkerFailure ends them all. Closed, it cancels every one."""
    lanes = [replace(request, lanes=(lane,)) for lane in request.lanes]
    boards: list[Snapshot | None] = [None] * len(lanes)
    recordings: list[RecordedRace | None] = [None] * len(lanes)
    seq = 0
    with contextlib.closing(merge([start(lane) for lane in lanes])) as events:
        for i, event in events:
            if isinstance(event, Recording):
                recordings[i] = RecordedRace.loads(event.text)
            elif isinstance(event, Snapshot):
                boards[i], seq = event, seq + 1
                yield _board(waiting, boards, seq)
            else:
                yield event
                if isinstance(event, WorkerFailure):
                    return
    whole = join([found for found in recordings if found is not None])
    last = {"seq": seq + 1, "recorded": False, "apart": True, "note": _note(boards)}
    yield replay(whole).model_copy(update=last)
    yield Recording(whole.dumps())


def _board(waiting: Snapshot, boards: Sequence[Snapshot | None], seq: int) -> Snapshot:
    """The board of the race, from those of its lanes so far. Places come with the finish."""
    known = next(board for board in boards if board is not None)
    places = dict.fromkeys(CLOCKS)
    lanes = tuple(
        before
        if board is None
        else board.lanes[0].model_copy(update={"title": before.title, "places": places})
        for before, board in zip(waiting.lanes, boards, strict=True)
    )
    shared = {name: getattr(known, name) for name in _SHARED}
    now = {"seq": seq, "state": LaneState.RACING, "lanes": lanes, "note": _note(boards)}
    return waiting.model_copy(update=shared | now | {"apart": True})


def _note(boards: Sequence[Snapshot | None]) -> str:
    """What the lanes' boards say; what several say, once."""
    notes = dict.fromkeys(board.note for board in boards if board is not None)
    return " ".join(filter(None, notes))


def join(recordings: Sequence[RecordedRace]) -> RecordedRace:
    """One race from the races of its lanes, in the order of their clocks."""
    traces = [recording.trace for recording in recordings]
    header = replace(traces[0].header, lanes=tuple(trace.header.lanes[0] for trace in traces))
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
