"""Checks a step table that anyone may have written: could a race have left these numbers?

The checks run in the order of this file. Each raises PackingError, which says what is wrong, and
may rely on the checks before it.
"""

from __future__ import annotations

import numpy as np

from engine.trace.rows import Source, Status
from engine.trace.shares import NONE
from engine.trace.steps import StepTable
from engine.trace.streams import PackingError

MAX_TOKEN = 2**31 - 1  # the largest forced id
_TRIED = ("p", "q", "acceptance", "uniform")  # the shares of a candidate
_FLOATS = {"groups": ("p", "q"), "rejections": ("uniform", "p", "q")}


def check_step_rows(table: StepTable, length: int, rejections: int) -> None:
    """Check that `steps` agrees with the sequence's `length` and with the sizes of other tables.

    The other tables are `positions`, `places`, `prices` and the rejections. The file holds
    `rejections` rejections, which `table` need not contain yet.
    """
    steps = table.steps
    if (steps["positions"] < 1).any() or table.first[-1] != len(table.positions):
        raise PackingError("its steps do not add up to its positions")
    if (steps["committed"] < 1).any() or (steps["committed"] > steps["positions"]).any():
        raise PackingError("a step commits nothing, or more than it touched")
    if (np.diff(steps["nfe"].astype(np.int64), prepend=0) < 1).any():
        raise PackingError("its forward passes do not count up")
    if len(table.places):
        _check_places(table, length)
    elif (table.frontier[:-1] + steps["positions"] > length).any():
        raise PackingError("a position lies outside the grid")
    if (steps["rejected"] > 1).any() or steps["rejected"].sum() != rejections:
        raise PackingError("its rejections do not add up")
    if len(table.prices) and not len(table.prices) == length == table.frontier[-1]:
        raise PackingError("its prices do not add up")


def _check_places(table: StepTable, length: int) -> None:
    """Check `places`, which gives the sequence position of each row of `positions`.

    A step must not touch a position twice, nor a position that an earlier step committed.
    """
    if len(table.places) != len(table.positions):
        raise PackingError("its places do not add up to its positions")
    position = table.position
    if (position >= length).any():
        raise PackingError("a position lies outside the grid")
    order = np.lexsort((table.step, position))
    same = np.diff(position[order]) == 0
    if (np.diff(table.step[order])[same] == 0).any():
        raise PackingError("a step touches a position twice")
    if table.committed[order[:-1]][same].any():
        raise PackingError("a step touches a position that is committed")


def check_refs(table: StepTable) -> None:
    """Check that the rows of `positions` refer to rows that exist.

    `distributions`, `groups` and `candidates` must have exactly as many rows as `positions` refers
    to. A draft whose q is its position's p in an earlier step needs that step's row.
    """
    if (table.positions["refs"] & 8).any():
        raise PackingError("a position refers to what there is not")
    if (table.earlier[table.source == Source.BEFORE] < 0).any():
        raise PackingError("a draft's distribution is not where its position says")
    counts = {
        "distributions": table.source == Source.OWN,
        "groups": table.has_group,
        "candidates": table.candidate_counts,
    }
    for name, count in counts.items():
        if count.sum(dtype=np.int64) != len(table.arrays()[name]):
            raise PackingError(f"its {name} do not add up")


def check_positions(table: StepTable, cells: np.ndarray, codes: int) -> None:
    """Check the rows of `positions`.

    `cells` are as in the trace's header; `codes` is the size of the vocabulary.
    """
    rows = table.positions
    forced = cells[table.position] < 0
    if (rows["token"] >= np.where(forced, MAX_TOKEN, codes)).any():
        raise PackingError("a token lies outside the vocabulary")
    has_draft = rows["draft"] != NONE
    if (rows["draft"][has_draft] >= codes).any():
        raise PackingError("a draft lies outside the vocabulary")
    if (rows["status"] > max(Status)).any():
        raise PackingError("a position has no status that there is")
    if (rows["top1"] == NONE).any():
        raise PackingError("a probability is not a number")
    _check_top(rows, codes)
    if (~has_draft[table.source == Source.CERTAIN]).any():
        raise PackingError("a draft's distribution is not where its position says")
    if (~has_draft[table.rejecting]).any():
        raise PackingError("a rejection has no draft in the vocabulary")


def check_details(table: StepTable, codes: int) -> None:
    """Check the rows of other tables to which the rows of `positions` refer.

    `codes` is the size of the vocabulary.
    """
    arrays, rejected = table.arrays(), table.rejections["tokens"]
    _check_top(table.distributions, codes)
    _check_tokens(table.groups["neighbours"], codes)
    _check_tokens(rejected, codes)
    if ((rejected[:, 1:] <= rejected[:, :-1]) & (rejected[:, 1:] != NONE)).any():
        raise PackingError("the tokens of a rejection do not ascend")
    count = table.groups["count"]
    listed = (table.groups["neighbours"] != NONE).sum(-1)
    if (count < 1 + listed).any() or (count > codes).any():
        raise PackingError("a group has more tokens than there can be")
    if (table.candidates["token"] >= codes).any():
        raise PackingError("a candidate lies outside the vocabulary")
    if any((table.candidates[name] == NONE).any() for name in _TRIED):
        raise PackingError("a probability is not a number")
    for name, fields in _FLOATS.items():
        for values in (arrays[name][field] for field in fields):
            if not np.isfinite(values).all():
                raise PackingError("a probability is not a number")
            if ((values < -1e-3) | (values > 1.001)).any():
                raise PackingError("a probability lies outside 0 to 1")


def _check_top(rows: np.ndarray, codes: int) -> None:
    _check_tokens(rows["top"], codes)
    if (rows["top_shares"] == NONE).any():
        raise PackingError("a probability is not a number")


def _check_tokens(tokens: np.ndarray, codes: int) -> None:
    """Check lists of tokens, each padded with NONE at its end."""
    known = tokens != NONE
    if (tokens[known] >= codes).any():
        raise PackingError("a token lies outside the vocabulary")
    if (known[:, 1:] & ~known[:, :-1]).any():
        raise PackingError("a list of tokens has a gap")
