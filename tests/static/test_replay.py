"""Replay equals live: what the page draws after each step is the same whether the wire has come so
far or as a whole, and is what the decoders left."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records import Frame
from engine.trace import Header
from tests.static.node import report
from tests.visualize.races import pixels, run
from visualize.board import Board, token_hash


def snapshots(header: Header, frames: list[Frame], every: int) -> list[dict[str, Any]]:
    board = Board(header, pixels)
    shots = [board.snapshot()]
    for i, frame in enumerate(frames):
        board.fold(frame)
        if i % every == 0:
            shots.append(board.snapshot())
    return [*shots, board.snapshot()]


def left(header: Header, frames: list[Frame], lane: int) -> list[list[str]]:
    """The hashes of a lane's tokens and statuses after each step, from the steps themselves."""
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
    live, replayed = report("replay", snapshots(header, frames, every))
    assert live == replayed
    assert live == [left(header, frames, i) for i in range(len(header.lanes))]
    assert all(
        len({tokens for tokens, _ in lane}) > 3 for lane in live
    )  # there was something to tell apart
