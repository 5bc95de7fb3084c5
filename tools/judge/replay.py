"""Paths of an enumeration, decoded again as a race decodes them.

They are decoded with the decoder's own `steps`, from real random numbers that lie in the path's
intervals. The enumeration takes each turn by itself, from a copy of the state. The decoder does
the same only if it keeps nothing outside the state, has no loop of its own and draws no numbers
of its own. Then every path comes out again, whatever was decoded before it, and whatever the
seed.
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
    """A decode from its start on.

    Attributes:
        numbers: the intervals of the numbers that decided.
        ends: the frontiers after its passes.
        tokens: the tokens of the plan's positions, if the path is whole.
    """

    numbers: Intervals
    ends: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()


class Paths:
    """Some whole paths, each equally likely to be kept; the same ones in every run."""

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
        """Return one of two paths that lead to the same state."""
        return path if self._random.random() < 0.5 else other


class GivenNoise(Noise):
    """A seed's numbers, each moved into its interval if it has one."""

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
        """Return noise; two codes get the noise of the number that `SymbolicNoise.gumbel` uses."""
        if codes != 2:
            return super().gumbel(start, count, codes)
        number = [
            self._intervals.get((Purpose.NOISE, start + row), (0.0, 1.0)) for row in range(count)
        ]
        shares = super().uniform(Purpose.NOISE, start, count, 0, 1)[:, 0]
        low, high = torch.tensor(number, dtype=torch.float64).T
        return torch.stack([torch.zeros(count), (low + (high - low) * shares).logit()], -1)


def decode_again(decoder: WindowDecoder, paths: Paths, numbers: dict[Key, int]) -> None:
    """Decode each kept path again; `numbers` are those of its intervals, by their keys.

    Raises HiddenState if one comes out otherwise.
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
    """Return the decoder, with numbers from `noise` for a lane with the seed `lane_seed` only."""
    twin = copy.copy(decoder)

    def begun(prompt: str, seed: int) -> DecodeState:
        state = type(decoder).begin(twin, prompt, seed)
        if seed == lane_seed:
            state.noise = noise
        return state

    twin.begin = begun  # type: ignore[method-assign]
    return twin
