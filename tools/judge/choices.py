"""The choices that a decoder's random numbers decide.

A decoder compares a uniform number with a threshold, or inverts a cumulative sum at that number. So
what the decoder does is a piecewise constant function of its random numbers. Here a number has no
value, only an interval that it lies in, at first (0, 1). A choice narrows the interval. The same
number can decide again later: the decoder may have kept it, or may ask the noise for it again. The
later choice is made within the narrowed interval. A run, with its `Choices`, follows one piece of
the function. `outcomes` yields every piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Intervals = dict[int, tuple[float, float]]  # by number
Key = tuple[Any, ...]  # of a number: its purpose and position first

LATER = 1 << 40  # values from here on stand for outcomes that nothing has read
NEGLIGIBLE = 1e-15  # this share of an interval is rounding


class NotEnumerable(Exception):
    """A use of a random number that depends on its exact value; the message says which."""


class _Made(NamedTuple):
    picks: list[tuple[int, int]]
    intervals: Intervals
    narrowed: set[int]
    weight: float


class Choices:
    """The choices of one run.

    `script` says which option each of the first choices takes; later choices take the first
    option. `weight` is the probability of the choices so far.
    """

    def __init__(self, script: list[int], intervals: Intervals) -> None:
        self.script, self.picks = list(script), list[tuple[int, int]]()  # option, number of options
        self.intervals, self.narrowed = dict(intervals), set[int]()
        self.weight = 1.0
        self.later: list[Callable[[], int] | int] = []

    def __or__(self, later: Choices) -> Intervals:
        """Return the intervals of the numbers that a choice narrowed in this run or in `later`.

        `later` continues this run. So a number that both have narrowed has its interval from
        `later`.
        """
        intervals = self.intervals | later.intervals
        return {number: intervals[number] for number in self.narrowed | later.narrowed}

    def state(self) -> _Made:
        """Return a copy of the choices so far, for `restore`."""
        return _Made(list(self.picks), dict(self.intervals), set(self.narrowed), self.weight)

    def restore(
        self, state: _Made, later: list[Callable[[], int] | int], script: list[int]
    ) -> None:
        """Go back to an earlier `state`; the choices from there on follow `script`.

        `later` is a copy of this object's list `later` from the same moment. So postponed choices
        that were made since then are open again. Afterwards `picks` lists only the choices made
        from this state on.
        """
        self.script, self.picks, self.later = list(script), [], list(later)
        self.intervals, self.narrowed = dict(state.intervals), set(state.narrowed)
        self.weight = state.weight

    def part(self, number: int, bounds: list[float]) -> int:
        """Choose a part of (0, 1) in which the number lies; return the part's index.

        Part i reaches from bounds[i] to bounds[i + 1]. Only a part that overlaps the number's
        interval can be chosen, and the choice narrows the interval.
        """
        low, high = self.intervals.get(number, (0.0, 1.0))
        parts = [(max(low, a), min(high, b)) for a, b in pairwise(bounds)]
        size = (high - low) * NEGLIGIBLE
        options = [i for i, (a, b) in enumerate(parts) if b - a > size]
        if len(options) == 1:
            return options[0]
        place = len(self.picks)
        pick = self.script[place] if place < len(self.script) else 0
        self.picks.append((pick, len(options)))
        a, b = self.intervals[number] = parts[options[pick]]
        self.narrowed.add(number)
        self.weight *= (b - a) / (high - low)
        return options[pick]

    def postpone(self, choice: Callable[[], int]) -> int:
        self.later.append(choice)
        return LATER + len(self.later) - 1

    def value(self, outcome: int) -> int:
        if outcome < LATER:
            return outcome
        result = self.later[outcome - LATER]
        if callable(result):
            result = self.later[outcome - LATER] = int(result())
        return result


def outcomes(
    run: Callable[[], T], intervals: Intervals, read: Callable[[T], Any] = lambda computed: computed
) -> Iterator[tuple[Choices, Any]]:
    """Yield the choices and the value of every outcome of a computation.

    `run` runs again for each further option of a choice that it makes. But `run` may postpone a
    choice. That choice is made when `read` reads its result, or when the caller reads it before
    asking for the next outcome. For each further option of a postponed choice only `read` runs
    again, on the same result of `run`. A postponed choice that nobody reads is never made.

    Args:
        run: the computation.
        intervals: the intervals that numbers lie in at first.
        read: makes the yielded value from the result of `run`; by default it is that result.
    """
    script: list[int] = []
    while True:
        choices = Choices(script, intervals)
        _CURRENT.set(choices)
        computed = run()
        state, later = choices.state(), list(choices.later)
        reading: list[int] = []
        while True:
            _CURRENT.set(choices)
            choices.restore(state, later, reading)
            yield choices, read(computed)
            if not _next(choices.picks, reading):
                break
        if not _next(state.picks, script):
            return


def _next(picks: list[tuple[int, int]], script: list[int]) -> bool:
    """Change `script` to the next run's script; return False if there is no next run.

    `picks` has, for each choice of the last run, the option taken and the number of options.
    """
    while picks and picks[-1][0] == picks[-1][1] - 1:
        picks.pop()
    script[:] = [pick for pick, _ in picks]
    if script:
        script[-1] += 1
    return bool(script)


_CURRENT: ContextVar[Choices] = ContextVar("choices")
_RECORDING: ContextVar[bool] = ContextVar("recording", default=False)


def current() -> Choices:
    """Return the choices of the current run."""
    return _CURRENT.get()


def is_recording() -> bool:
    """Return whether the context `recording` is active."""
    return _RECORDING.get()


@contextmanager
def recording() -> Iterator[None]:
    """Read a random number's value as NaN within this context, instead of raising an error."""
    before = _RECORDING.set(True)
    try:
        yield
    finally:
        _RECORDING.reset(before)
