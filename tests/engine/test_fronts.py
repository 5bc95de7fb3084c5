"""Fronts: whatever each row commits of what it may, the picture is drawn once, and nothing beside
what is missing above it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.fronts import ELSEWHERE, Front, FrontTable, fronts, table_of


@dataclass
class Drawing:
    """A picture of `height` rows, pass by pass: how many tokens each row has, and the positions
    whose tokens are in the cache, in the order in which they came; -1 is the prompt's last."""

    height: int
    stride: int
    lag: int
    first: int
    window: int
    most: int
    counts: list[int] = field(default_factory=list)
    cached: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = [0] * self.height

    @property
    def length(self) -> int:
        return self.height * self.stride

    @property
    def drawn(self) -> set[int]:
        """The positions that have a token."""
        return {row * self.stride + c for row, n in enumerate(self.counts) for c in range(n)}

    @property
    def read(self) -> int:
        """How many rows are whole, from the top down, with their last token in the cache."""
        ends = range(self.stride - 1, self.length, self.stride)
        return next((row for row, end in enumerate(ends) if end not in self.cached), self.height)

    def row(self, front: Front) -> int:
        return (front.start - front.closing) // self.stride

    def passes(self, data: st.DataObject) -> Iterator[tuple[tuple[Front, ...], list[int]]]:
        """The fronts of each pass, and how many tokens each commits behind it: any number that it
        may, but the topmost one that is open at least one."""
        while len(self.drawn) < self.length:
            found = fronts(
                self.counts,
                self.read,
                stride=self.stride,
                lag=self.lag,
                first=self.first,
                window=self.window,
                most=self.most,
            )
            committed = list[int]()
            for front in found:
                least = not front.closing and not any(committed)
                committed.append(data.draw(st.integers(least, front.room + front.bonus)))
            yield found, committed
            for front, count in zip(found, committed, strict=True):
                behind = range(front.start, front.start + count)
                if front.closing or (count and not front.borrows):
                    self.cached.append(front.root)
                self.cached += behind[:-1]
                self.counts[self.row(front)] += count


@st.composite
def drawings(draw: st.DrawFn) -> Drawing:
    height, stride = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    lag, first, window = (draw(st.integers(1, stride)) for _ in range(3))
    return Drawing(height, stride, lag, first, window, draw(st.integers(1, height)))


@given(drawings(), st.data())
def test_each_position_is_drawn_once_below_one_that_was_there(
    drawing: Drawing, data: st.DataObject
) -> None:
    passes = 0
    for found, committed in drawing.passes(data):
        passes, drawn = passes + 1, drawing.drawn
        assert 1 <= len(found) <= drawing.most
        assert sum(committed) > 0
        for front, count in zip(found, committed, strict=True):
            positions = set(range(front.start, front.start + count))
            assert not positions & drawn
            assert {at // drawing.stride for at in positions} <= {drawing.row(front)}
            assert {at - drawing.stride for at in positions if at >= drawing.stride} <= drawn
    assert drawing.counts == [drawing.stride] * drawing.height
    assert passes <= drawing.length


@given(drawings(), st.data())
def test_a_front_is_the_window_of_a_row_that_has_begun(
    drawing: Drawing, data: st.DataObject
) -> None:
    stride = drawing.stride
    for found, _ in drawing.passes(data):
        rows, counts = [drawing.row(front) for front in found], drawing.counts
        assert rows == sorted(rows, key=lambda row: (counts[row] == stride, row))
        assert sorted(rows) == list(range(min(rows), min(rows) + len(rows)))
        for row, front in zip(rows, found, strict=True):
            count, above = counts[row], counts[row - 1] if row else stride
            assert above >= (drawing.first if row == 1 else drawing.lag)
            assert front.start == row * stride + count
            assert front.closing == (count == stride)
            assert front.borrows == (count == 0 and above < stride)
            newest = (row - 1) * stride + above - 1 if front.borrows else front.start - 1
            assert front.root == newest
            if front.closing:
                assert (front.fed, front.drafts, front.room, front.bonus) == (1, 0, 0, False)
                continue
            assert front.fed == min(drawing.window, stride - count)
            # The last token of the widest window has no draft, nor that of the picture.
            drafts = range(front.start, min(front.start + drawing.window, drawing.length) - 1)
            assert front.drafts == min(len(drafts), front.fed)
            assert front.room == min(front.drafts, above - count)
            assert front.room + front.bonus == min(front.fed, above - count)
        below = max(rows) + 1
        lag = drawing.first if below == 1 else drawing.lag
        assert len(found) == drawing.most or below == drawing.height or counts[below - 1] < lag, (
            "no row that has begun is left out"
        )


@given(drawings(), st.data())
def test_a_row_is_read_behind_all_tokens_that_are_above_it(
    drawing: Drawing, data: st.DataObject
) -> None:
    """They are in the cache or in the pass, each once: that of a row's end too."""
    for found, _ in drawing.passes(data):
        roots = [front.root for front in found if not front.borrows]
        assert sorted({*drawing.cached, *roots}) == sorted(drawing.cached + roots)
        for row in map(drawing.row, found):
            above = {at for at in drawing.drawn if at < (row + 1) * drawing.stride}
            assert above <= {*drawing.cached, *roots}
    assert sorted(drawing.cached) == list(range(-1, drawing.length - 1))


def rows_of(
    table: FrontTable[np.ndarray], found: tuple[Front, ...], length: int
) -> list[tuple[int, ...]]:
    """What a table says of each row of these fronts; all others must be padding."""
    described = []
    for row, (front, number) in enumerate(zip(table.front, table.number, strict=True)):
        columns = (table.asked, table.place, table.root, table.left, table.drafted)
        asked, place, root, left, drafted = (int(column[row]) for column in columns)
        if front < len(found) and number < found[front].fed:
            described.append((int(front), int(number), asked, place, root, left, drafted))
            assert table.at[front, number] == row
        else:
            assert (asked, place, left, drafted) == (length, length, -1, 0)
    return described


@given(drawings(), st.data())
def test_a_table_has_the_rows_of_its_fronts_and_padding_adds_nothing(
    drawing: Drawing, data: st.DataObject
) -> None:
    length, drafts = drawing.length, st.integers(0, drawing.length - 1)
    for found, _ in drawing.passes(data):
        left = data.draw(st.dictionaries(drafts, st.integers(0, 99), max_size=4))
        tight = table_of(found, left, length, 0, 0)
        padded = table_of(found, left, length, drawing.window, drawing.most)
        assert padded.at.shape == (drawing.most, drawing.window)
        assert len(padded.asked) == padded.at.size
        assert len(tight.asked) == sum(front.fed for front in found)
        expected = [
            (
                number,
                n,
                front.start + n,
                length if front.closing else front.start + n,
                ELSEWHERE if n else front.root,
                left.get(front.start + n, -1),
                n < front.drafts,
            )
            for number, front in enumerate(found)
            for n in range(front.fed)
        ]
        assert rows_of(tight, found, length) == rows_of(padded, found, length) == expected
        for table in (tight, padded):
            open_ones = [number for number, front in enumerate(found) if not front.closing]
            for number, front in enumerate(found):
                assert (table.room[number], table.bonus[number]) == (front.room, front.bonus)
                assert table.lower[number] == (number in open_ones[1:])
            assert not table.room[len(found) :].any()
            assert not table.bonus[len(found) :].any()
