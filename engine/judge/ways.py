"""The ways in which a decoder comes to a sequence: the passes, and the numbers that decided."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch

from engine.decoders.window import WindowDecoder
from engine.judge.choices import known_numbers
from engine.judge.enumeration import Node, StepOutcome, Walk, walked
from engine.judge.symbolic import settled
from engine.numerics.randomness import Purpose
from engine.trace import Status


@dataclass(frozen=True, slots=True)
class Number:
    """A uniform number as a pass left it: what it is for, the position that it belongs to, which of
    that position's numbers it is, and the interval that its outcomes confine it to."""

    purpose: Purpose
    position: int
    index: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a decode: from position `start` on its drafts [H], the model's p [rows, V] and
    the drafts' q [H, V], the numbers that decided, and the tokens it committed."""

    start: int
    drafts: list[int]
    p: list[list[float]]
    q: list[list[float]]
    numbers: list[Number]
    committed: list[int]
    statuses: list[Status]
    chance: float


@dataclass(frozen=True, slots=True)
class Way:
    """Ways to a sequence on which one of its tokens was committed with the same status (None: not
    yet). `chance` of them all, but where it is the history of a node, that of `passes`, the
    likeliest of them."""

    status: Status | None
    chance: float
    passes: tuple[Pass, ...]


def ways_to(decoder: WindowDecoder, sequence: Sequence[int], position: int) -> list[Way]:
    """By the status with which the token at `position` was committed, the likeliest first."""
    following = _Following(decoder, tuple(sequence), position)
    walked(following)
    return sorted(following.ways.values(), key=lambda way: -way.chance)


class _Following(Walk):
    """Goes on behind the outcomes that lead to a sequence alone."""

    def __init__(self, decoder: WindowDecoder, sequence: tuple[int, ...], position: int) -> None:
        super().__init__(decoder)
        self.sequence, self.position = sequence, position
        self.ways: dict[Status | None, Way] = {}
        self._likeliest: dict[Status | None, float] = {}

    def begin(self) -> Node:
        self.ways, self._likeliest = {}, {}
        node = super().begin()
        node.history = Way(None, 1.0, ())
        return node

    def leads_on(self, outcome: StepOutcome) -> bool:
        state, here = outcome.after, outcome.after.frontier
        tokens = state.ids(state.tokens[:here], torch.arange(here)).tolist()
        return tuple(tokens) == self.sequence[:here]

    def history(self, outcome: StepOutcome) -> Way:
        before: Way = outcome.before.history
        seen = _pass(outcome)
        row = self.position - seen.start
        status = seen.statuses[row] if 0 <= row < len(seen.statuses) else before.status
        return Way(status, before.chance * outcome.chance, (*before.passes, seen))

    def merge(self, history: Way, other: Way) -> Way:
        return max(history, other, key=lambda way: way.chance)

    def key(self, history: Way) -> Hashable:
        return history.status

    def end(self, node: Node) -> None:
        super().end(node)
        way: Way = node.history
        chance = node.chance + (self.ways[way.status].chance if way.status in self.ways else 0.0)
        passes = way.passes
        if way.chance <= self._likeliest.get(way.status, 0.0):
            passes = self.ways[way.status].passes
        self._likeliest[way.status] = max(way.chance, self._likeliest.get(way.status, 0.0))
        self.ways[way.status] = Way(way.status, chance, passes)


def _pass(outcome: StepOutcome) -> Pass:
    n, after = outcome.before.state.frontier, outcome.after
    names = known_numbers()
    numbers = [
        Number(purpose, position, index[-1] if index else 0, low, high)
        for k, (low, high) in sorted(outcome.numbers.items())
        for purpose, position, *index in [names[k]]
    ]
    window, v = outcome.window, outcome.verification
    return Pass(
        start=n,
        drafts=settled(window.drafts)[:-1].tolist(),
        p=v.p.tolist(),
        q=window.q[:-1].tolist(),
        numbers=numbers,
        committed=after.tokens[n : after.frontier].tolist(),
        statuses=[Status(int(s)) for s in settled(v.status)[: after.frontier - n]],
        chance=outcome.chance,
    )
