"""Forks: a race that draws a picture on from one of its tokens, as if another had been drawn."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from app.races.race_table import StoredRace
from app.races.request_values import request_of
from engine.decoders import DECODERS
from engine.infilling import FORK, MASKED, Infilling, Parent
from engine.race import Lane, RaceRequest
from engine.race.request import lane_names
from engine.settings import SettingError
from engine.trace import MAX_SEED, Trace
from engine.trace.shares import ONE


def fork_of(race: StoredRace, lane: Any, cell: Any, token: Any) -> RaceRequest:
    """Return the request of a race that draws a lane's picture on from `cell`.

    The picture begins with the lane's tokens before the cell in raster order, and with `token` in
    the cell. If `token` is None, the cell is drawn again, with another seed. All settings are the
    race's; lanes that cannot draw a picture on are left out. Raises SettingError where the values,
    which a browser may have sent, name no such fork.
    """
    trace = race.recording.trace
    header = trace.header
    if type(lane) is not int or not 0 <= lane < len(header.lanes):
        raise SettingError(f"lane is a number from 0 to {len(header.lanes) - 1} of this race.")
    tokens = trace.tokens(lane).tolist()
    if type(cell) is not int or not 0 <= cell < len(tokens):
        raise SettingError(f"cell is a number from 0 to {len(tokens) - 1} of this race's picture.")
    if MASKED in tokens[: cell + 1]:
        raise SettingError(
            "This lane stopped before it had drawn all tokens up to this one. Choose an earlier"
            " token."
        )
    if token is None and cell == 0:
        raise SettingError("This is the first token: press New seed for another whole picture.")
    if token is not None and cell == len(tokens) - 1:
        raise SettingError("This is the last token: nothing is left to draw on.")
    if token is not None and (type(token) is not int or not 0 <= token < header.vocab_size):
        raise SettingError(
            f"A token is a whole number from 0 to {header.vocab_size - 1}, not {token!r:.40}."
        )
    request = request_of(header)
    chosen = [] if token is None else [token]
    known = [*tokens[:cell], *chosen]
    known += [MASKED] * (len(tokens) - len(known))
    parent = Parent(race.id, header.seed, lane_names(header.lanes)[lane], cell)
    if token is not None:
        parent = replace(parent, instead=tokens[cell], p=_share(trace, lane, cell, token))
    drawing = [each for each in request.lanes if _draws_on(each)]
    return replace(
        request,
        seed=header.seed if chosen else random.randrange(MAX_SEED + 1),
        lanes=tuple(drawing) or (Lane("ar"),),
        infilling=Infilling(tuple(known), FORK, parent),
    )


def _draws_on(lane: Lane) -> bool:
    decoder = DECODERS[lane.decoder]
    return not (decoder.whole_only or decoder.infills)


def _share(trace: Trace, lane: int, cell: int, token: int) -> float | None:
    """Return p of a token at a cell that a lane drew; None if it is not recorded."""
    table, cells = trace.table(lane), trace.header.cells_of(lane)
    if cell not in cells:  # it was known from the start
        return None
    [row] = ((table.position == cells.index(cell)) & table.committed).nonzero()[0].tolist()
    at = (table.positions["top"][row] == token).nonzero()[0]
    return round(float(table.positions["top_shares"][row][at[0]] / ONE), 4) if len(at) else None
