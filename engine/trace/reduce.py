"""Traces of long races with less detail, so that their files can be read."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

import numpy as np

from engine.trace.rows import Source
from engine.trace.steps import StepTable


class Dropped(Enum):
    """A kind of detail that a file can leave out; the first member is left out first."""

    REJECTIONS = "rejections"  # the table `rejections`: the distributions of rejected drafts
    DRAFTS = "drafts"  # the rows of positions that a step did not commit


def without_rejections(table: StepTable) -> StepTable:
    """Return the table without rows in `rejections`."""
    steps = table.steps.copy()
    steps["rejected"] = 0
    return replace(table, steps=steps, rejections=table.rejections[:0])


def without_drafts(table: StepTable) -> StepTable:
    """Return the table with only the rows of committed positions.

    A position whose q was stored as the p of an earlier row then has no q, since that row is gone.
    """
    keep, steps = table.committed, table.steps.copy()
    steps["positions"] = steps["committed"]
    positions = table.positions[keep].copy()
    positions["refs"] &= np.where(table.source[keep] == Source.BEFORE, ~np.uint8(3), 0xFF)
    own = table.source == Source.OWN
    return replace(
        table,
        steps=steps,
        positions=positions,
        distributions=table.distributions[keep[own]],
        groups=table.groups[keep[table.has_group]],
        candidates=table.candidates[np.repeat(keep, table.candidate_counts)],
        places=table.places[keep[: len(table.places)]],
    )


DROP = {Dropped.REJECTIONS: without_rejections, Dropped.DRAFTS: without_drafts}
