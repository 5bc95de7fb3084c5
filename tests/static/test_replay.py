"""Replay equals live: what the page draws after each step is the same whether the wire has come so
far or as a whole, and is what the decoders left."""

from __future__ import annotations

from typing import Any

import pytest

from engine.trace import Frame, Header
from tests.static.driving import node
from tests.visualize.races import pixels, run
from visualize.board import Board, token_hash

# The hashes of every lane after every one of its steps, from a wire received snapshot by snapshot,
# and from the last alone.
CODE = """
    const drawn = (lane, k) => hashesOf(lane, laneAt(lane, k));
    const live = shots[0].lanes.map(() => []);
    let race = null;
    for (const shot of shots) {
      race = decodeRace(shot, race);
      race.lanes.forEach((lane, i) => {
        for (let k = live[i].length; k <= lane.count; k++) live[i].push(drawn(lane, k));
      });
    }
    const whole = decodeRace(shots[shots.length - 1], null);
    const replayed = whole.lanes.map((lane) => [...Array(lane.count + 1).keys()].map((k) => drawn(lane, k)));
    return [live, replayed];
"""


def snapshots(header: Header, frames: list[Frame], every: int) -> list[dict[str, Any]]:
    board = Board(header, pixels)
    shots = [board.snapshot()]
    for i, frame in enumerate(frames):
        board.fold(frame)
        if i % every == 0:
            shots.append(board.snapshot())
    return [*shots, board.snapshot()]


def left(header: Header, frames: list[Frame], lane: int) -> list[list[str]]:
    """The hashes of a lane's tokens and statuses after each of its steps, from the records
    themselves."""
    free = [token < 0 for token in header.forced_ids]
    committed: list[Any] = []
    out = [[token_hash([]), token_hash([])]]
    for frame in frames:
        if frame.lane == lane and frame.step:
            committed += [p for p in frame.step.committed if free[p.position]]
            shown = committed + [p for p in frame.step.window if free[p.position]]
            out.append(
                [token_hash([p.token for p in shown]), token_hash([int(p.status) for p in shown])]
            )
    return out


@pytest.mark.parametrize("forced", [False, True], ids=["plain", "ends of line"])
@pytest.mark.parametrize("every", [1, 7])
def test_replay_equals_live_at_every_step(forced, every) -> None:
    header, frames = run(side=6, forced=forced)
    live, replayed = node(CODE, shots=snapshots(header, frames, every))
    assert live == replayed
    assert live == [left(header, frames, i) for i in range(len(header.lanes))]
    # there was something to tell apart
    assert all(len({tokens for tokens, _ in lane}) > 3 for lane in live)
