"""The ways to a sequence: the decoder's passes, and the random numbers that decided them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from engine.decoders.verdict import Number, Pass, Way
from engine.decoders.window import WindowDecoder
from engine.trace import Status
from tools.judge.choices import Key
from tools.judge.enumeration import Node, StepOutcome, Walk, walked
from tools.judge.symbolic import settled

DIGITS = 12  # digits of a number that are kept; the others are rounding


class _Path(NamedTuple):
    """The likeliest series of passes that leads the walk `_Following` to a node.

    Attributes:
        status: the status with which the token at `_Following.position` was committed; "" before
            its commit.
        chance: the probability of the series of passes.
        passes: the passes.
    """

    status: str
    chance: float
    passes: tuple[Pass, ...]


def ways_to(decoder: WindowDecoder, sequence: Sequence[int], position: int) -> tuple[Way, ...]:
    """Return a Way to `sequence` for each status that its token at `position` can have.

    The likeliest status comes first.
    """
    following = _Following(decoder, tuple(sequence), position)
    walked(following)
    ways = sorted(following.ways.values(), key=lambda way: -way[0])
    return tuple(
        Way(status=path.status, chance=round(chance, DIGITS), passes=path.passes)
        for chance, path in ways
    )


class _Following(Walk):
    """A walk over the decodes that draw `sequence`.

    `ways` groups these decodes by the status with which they commit the token at `position`. For
    each status it has their total probability, and the likeliest of them as a `_Path`.
    """

    def __init__(self, decoder: WindowDecoder, sequence: tuple[int, ...], position: int) -> None:
        super().__init__(decoder)
        self.sequence, self.position = sequence, position
        self.ways: dict[str, tuple[float, _Path]] = {}

    def begin(self) -> Node:
        self.ways = {}
        node = super().begin()
        node.history = _Path("", 1.0, ())
        return node

    def leads_on(self, outcome: StepOutcome) -> bool:
        state, here = outcome.after, outcome.after.frontier
        tokens = state.ids(state.tokens[:here], torch.arange(here)).tolist()
        return tuple(tokens) == self.sequence[:here]

    def history(self, outcome: StepOutcome) -> _Path:
        before: _Path = outcome.before.history
        seen = _pass(outcome, {number: key for key, number in self.noise.numbers.items()})
        row = self.position - seen.start
        status = seen.statuses[row] if 0 <= row < len(seen.statuses) else before.status
        return _Path(status, before.chance * outcome.chance, (*before.passes, seen))

    def merge(self, history: _Path, other: _Path) -> _Path:
        return max(history, other, key=lambda path: path.chance)

    def key(self, history: _Path) -> Hashable:
        return history.status

    def end(self, node: Node) -> None:
        super().end(node)
        path: _Path = node.history
        chance, likeliest = self.ways.get(path.status, (0.0, path))
        self.ways[path.status] = chance + node.chance, self.merge(likeliest, path)


def _pass(outcome: StepOutcome, names: dict[int, Key]) -> Pass:
    n, after = outcome.before.state.frontier, outcome.after
    numbers = [
        Number(
            purpose=purpose.name.lower(),
            position=position,
            index=index[-1] if index else 0,
            low=round(low, DIGITS),
            high=round(high, DIGITS),
        )
        for k, (low, high) in sorted(outcome.numbers.items())
        for purpose, position, *index in [names[k]]
    ]
    window, v = outcome.window, outcome.verification
    statuses = settled(v.status)[: after.frontier - n].tolist()
    return Pass(
        start=n,
        drafts=tuple(settled(window.drafts)[:-1].tolist()),
        p=_rounded(v.p),
        q=_rounded(window.q[:-1]),
        numbers=tuple(numbers),
        committed=tuple(after.tokens[n : after.frontier].tolist()),
        statuses=tuple(Status(status).name.lower() for status in statuses),
        chance=round(outcome.chance, DIGITS),
    )


def _rounded(rows: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(round(value, DIGITS) for value in row) for row in rows.tolist())
