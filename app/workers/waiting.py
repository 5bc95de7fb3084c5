"""Waiting: a race that has not begun."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.models.supply.card import ModelCard
from engine.race import RaceRequest
from engine.trace import Header
from visualize.board.board import Board
from visualize.board.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Waiting:
    """A race that was asked for and has not begun.

    `note` says what the race waits for. `machine` is empty if it is not known which machine
    will run the race.
    """

    request: RaceRequest
    card: ModelCard
    machine: str = ""
    note: str = ""

    def board(self) -> Snapshot:
        """Return the board of this race, on which the lanes are still empty.

        The board has no swatches and no forced tokens, which are not known before the model is
        loaded.
        """
        request, card = self.request, self.card
        infilling, whole = request.infilling, tuple(range(card.grid[0] * card.grid[1]))
        header = Header(
            prompt=request.prompt,
            seed=request.seed,
            model=card.name,
            grid=card.grid,
            vocab_size=card.codes,
            cells=infilling.cells(card.grid) if infilling else whole,
            sampling=request.sampling,
            lanes=tuple(lane.plain() for lane in request.lanes),
            machine=self.machine,
            infilling=infilling,
        )
        board = Board(header, lambda tokens: np.zeros((*tokens.shape, 3), np.uint8))
        board.note = self.note
        return board.snapshot()
