"""Lanes apart: each lane of a race runs on its own racer, as a race of one lane.

All racers have the same kind of device. The lanes run at once, and their streams are merged.
Passes and pictures are the same as on one device, because a lane depends only on model, prompt,
seed and its own settings.
"""

from __future__ import annotations

import contextlib
import heapq
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from app.workers.race_stream import Recording, WorkerEvents, WorkerFailure
from cluster.streams import Stream, merge
from engine.race import RaceRequest
from engine.trace import Frame, LaneState, Trace, TraceError
from visualize.board.board import replay
from visualize.board.snapshot import CLOCKS, Snapshot, Update
from visualize.pictures.recorded_race import Pictures, RecordedRace

# Parts of a board that every lane's racer knows and the page does not.
_SHARED = ("machine", "grid", "cells", "dtypes", "codes", "swatches", "preview")

log = logging.getLogger(__name__)


def race_apart(
    request: RaceRequest, waiting: Snapshot, start: Callable[[RaceRequest], Stream]
) -> WorkerEvents:
    """Yield the events of the whole race, merged from the streams of races of one lane each.

    A WorkerFailure of one lane ends all lanes. If the caller closes the stream, all lanes are
    cancelled.

    Args:
        request: the whole race.
        waiting: the race's board before it begins.
        start: starts a lane's race on a racer and returns its stream.
    """
    lanes = [replace(request, lanes=(lane,)) for lane in request.lanes]
    board, notes = waiting, [""] * len(lanes)
    texts = [""] * len(lanes)
    with contextlib.closing(merge([start(lane) for lane in lanes])) as events:
        for i, event in events:
            if isinstance(event, Recording):
                texts[i] = event.text
            elif isinstance(event, Snapshot):
                notes[i] = event.note
                yield (board := _begun(board, i, event, _note(notes)))
            elif isinstance(event, Update):
                notes[i] = event.note
                update = _of_lane(event, i, board.seq + 1, _note(notes))
                board = board.after(update)
                yield update
            else:
                yield event
                if isinstance(event, WorkerFailure):
                    return
    last = {"seq": board.seq + 1, "recorded": False, "apart": True, "note": _note(notes)}
    if recorded := _record(texts):
        yield recorded[0].model_copy(update=last)
        yield recorded[1]
    else:
        stopped = any(lane.state is LaneState.STOPPED for lane in board.lanes)
        over = LaneState.STOPPED if stopped else LaneState.FINISHED
        yield board.model_copy(update=last | {"state": over})


def _record(texts: Sequence[str]) -> tuple[Snapshot, Recording] | None:
    """Return the whole race's last board and recording, made from its lanes' recordings `texts`.

    Returns None if the race cannot be kept: a lane's recording is missing, memory is short, or
    the race is too long for a file.
    """
    if not all(texts):
        return None
    try:
        whole = join([RecordedRace.loads(text) for text in texts])
        return replay(whole), Recording(whole.dumps())
    except (MemoryError, TraceError):
        log.exception("a race could not be kept")
        return None


def _begun(board: Snapshot, lane: int, own: Snapshot, note: str) -> Snapshot:
    """Return the race's `board` with lane number `lane` as its racer sent it.

    `own` is the racer's board, which has only this lane. The lane's rank in `own` is dropped,
    because lanes are ranked only on the race's last board.
    """
    lanes = list(board.lanes)
    named = {"title": lanes[lane].title, "places": dict.fromkeys(CLOCKS)}
    lanes[lane] = own.lanes[0].model_copy(update=named)
    shared = {name: getattr(own, name) for name in _SHARED}
    now = {"seq": board.seq + 1, "state": LaneState.RACING, "lanes": tuple(lanes), "note": note}
    return board.model_copy(update=shared | now | {"apart": True})


def _of_lane(update: Update, lane: int, seq: int, note: str) -> Update:
    """Turn an update of a race of one lane into the whole race's update of lane number `lane`."""
    own = {"lane": lane, "places": dict.fromkeys(CLOCKS)}
    lanes = tuple(each.model_copy(update=own) for each in update.lanes)
    now = {"seq": seq, "state": LaneState.RACING, "lanes": lanes, "note": note, "results": ()}
    return update.model_copy(update=now)


def _note(notes: Sequence[str]) -> str:
    """Return the notes of the lanes' boards as one text, without repetitions."""
    return " ".join(dict.fromkeys(filter(None, notes)))


def join(recordings: Sequence[RecordedRace]) -> RecordedRace:
    """Join races of one lane each into one race, with frames in the order of the lanes' clocks."""
    traces = [recording.trace for recording in recordings]
    header = replace(traces[0].header, lanes=tuple(trace.header.lanes[0] for trace in traces))
    timed = [_timed(trace, i) for i, trace in enumerate(traces)]
    frames = tuple(frame for _, _, _, frame in heapq.merge(*timed))
    pictures = [recording.pictures for recording in recordings if recording.pictures is not None]
    files = tuple(each.lanes[0] for each in pictures)
    shown = Pictures(pictures[0].swatches, files) if len(files) == len(traces) else None
    return RecordedRace(Trace(header, frames, traces[0].codebook), shown)


def _timed(trace: Trace, lane: int) -> Iterator[tuple[float, int, int, Frame]]:
    """Yield the frames of a one-lane race as frames of lane number `lane`, with keys for merging.

    The keys are the lane's seconds, the lane's number and the frame's number.
    """
    seconds = 0.0
    for number, frame in enumerate(trace.frames):
        if frame.step is not None:
            seconds += frame.step.seconds.total
        # Frames in which a lane begins, before its first step, come first.
        begins = frame.step is None and frame.state is LaneState.RACING
        yield -1.0 if begins else seconds, lane, number, replace(frame, lane=lane)
