"""Decodes some paths of an enumeration again, as a race decodes.

A path is one decode of the enumeration: its tokens, and the intervals of the random numbers that
lead to them. The enumeration took each turn by itself, from a copy of the state. Here the decoder's
own `steps` decodes a path from start to end, with real random numbers from the path's intervals.
`steps` must draw the path's tokens again, whatever was decoded before, and whatever the seed. If it
does not, the decoder keeps something outside the state, has a loop of its own or draws numbers of
its own.
"""

from __future__ import annotations

import copy
import itertools
import random
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.decoders.decode_state import DecodeState
from engine.decoders.window import WindowDecoder
from engine.numerics.randomness import Noise, Purpose
from engine.trace.steps import StepTable
from tools.judge.choices import Intervals, Key, NotEnumerable

PATHS = 6  # paths of an enumeration that are decoded again


class HiddenState(NotEnumerable):
    """The decoder does something that the enumeration of its turns does not see."""


@dataclass(frozen=True)
class Path:
    """A decode from its start to some pass; a whole path goes to the decode's end.

    Attributes:
        numbers: the intervals of the random numbers that decided the path.
        ends: the frontier after each pass of the path.
        tokens: the tokens of the plan's positions, if the path is whole; else ().
    """

    numbers: Intervals
    ends: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()


class Paths:
    """A random sample of the whole paths; its fixed seed gives the same sample each time.

    `kept` has at most PATHS paths. All paths that are added are equally likely to be among them.
    """

    def __init__(self) -> None:
        self.kept, self._seen = list[Path](), 0
        self._random = random.Random(0)

    def add(self, path: Path) -> None:
        self._seen += 1
        if len(self.kept) < PATHS:
            self.kept.append(path)
        elif (place := self._random.randrange(self._seen)) < PATHS:
            self.kept[place] = path

    def either(self, path: Path, other: Path) -> Path:
        """Return at random one of two paths that lead to the same state."""
        return path if self._random.random() < 0.5 else other


class GivenNoise(Noise):
    """Noise of a seed; a number that has an interval is scaled into this interval."""

    def __init__(self, seed: int, intervals: dict[Key, tuple[float, float]]) -> None:
        super().__init__(seed, torch.device("cpu"))
        self._intervals = intervals

    def branch(self, number: int) -> Noise:
        return self

    def uniform(self, purpose: Purpose, start: int, rows: int, draw: int, count: int) -> Tensor:
        values = super().uniform(purpose, start, rows, draw, count).clone()
        for row, i in itertools.product(range(rows), range(count)):
            low, high = self._intervals.get((purpose, start + row, draw, i), (0.0, 1.0))
            values[row, i] = low + (high - low) * values[row, i]
        return values

    def gumbel(self, start: int, count: int, codes: int) -> Tensor:
        """Return Gumbel noise [count, codes].

        For two codes a position's noise is (0, logit u). u is the position's uniform number, scaled
        into its interval if it has one. Code 0 is then sampled exactly if u is below the
        probability of code 0, as in `SymbolicNoise.gumbel`.
        """
        if codes != 2:
            return super().gumbel(start, count, codes)
        number = [
            self._intervals.get((Purpose.NOISE, start + row), (0.0, 1.0)) for row in range(count)
        ]
        shares = super().uniform(Purpose.NOISE, start, count, 0, 1)[:, 0]
        low, high = torch.tensor(number, dtype=torch.float64).T
        return torch.stack([torch.zeros(count), (low + (high - low) * shares).logit()], -1)


def decode_again(decoder: WindowDecoder, paths: Paths, numbers: dict[Key, int]) -> None:
    """Decode each kept path again, and check that it comes out the same.

    `numbers` maps the key of each random number to the integer under which paths store its
    interval. Raises HiddenState if a path comes out otherwise.
    """
    for seed, path in enumerate(paths.kept):
        intervals = {key: path.numbers[n] for key, n in numbers.items() if n in path.numbers}
        again = _with_noise(decoder, seed, GivenNoise(seed, intervals))
        try:
            steps = list(again.steps("", seed))
        except Exception as error:
            raise HiddenState(
                f"taken one by one, its turns draw {list(path.tokens)}, but its `steps` raises"
                f" {type(error).__name__}: {error}"
            ) from error
        ends = tuple(step.after for step in steps)
        tokens = tuple(StepTable.join([step.rows for step in steps]).tokens)
        if (ends, tokens) != (path.ends, path.tokens):
            raise HiddenState(
                f"taken one by one, its turns draw {list(path.tokens)} in passes that end at"
                f" {list(path.ends)}, but its `steps` draws {list(tokens)} in passes that end at"
                f" {list(ends)} from the same random numbers: it keeps something beside the state,"
                " or has a loop or random numbers of its own"
            )


def _with_noise(decoder: WindowDecoder, lane_seed: int, noise: Noise) -> WindowDecoder:
    """Return a copy of the decoder that uses `noise`, but only for the seed `lane_seed`."""
    twin = copy.copy(decoder)

    def begun(prompt: str, seed: int) -> DecodeState:
        state = type(decoder).begin(twin, prompt, seed)
        if seed == lane_seed:
            state.noise = noise
        return state

    twin.begin = begun  # type: ignore[method-assign]
    return twin
