"""Keyed randomness: every random number is a function of its key alone.

The key is (seed, stream, position, purpose, draw). The stream is 0 for whole pictures.

The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
2011). It is counter based and exact in integers, so a seed means the same on every device.
"""

from __future__ import annotations

from enum import IntEnum

import torch
from torch import Tensor

_MASK = 0xFFFFFFFF
_BLOCK = 32  # largest number of positions whose Gumbel noise is computed together
_DRAWS, _POSITIONS = 8, 48  # draws, and further positions, whose uniforms are computed together


class Purpose(IntEnum):
    """The purpose of a random number, which is part of its key; below 8."""

    NOISE = 0  # the Gumbel noise that vanilla AR, fixed-point iteration and SCD share
    VERIFY = 1  # acceptance, residual samples, redrawn drafts
    FRESH = 2  # initial tokens
    DRAFT = 3  # a drafter's samples
    CANDIDATE = 4  # further candidates of a tree
    COUPLING = 5  # keeping or redrawing a draft after the committed positions


def philox(counter: Tensor, key: tuple[int, int]) -> Tensor:
    """Turn counters, int64 [4, ...], into random numbers of the same shape, below 2**32.

    Each entry of the counters, and each number of the key, is below 2**32 too.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        # Products wrap modulo 2**64, which keeps both halves right.
        a, b = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1 = (b >> 32) & _MASK ^ c1 ^ k0, b & _MASK
        c2, c3 = (a >> 32) & _MASK ^ c3 ^ k1, a & _MASK
        k0, k1 = (k0 + 0x9E3779B9) & _MASK, (k1 + 0xBB67AE85) & _MASK
    return torch.stack([c0, c1, c2, c3])


class Noise:
    """The random numbers of one image.

    Gumbel noise is computed in blocks of at most 32 positions. A caller that reads one row of the
    grid alone passes the row's number of positions as `stride`. The blocks then divide a row about
    evenly, so that hardly any noise goes unused.

    `stream` is part of the uniform numbers' keys, and `gumbel_stream` of the Gumbel noise's. Both
    are below 2**29. An infilling has a stream of its own (`Infilling.stream`).
    """

    def __init__(
        self,
        seed: int,
        device: torch.device,
        stride: int = _BLOCK,
        stream: int = 0,
        gumbel_stream: int = 0,
    ) -> None:
        self.key, self.device = (seed & _MASK, seed >> 32 & _MASK), device
        self._streams = stream, gumbel_stream
        self._stride, self._block = stride, -(-stride // -(-stride // _BLOCK))
        self._gumbel: dict[int, Tensor] = {}
        # By purpose and count: a draw, a position, and the table that begins at these two.
        self._ahead: dict[tuple[Purpose, int], tuple[int, int, Tensor]] = {}
        self._seed, self._branches = seed, dict[int, Noise]()

    def branch(self, number: int) -> Noise:
        """Return the branch `number`, another Noise with the same random numbers.

        The branch is kept, and returned again for the same `number`. Branches only save time: a
        Noise computes numbers ahead, and drops them when it is read elsewhere. Rows of the grid
        that advance in turns would drop each other's numbers, so each reads its own branch.
        """
        if number not in self._branches:
            self._branches[number] = Noise(self._seed, self.device, self._stride, *self._streams)
        return self._branches[number]

    def uniform(self, purpose: Purpose, start: int, rows: int, draw: int, count: int) -> Tensor:
        """Return `count` numbers in (0, 1) for each of `rows` positions from `start` on.

        The result is [rows, count]. `draw`, such as a step's index, is part of the key: each draw
        has numbers of its own.

        The numbers are float64 with 52 random bits, so that sampling among 65,536 tokens is as
        exact as the tokens' probabilities. Numbers for many draws and positions are computed
        together, because one number costs as much as a block of numbers.
        """
        first, position, table = self._ahead.get((purpose, count), (draw, start, None))
        at, offset = draw - first, start - position
        if table is None or not (0 <= at < _DRAWS and 0 <= offset <= table.shape[1] - rows):
            at, offset = 0, 0
            table = self._table(purpose, start, rows + _POSITIONS, draw, count)
            self._ahead[purpose, count] = draw, start, table
        return table[at, offset : offset + rows]

    def _table(self, purpose: Purpose, start: int, rows: int, draw: int, count: int) -> Tensor:
        """Return the numbers of `uniform` for the draws from `draw` on, [_DRAWS, rows, count]."""
        words = self._words(
            purpose,
            torch.arange(start, start + rows, device=self.device),
            torch.arange(draw, draw + _DRAWS, device=self.device)[:, None],
            2 * count,
        )
        high, low = words[..., 0::2], words[..., 1::2]
        return ((high << 20 | low >> 12).double() + 0.5) * 2.0**-52

    def _words(self, purpose: Purpose, positions: Tensor, draws: Tensor, count: int) -> Tensor:
        """Return `count` numbers below 2**32 for each draw [D, 1] and position [P].

        The result is int64 [D, P, count].
        """
        blocks = -(-count // 4)
        shape = (4, len(draws), len(positions), blocks)
        counter = torch.empty(shape, dtype=torch.int64, device=self.device)
        counter[0] = torch.arange(blocks, device=self.device)
        stream = self._streams[purpose is Purpose.NOISE]
        counter[1], counter[3] = positions[:, None], draws[..., None]
        counter[2] = int(purpose) | stream << 3
        return philox(counter, self.key).movedim(0, -1).flatten(2)[..., :count]

    def gumbel(self, start: int, count: int, codes: int) -> Tensor:
        """Return standard Gumbel noise for `count` positions from `start` on.

        The result is float32 [count, codes]. A position has the same noise in every call. Noise is
        computed in blocks of positions, because one position costs as much as a block. Blocks
        before `start` are dropped, and computed again if they are read again.

        Each number is G = -log(-log(1 - v)), where v is a uniform number in steps of 2^-32. A rare
        token wins by a large G, and so by a small v. The steps are fine enough for a token of
        probability 1e-9 to win as often as it should.
        """
        size = self._block
        first, last = start // size, (start + count - 1) // size
        if first == last and (there := self._gumbel.get(first)) is not None:
            return there[start - first * size :][:count]
        self._gumbel = {block: noise for block, noise in self._gumbel.items() if block >= first}
        for block in range(first, last + 1):
            if block not in self._gumbel:
                positions = torch.arange(block * size, (block + 1) * size, device=self.device)
                draws = torch.zeros(1, 1, dtype=torch.int64, device=self.device)
                words = self._words(Purpose.NOISE, positions, draws, codes)[0]
                v = (words.double() + 0.5) * 2.0**-32
                self._gumbel[block] = -torch.log(-torch.log1p(-v)).float()
        blocks = [self._gumbel[block] for block in range(first, last + 1)]
        rows = blocks[0] if len(blocks) == 1 else torch.cat(blocks)
        return rows[start - first * size :][:count]
