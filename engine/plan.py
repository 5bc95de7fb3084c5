"""Plan: the order of a decode, as a value. A decoder's rule runs over whichever it is given.

A model numbers the tokens of its pictures by *slots*: raster order, forced tokens between. A decode
numbers those that it fills in by *positions*, in the order in which it does. A row of a forward
pass that asks for a token stands its query in the slot before that token's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from engine.infilling import MASKED, Infilling
from engine.settings import SettingError


@dataclass(frozen=True)
class Plan:
    """Of each position its grid cell, -1 of a forced one, its slot, and the id forced there, or -1.

    `known` are the slots and ids of tokens that are there before the start, in the order in which a
    model reads them. `stride` is how many positions a row of the grid is from the next, all of them
    where there are no rows. `ahead`: a row may ask for any position; else for the one behind its
    own token. `fronts`: several rows of the grid are drawn at once, so that a token's slot, and not
    when it came, says which others see it: a row of a window stands where its query does, and sees
    what stands no later, but of tokens that are not committed those alone that it follows. Raises
    ValueError where the columns do not fit."""

    cells: tuple[int, ...]
    slots: tuple[int, ...]
    forced: tuple[int, ...]
    stride: int
    known: tuple[tuple[int, int], ...] = ()
    infilling: Infilling | None = None
    ahead: bool = False
    fronts: bool = False

    def __post_init__(self) -> None:
        if not len(self.cells) == len(self.slots) == len(self.forced):
            raise ValueError("a plan says of each position its cell, its slot and what is forced")

    @property
    def length(self) -> int:
        """How many positions there are, forced ones included."""
        return len(self.slots)

    @cached_property
    def has_forced(self) -> bool:
        """Whether any position is forced."""
        return max(self.forced) >= 0

    @property
    def root(self) -> int:
        """The slot of the token before the first position; -1: the prompt's last."""
        return self.known[-1][0] if self.known else -1


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
