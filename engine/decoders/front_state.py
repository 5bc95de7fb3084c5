"""Decode state when every row of the grid has its own window."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from engine.clock import to_device
from engine.core import Verification
from engine.decoders.base import Decoder
from engine.decoders.decode_state import DecodeState
from engine.fronts import Front, FrontTable, fronts, table_of
from engine.numerics.randomness import Noise, Purpose


class Pace(NamedTuple):
    """How fast the rows of a picture advance.

    A row begins once the row above has `lag` tokens; the second row begins once the first has
    `first` tokens. The window of each picture row has `width` window rows. At most `most` picture
    rows advance at once.
    """

    lag: int
    first: int
    width: int
    most: int


class _Laid(NamedTuple):
    """The layout of a pass.

    A front is the window of one grid row in the pass (`engine.fronts`). The table of `fronts` is
    held as NumPy arrays (`numbers`), as one tensor (`flat`), and as views of that tensor (`table`).
    `roots` has the window row of each front's root, and `targets` the position that each window row
    asks for. `there` has the window rows whose position is still without a token. Padding is not
    among these, nor are the rows of closing fronts, which read a complete grid row's last token
    once more.
    """

    fronts: tuple[Front, ...]
    numbers: FrontTable[np.ndarray]
    flat: Tensor
    table: FrontTable[Tensor]
    roots: tuple[int, ...]
    targets: tuple[int, ...]
    there: frozenset[int]


class FrontState(DecodeState):
    """The state of a decode in which each row of the grid has a window.

    Positions are in raster order, and `tokens` at uncommitted positions mean nothing. `counts` has
    the number of committed tokens in each grid row, and `table` the layout of the next pass.
    """

    in_order = False

    def __init__(self, decoder: Decoder, prompt: str, seed: int) -> None:
        self._pace: Pace = decoder.pace  # type: ignore[attr-defined]
        super().__init__(decoder, prompt, seed)

    def _allocate(self, seed: int, device: torch.device) -> None:
        super()._allocate(seed, device)
        stride = self.plan.stride
        self.noise = Noise(seed, device, stride)
        self.counts, self._read = (0,) * (self.plan.length // stride), 0
        self._committed = list[int]()  # positions, in the order in which they were committed
        self._lay({})

    def _lay(self, draft_rows: dict[int, int]) -> None:
        """Lay out the next pass; `draft_rows` is as in `table_of`."""
        length, static = self.plan.length, self.slot.keeps
        before = self.counts, self._read, tuple(draft_rows.items())
        laid = _laid(fronts, *before, self._pace, self.plan.stride, length, static=static)
        self._pass, self.table = laid, laid.table
        if static or self.n.device.type != "cpu":
            flat = to_device(laid.flat, self.n.device)  # one copy
            self.table = _views(self.slot.place("table", flat), laid.numbers)

    @property
    def fronts(self) -> tuple[Front, ...]:
        """The fronts of the next pass."""
        return self._pass.fronts

    @property
    def numbers(self) -> FrontTable[np.ndarray]:
        """`table` as NumPy arrays on the host."""
        return self._pass.numbers

    def _draw(self, purpose: Purpose, rows: int, count: int) -> Tensor:
        """Return `count` random numbers for each window row's position: [window rows, count].

        A number depends only on the seed, the position, the purpose and the step. Grid rows that
        advance at the same time read different branches of the noise (`Noise.branch`), only to save
        time. All branches have the same numbers, but each computes numbers ahead, for one grid row.
        """
        stride, parts = self.plan.stride, list[Tensor]()
        sizes = np.bincount(self.numbers.front).tolist()
        for front, size in zip(self.fronts, sizes, strict=False):
            start = front.start - front.closing
            noise = self.noise.branch(start // stride % self._pace.most)
            if purpose is Purpose.NOISE:
                parts.append(noise.gumbel(start, size, count))
            else:
                parts.append(noise.uniform(purpose, start, size, self.step, count))
        if unused := sum(sizes[len(parts) :]):
            parts.append(torch.zeros(unused, count, device=self.n.device))
        return torch.cat(parts)

    def commit_order(self) -> Tensor:
        return torch.tensor(self._committed, device=self.n.device)

    def _after(self, path: Sequence[int]) -> tuple[int, ...]:
        """Return each grid row's number of tokens once the window rows on `path` are committed."""
        return _counts(
            self.counts, tuple(self._pass.targets[row] for row in path), self.plan.stride
        )

    def known_until(self, path: Sequence[int]) -> int:
        stride = self.plan.stride
        short = ((row, count) for row, count in enumerate(self._after(path)) if count < stride)
        return next((row * stride + count for row, count in short), self.plan.length)

    def kept(self, path: Sequence[int]) -> list[int]:
        """Return the window rows that stay in the cache.

        The rows on the path stay, except borrowed roots. A borrowed root stands in for the last
        token of the grid row above, which does not exist yet (`Front.borrows`). The rows of closing
        fronts stay too: they read the last token of a complete grid row, for the rows below
        (`Front.closing`).
        """
        roots = list(zip(self._pass.roots, self.fronts, strict=False))
        borrowed = {row for row, front in roots if front.borrows}
        ended = {row for row, front in roots if front.closing}
        return sorted((set(path) - borrowed) | ended)

    def commit(self, verification: Verification, path: list[int]) -> None:
        count = len(path)
        assert verification.places is not None
        self.tokens[verification.places[:count]] = verification.tokens[:count]
        self.drafts = self.fixed("drafts", verification.tokens)
        self.q, self.path = self.fixed("q", verification.q), path
        targets, stride = self._pass.targets, self.plan.stride
        self._committed += [targets[row] for row in path]
        # The verification has the committed rows first, then the others.
        others = sorted(self._pass.there.difference(path))
        draft_rows = {targets[row]: count + n for n, row in enumerate(others)}
        self.counts = self._after(path)
        for front in self.fronts:
            row, column = divmod(front.start, stride)
            began = not column and not front.borrows and self.counts[row] > 0
            if front.closing or began:  # its root, which stays, is the last token of the row above
                self._read = row
        if self.frontier + count < self.plan.length:
            self._lay(draft_rows)
        self._advance(count)


@functools.lru_cache(maxsize=1024)  # ZipAR's layouts are the same in every picture
def _laid(
    fronts: Callable[..., tuple[Front, ...]],
    counts: tuple[int, ...],
    read: int,
    draft_rows: tuple[tuple[int, int], ...],
    pace: Pace,
    stride: int,
    length: int,
    *,
    static: bool,
) -> _Laid:
    """Return the layout of the next pass, given the number of tokens in each grid row (`counts`).

    `fronts` is the function `engine.fronts.fronts`, and `read` is its argument: the number of
    complete rows at the top whose last token has been read. `draft_rows` is as in `table_of`, in
    pairs.
    """
    pass_fronts = fronts(
        counts,
        read,
        stride=stride,
        lag=pace.lag,
        first=pace.first,
        window=pace.width,
        most=pace.most,
    )
    shape = (pace.width, pace.most) if static else (0, 0)
    numbers = table_of(pass_fronts, dict(draft_rows), length, *shape)
    flat = torch.from_numpy(np.concatenate([part.ravel() for part in numbers]))
    roots = tuple(np.flatnonzero(numbers.number == 0).tolist())
    there = frozenset(np.flatnonzero(numbers.place < length).tolist())
    targets = tuple(numbers.asked.tolist())
    return _Laid(pass_fronts, numbers, flat, _views(flat, numbers), roots, targets, there)


@functools.lru_cache(maxsize=1024)
def _counts(before: tuple[int, ...], positions: tuple[int, ...], stride: int) -> tuple[int, ...]:
    counts = list(before)
    for position in positions:
        counts[position // stride] += 1
    return tuple(counts)


def _views(flat: Tensor, numbers: FrontTable[np.ndarray]) -> FrontTable[Tensor]:
    """Return the table as views of `flat`, which holds the table's columns one after another."""
    parts = list(torch.split(flat, [part.size for part in numbers]))
    at = FrontTable._fields.index("at")
    parts[at] = parts[at].view(numbers.at.shape)
    return FrontTable(*parts)
