"""Fronts: the rows of a picture that have a window each in one pass, and what they may commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

ELSEWHERE = -2  # where no root stands: the prompt's last token is at -1


@dataclass(frozen=True, slots=True)
class Front:
    """One row's window. `fed` tokens ask for as many positions (in raster order) from `start` on;
    the first `drafts` of these have one, of which the first `room` are tested. Where all of them
    are accepted, the position behind gets a token too if there is a `bonus`.

    `root` is where the first token stands, the row's newest: -1 for the prompt's last. A row
    without a token borrows (`borrows`) the newest of the row above while that has not ended. A row
    that has ended is `closing`: its last token is read once more, for the rows below it."""

    start: int
    fed: int
    root: int
    drafts: int = 0
    room: int = 0
    bonus: bool = False
    borrows: bool = False
    closing: bool = False


def fronts(
    counts: Sequence[int], read: int, *, stride: int, lag: int, first: int, window: int, most: int
) -> tuple[Front, ...]:
    """Of the next pass, from the top down, then that of a row that has ended; at most so many.
    `counts` [h] is how many tokens of its `stride` each row has, of which the first `read` rows are
    whole, their last tokens read.

    A row begins once the row above has `lag` tokens, the second once the first has `first`, and
    commits a token only below one that is there: no row passes the one above. Its drafts may run
    ahead of that."""
    found, ended = list[Front](), list[Front]()
    length, above = len(counts) * stride, stride
    for row in range(read, len(counts)):
        count, start = counts[row], row * stride + counts[row]
        if above < (first if row == 1 else lag) or len(found) + len(ended) == most:
            break
        left, limit = stride - count, above - count
        if not left:
            if counts[row + 1]:  # else the row below begins behind that very token
                ended.append(Front(start, 1, start - 1, closing=True))
        else:
            drafts = min(window - 1, left, length - 1 - start)
            borrows = bool(row) and not count and above < stride
            found.append(
                Front(
                    start=start,
                    fed=min(window, left),
                    root=start - 1 - (stride - above) * borrows,
                    drafts=drafts,
                    room=min(drafts, limit),
                    bonus=drafts < limit,
                    borrows=borrows,
                )
            )
        above = count
    return (*found, *ended)


Array = TypeVar("Array")


class FrontTable(NamedTuple, Generic[Array]):
    """The fronts as whole numbers, for R rows of the window: those of one front after another's,
    the root first. With static shapes there are as many fronts as there can be, each as wide as it
    can be, and the rest is padding.

    `asked` [R]: the position that a row asks for, the picture's length of padding; `place` [R]: the
    same, but the length of a closing row; `root` [R]: where a root's token stands, ELSEWHERE of the
    other rows; `left` [R]: which row of the last pass left the position's draft, -1 for none;
    `drafted` [R]: whether it has one; `front` and `number` [R]: which front, and which of its rows.
    `at` [F, W]: the rows of each front, its last one repeated. `room`, `bonus` and `lower` [F]: as
    in Front, and whether another one that is open is above it."""

    asked: Array
    place: Array
    root: Array
    left: Array
    drafted: Array
    front: Array
    number: Array
    at: Array
    room: Array
    bonus: Array
    lower: Array


def table_of(
    found: Sequence[Front], left: Mapping[int, int], length: int, width: int, most: int
) -> FrontTable[np.ndarray]:
    """Of a picture of `length` positions; `left`: of positions with a draft, which row of the last
    pass left it. `width` and `most`: the shape, where it is static; 0 where it is as they need."""
    every = [*found, *[Front(length, 0, 0)] * (most - len(found))]
    sizes = np.array([width or each.fed for each in every])
    first, front = np.cumsum(sizes) - sizes, np.arange(len(every)).repeat(sizes)
    number = np.arange(sizes.sum()) - first[front]

    facts = [(f.start, f.fed, f.root, f.drafts, f.room, f.bonus, f.closing) for f in every]
    start, fed, root, drafts, room, bonus, is_closing = np.array(facts, dtype=np.int64).T
    there = number < fed[front]
    asked = np.where(there, start[front] + number, length)
    return FrontTable(
        asked=asked,
        place=np.where(is_closing[front], length, asked),
        root=np.where(number, ELSEWHERE, root[front]),
        left=np.array([left.get(position, -1) for position in asked.tolist()]),
        drafted=np.asarray(number < drafts[front], dtype=np.int64),
        front=front,
        number=number,
        at=first[:, None] + np.minimum(np.arange(sizes.max()), sizes[:, None] - 1),
        room=room,
        bonus=bonus,
        lower=(np.arange(len(every)) > 0) * (1 - is_closing),
    )
