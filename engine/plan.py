"""The orders of a decode: functions that make a `Plan`. A decoder's rule runs over any plan."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from engine.core import Plan
from engine.infilling import MASKED, Infilling
from engine.settings import SettingError


def whole(grid: tuple[int, int], forced: Sequence[int]) -> Plan:
    """Return the plan of a whole picture in raster order.

    `forced` has the id that is forced in each slot, or -1.
    """
    count = itertools.count()
    cells = tuple(-1 if token >= 0 else next(count) for token in forced)
    return Plan(cells, tuple(range(len(forced))), tuple(forced), len(forced) // grid[0])


def below(plan: Plan, infilling: Infilling) -> Plan:
    """Return the part of a whole plan from the first masked cell on; the part before is known.

    The returned plan's positions count from 0. Noise and the setting `guided_tokens` go by these
    positions. In a fork they go by the positions in the whole picture instead. Raises SettingError
    if the known cells are not the first of the plan.
    """
    drawn = [infilling.known[cell] for cell in plan.cells if cell >= 0]
    if MASKED in drawn[: len(drawn) - infilling.masked]:
        raise SettingError(
            "What is known is not the beginning of a picture: this model draws in another order."
        )
    k = next(
        i for i, cell in enumerate(plan.cells) if cell >= 0 and infilling.known[cell] == MASKED
    )
    ids = [
        infilling.known[cell] if cell >= 0 else token
        for cell, token in zip(plan.cells[:k], plan.forced, strict=False)
    ]
    return replace(
        plan,
        cells=plan.cells[k:],
        slots=plan.slots[k:],
        forced=plan.forced[k:],
        known=tuple(zip(plan.slots, ids, strict=False)),
        infilling=infilling,
        before=k if infilling.forks else 0,
        stream=infilling.stream,
    )


def anywhere(grid: tuple[int, int], infilling: Infilling) -> Plan:
    """Return a plan that fills in the masked cells in the infilling's order.

    `known` has the known cells in raster order. The model's slots must be the grid's cells.
    """
    cells = infilling.cells(grid)
    known = tuple((cell, code) for cell, code in enumerate(infilling.known) if code != MASKED)
    forced = (-1,) * len(cells)
    return Plan(
        cells, cells, forced, len(cells), known, infilling, stream=infilling.stream, ahead=True
    )


def rolling(plan: Plan) -> Plan:
    """Return a whole picture's plan in which the rows of the grid advance independently.

    Positions stay in raster order, but the order in which they are committed is not known in
    advance. Raises SettingError for an infilling's plan.
    """
    if plan.infilling:
        raise SettingError("What is filled in has no rows to draw at once.")
    return replace(plan, fronts=True)
