"""Fronts: when several rows of the grid are drawn at once, each row's window in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

ELSEWHERE = -2  # for a window row that is no root; -1 stands for the prompt's last token


@dataclass(frozen=True, slots=True)
class Front:
    """The window of one grid row in one pass.

    Attributes:
        start: the first position that the front asks for; positions are in raster order.
        fed: number of tokens that the front reads. Each asks for one position: `start` and those
            after it.
        root: position of the first token that the front reads: the row's newest token. If the row
            has no tokens, the root is the newest token of the row above. If the first row has none,
            the root is -1, the prompt's last token.
        drafts: number of positions from `start` on that have a draft.
        room: number of drafts that are tested, from the first on.
        bonus: whether the position after the tested drafts gets a token if all of them are
            accepted.
        borrows: whether the root stands in for the last token of the row above. It does so if this
            row has no token and the row above is incomplete.
        closing: whether the row is complete. Its last token is then read once more, for the rows
            below.
    """

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
    """Return the next pass's fronts, top row first, at most `most` of them; closing rows come last.

    A row begins once the row above has `lag` tokens; the second row begins once the first has
    `first` tokens. A row commits a token only below a committed token, so its tokens never overtake
    the row above. A row's drafts may overtake the row above.

    Args:
        counts: number of tokens that each row has [h].
        read: number of complete rows at the top whose last token has been read.
        stride: number of tokens in a row.
        lag: tokens that a row needs before the row below it begins.
        first: tokens that the first row needs before the second row begins.
        window: largest number of tokens that a front reads.
        most: largest number of fronts.
    """
    open_fronts, ended = list[Front](), list[Front]()
    length, above = len(counts) * stride, stride
    for row in range(read, len(counts)):
        count, start = counts[row], row * stride + counts[row]
        if above < (first if row == 1 else lag) or len(open_fronts) + len(ended) == most:
            break
        remaining_tokens, limit = stride - count, above - count
        if not remaining_tokens:
            if counts[row + 1]:  # else the row below begins by reading that very token
                ended.append(Front(start, 1, start - 1, closing=True))
        else:
            drafts = min(window - 1, remaining_tokens, length - 1 - start)
            borrows = bool(row) and not count and above < stride
            open_fronts.append(
                Front(
                    start=start,
                    fed=min(window, remaining_tokens),
                    root=start - 1 - (stride - above) * borrows,
                    drafts=drafts,
                    room=min(drafts, limit),
                    bonus=drafts < limit,
                    borrows=borrows,
                )
            )
        above = count
    return (*open_fronts, *ended)


Array = TypeVar("Array")


class FrontTable(NamedTuple, Generic[Array]):
    """The F fronts of a pass as columns of whole numbers; R is the number of window rows.

    Window rows are ordered by front, and each front's root comes first. W is the number of rows of
    the widest front. With static shapes F and W always have their largest values, and rows that no
    front needs are padding. In `asked` and `place` the picture's length stands for no position.

    Attributes:
        asked: position that each row asks for [R]; padding asks for none.
        place: position that may get a token from the row [R]. It is as in `asked`, except that rows
            of closing fronts give no position a token.
        root: position of each root's token [R]; ELSEWHERE for rows that are no roots.
        left: row of the previous verification that has the draft for each row's asked position
            [R]; -1 if there is none.
        drafted: whether the row has a draft [R].
        front: index of each row's front [R].
        number: index of each row within its front [R].
        at: indices of each front's window rows, padded with the front's last row [F, W].
        room: as in Front [F].
        bonus: as in Front [F].
        lower: whether the front is neither the first nor closing [F].
    """

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
    pass_fronts: Sequence[Front], draft_rows: Mapping[int, int], length: int, width: int, most: int
) -> FrontTable[np.ndarray]:
    """Return the table of a pass's fronts.

    Args:
        pass_fronts: the fronts.
        draft_rows: maps positions to rows of the previous verification. The row's token is the
            position's draft.
        length: number of positions in the picture.
        width: with static shapes, the width of every front; if 0, each front is as wide as it needs
            to be.
        most: with static shapes, the number of fronts, padding included; if 0, there is no padding.
    """
    every = [*pass_fronts, *[Front(length, 0, 0)] * (most - len(pass_fronts))]
    sizes = np.array([width or each.fed for each in every])
    first, front = np.cumsum(sizes) - sizes, np.arange(len(every)).repeat(sizes)
    number = np.arange(sizes.sum()) - first[front]

    facts = [(f.start, f.fed, f.root, f.drafts, f.room, f.bonus, f.closing) for f in every]
    start, fed, root, drafts, room, bonus, is_closing = np.array(facts, dtype=np.int64).T
    there = number < fed[front]
    targets = np.where(there, start[front] + number, length)
    return FrontTable(
        asked=targets,
        place=np.where(is_closing[front], length, targets),
        root=np.where(number, ELSEWHERE, root[front]),
        left=np.array([draft_rows.get(position, -1) for position in targets.tolist()]),
        drafted=np.asarray(number < drafts[front], dtype=np.int64),
        front=front,
        number=number,
        at=first[:, None] + np.minimum(np.arange(sizes.max()), sizes[:, None] - 1),
        room=room,
        bonus=bonus,
        lower=(np.arange(len(every)) > 0) * (1 - is_closing),
    )
