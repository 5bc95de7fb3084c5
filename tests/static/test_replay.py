"""Replay equals live: what the page draws after each step is the same whether the wire has come so
far or as a whole, and is what the decoders left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from engine.trace import Frame, Header
from tests.static.node import report
from tests.visualize.races import ROWS, run, snapshots
from visualize.board.board import token_hash


def left(header: Header, frames: list[Frame], lane: int) -> list[list[str]]:
    """The hashes of a lane's tokens and statuses after each step, from the steps themselves."""
    committed: list[Any] = []
    out = [[token_hash([]), token_hash([])]]
    for frame in frames:
        if frame.lane == lane and frame.step:
            table, cells = frame.step.rows, np.array(header.cells)
            sampled = cells[table.position] >= 0
            rows = list(frame.step.positions[sampled])
            count = (sampled & table.committed).sum()
            shown = committed + rows
            committed += rows[:count]
            hashes = (token_hash(int(row[name]) for row in shown) for name in ("token", "status"))
            out.append([*hashes])
    return out


def test_replay_equals_live_at_every_step() -> None:
    order = np.random.default_rng(1).permutation(36).tolist()
    races = []
    for forced in (False, True):  # ends of line
        header, frames = run(side=6, forced=forced)
        cells = tuple(order[cell] if cell >= 0 else -1 for cell in header.cells)
        races += [(header, frames, 1), (header, frames, 7)]
        races.append((replace(header, cells=cells), frames, 7))
        races.append((*run(ROWS, side=6, forced=forced), 3))
    said = report("replays", [[shot.wire() for shot in snapshots(*race)] for race in races])
    for (header, frames, _), (live, replayed) in zip(races, said, strict=True):
        assert live == replayed
        assert live == [left(header, frames, i) for i in range(len(header.lanes))]
        # there was something to tell apart
        assert all(len({tokens for tokens, _ in lane}) > 3 for lane in live)
