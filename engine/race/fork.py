"""Forks: infillings that keep the beginning of a lane's picture and draw the rest anew."""

from __future__ import annotations

from typing import Any

from engine.infilling import FORK, MASKED, Infilling, Parent
from engine.race.request import lane_names
from engine.settings import SettingError
from engine.trace import Trace
from engine.trace.shares import NONE, ONE


def fork(trace: Trace, race: str, lane: Any, cell: Any, token: Any) -> Infilling:
    """Return the infilling that keeps a lane's picture up to `cell` and draws the rest.

    The known cells are those before `cell` in raster order, with the lane's tokens, and `cell` with
    `token`. If `token` is None, `cell` is drawn again. `race` is the race's id.

    The values may come from a browser. Raises SettingError for an unknown lane, cell or token, for
    a cell that the lane did not reach, or if no token would be kept, or none would be drawn.
    """
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
    name, known = lane_names(header.lanes)[lane], tokens[:cell]
    if token is None:
        if cell == 0:
            raise SettingError("This is the first token: press New seed for another whole picture.")
        parent = Parent(race, header.seed, name, cell)
    else:
        if cell == len(tokens) - 1:
            raise SettingError("This is the last token: nothing is left to draw on.")
        if type(token) is not int or not 0 <= token < header.vocab_size:
            raise SettingError(
                f"A token is a whole number from 0 to {header.vocab_size - 1}, not {token!r:.40}."
            )
        known = [*known, token]
        p = _probability(trace, lane, cell, token)
        parent = Parent(race, header.seed, name, cell, tokens[cell], p)
    return Infilling((*known, *[MASKED] * (len(tokens) - len(known))), FORK, parent)


def _probability(trace: Trace, lane: int, cell: int, token: int) -> float | None:
    """Return the p of a token in a cell of a lane's picture, or None if it is not recorded."""
    table, cells = trace.table(lane), trace.header.cells_of(lane)
    if cell not in cells:  # it was known from the start
        return None
    [row] = ((table.position == cells.index(cell)) & table.committed).nonzero()[0].tolist()
    at = table.positions[row]
    shares = dict(zip(at["top"].tolist(), at["top_shares"].tolist(), strict=True))
    shares.setdefault(int(at["draft"]), int(at["p"]))
    share = shares.get(token, NONE)
    return None if share == NONE else float(f"{share / ONE:.3g}")
