"""The orders of a decode: functions that make a `Plan`. A decoder's rule runs over whichever it is
given."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from engine.core import Plan
from engine.infilling import MASKED, Infilling
from engine.settings import SettingError


def whole(grid: tuple[int, int], forced: Sequence[int]) -> Plan:
    """All of a picture in raster order, given the ids forced at each slot, or -1."""
    count = itertools.count()
    cells = tuple(-1 if token >= 0 else next(count) for token in forced)
    return Plan(cells, tuple(range(len(forced))), tuple(forced), len(forced) // grid[0])


def below(plan: Plan, infilling: Infilling) -> Plan:
    """A whole plan behind the first masked cell: all before it is known. Positions, and the noise
    keyed by them, count from 0: the seed that drew the known part draws another rest than before.
    """
    k = plan.cells.index(infilling.known.index(MASKED))
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
    )


def anywhere(grid: tuple[int, int], infilling: Infilling) -> Plan:
    """The masked cells in the infilling's order, behind the known ones in raster order; of a model
    whose slots are the cells."""
    cells = infilling.cells(grid)
    known = tuple((cell, code) for cell, code in enumerate(infilling.known) if code != MASKED)
    forced = (-1,) * len(cells)
    return Plan(cells, cells, forced, len(cells), known, infilling, ahead=True)


def rolling(plan: Plan) -> Plan:
    """A whole plan whose rows advance each at its own pace: positions stay in raster order, and in
    which order they are committed is not known before. Raises SettingError where it has no rows."""
    if plan.infilling:
        raise SettingError("What is filled in has no rows to draw at once.")
    return replace(plan, fronts=True)
