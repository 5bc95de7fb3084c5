"""The cases enumerated for a decoder: small models, each with some of the settings to judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from engine.core import Plan
from engine.decoders.window import WindowDecoder
from engine.settings import Settings, knobs
from tools.judge.choices import NotEnumerable
from tools.judge.enumeration import (
    CLOSE,
    Enumeration,
    Joint,
    TooManyOutcomes,
    distance,
    enumerated,
    joint_variation,
    sequences,
)
from tools.judge.replay import HiddenState
from tools.judge.standard import LARGER, SMALL, StandardToy
from tools.judge.toys import Toy

# The limits are runs of a pass's verification, so that what is judged does not depend on the
# processor; a slow one does some 300 a second.
RUNS_A_CASE = 2500
# After this many runs on one model no further settings are begun.
RUNS_SMALL, RUNS_CHOICES, RUNS_LARGER = 5000, 6000, 500


@dataclass(frozen=True)
class Case:
    """The enumeration of a decoder on one model, with one plan and some settings.

    Attributes:
        joint: the decoder's joint distribution over the plan's sequences.
        expected: the model's own joint distribution over the same sequences.
    """

    standard: StandardToy
    model: Toy
    plan: Plan
    settings: Settings
    found: Enumeration
    joint: Joint
    expected: Joint

    @cached_property
    def difference(self) -> float:
        """The largest difference, over sequences, between decoder's and model's probability."""
        return distance(self.joint, self.expected)

    @property
    def differs(self) -> bool:
        return self.difference > CLOSE

    @cached_property
    def variation(self) -> float:
        """Total variation of the two joint distributions; 0 if they differ by rounding only."""
        return joint_variation(self.joint, self.expected) if self.differs else 0.0


@cache
def standard_toys() -> tuple[tuple[StandardToy, Toy, Plan, Joint], ...]:
    """Return each entry of SMALL and LARGER with its model, plan and joint distribution.

    The first call must be within `exactly`, so that all is in float64.
    """
    built = [(each, *each.build()) for each in (*SMALL, *LARGER)]
    return tuple((each, model, plan, model.joint_distribution(plan)) for each, model, plan in built)


EnumerationResult = Enumeration | NotEnumerable | TooManyOutcomes


def enumerate_on(
    number: int, kind: type[WindowDecoder], every: Sequence[Settings]
) -> Iterator[tuple[Settings, EnumerationResult]]:
    """Enumerate as many settings on a standard model as the limit on runs allows.

    Yields pairs: a Settings object, and its enumeration or the reason why there is none. Must be
    called within `exactly`.

    Args:
        number: the model's number among the standard ones.
        kind: the decoder.
        every: the settings, the defaults first.
    """
    standard, model, plan, _ = standard_toys()[number]
    # Most settings of a decoder that draws several rows at once differ only on several rows.
    small, runs = standard in SMALL or (kind.whole_only and min(model.grid) > 1), 0
    distinct = _distinct(every, max(plan.length, model.vocab_size))
    tried, most = _from(distinct[1:], 0 if small else number), RUNS_SMALL if small else RUNS_LARGER
    if standard.choices:
        tried, most = (each for each in distinct[1:] if _has_default_numbers(each)), RUNS_CHOICES
    for settings in (distinct[0], *tried):
        if runs >= most:
            break
        try:
            enumeration = enumerated(kind(model, settings, plan=plan), RUNS_A_CASE)
            runs += enumeration.runs
            yield settings, enumeration
        except TooManyOutcomes as error:
            runs += RUNS_A_CASE
            yield settings, error
        except NotEnumerable as error:
            yield settings, error
        except Exception as error:  # it decodes with real numbers, so open numbers are the reason
            reason = f"with its numbers left open it raises {type(error).__name__}: {error}"
            yield settings, NotEnumerable(reason)


@dataclass
class Cases:
    """All cases of a decoder.

    Attributes:
        done: the enumerated cases, smallest models first.
        left_out: the cases that took too long, in words.
        not_enumerable: the reasons why something could not be enumerated, as keys: each reason
            once, the earliest first.
        hidden: whether the decoder does something that an enumeration does not see.
    """

    done: list[Case] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    not_enumerable: dict[str, None] = field(default_factory=dict)
    hidden: bool = False

    @property
    def smallest(self) -> Case:
        """The cheapest differing case on the smallest model that has one.

        If no case differs, the cheapest case on the smallest model.
        """
        some = [case for case in self.done if case.differs] or self.done
        first = [case for case in some if case.standard is some[0].standard]
        return min(first, key=lambda case: case.found.runs)

    @property
    def differs(self) -> bool:
        return any(case.differs for case in self.done)

    def add(
        self,
        number: int,
        kind: type[WindowDecoder],
        results: Iterable[tuple[Settings, EnumerationResult]],
    ) -> None:
        """Add the results that `enumerate_on` yielded for a model."""
        standard, model, plan, expected = standard_toys()[number]
        for settings, each in results:
            if isinstance(each, TooManyOutcomes):
                self.left_out.append(f"{standard.words}, {changed_knobs(settings)}")
            elif isinstance(each, NotEnumerable):
                self.not_enumerable[str(each)] = None
                self.hidden |= isinstance(each, HiddenState)
            else:
                own = sequences(each.joint, kind(model, settings, plan=plan), plan)
                self.done.append(Case(standard, model, plan, settings, each, own, expected))


def _distinct(every: Sequence[Settings], size: int) -> list[Settings]:
    """Return the settings that remain different if all whole numbers above `size` count as equal.

    A window that is wider than the picture, for example, acts as any wider window does. The first
    of several equal settings is kept.
    """
    representatives = dict[tuple[object, ...], Settings]()
    for settings in every:
        values = (getattr(settings, name) for name, _, _ in knobs(type(settings)))
        whole = (min(v, size + 1) if type(v) is int else v for v in values)
        representatives.setdefault(tuple(whole), settings)
    return list(representatives.values())


def _has_default_numbers(settings: Settings) -> bool:
    return all(
        getattr(settings, name) == default
        for name, _, default in knobs(type(settings))
        if type(default) in (int, float)
    )


def _from(settings: Sequence[Settings], turn: int) -> Iterator[Settings]:
    """Yield all settings in cyclic order; `turn` decides which come first.

    A larger model's number is its `turn`. The limit on runs leaves out the last settings, so not
    all larger models should begin with the same ones.
    """
    for i in range(len(settings)):
        yield settings[(i + 5 * turn) % len(settings)]


def changed_knobs(settings: Settings) -> str:
    """Return in words the knobs that differ from their defaults, each with its value."""
    values = [
        f"{name} = {getattr(settings, name)}"
        for name, _, default in knobs(type(settings))
        if getattr(settings, name) != default
    ]
    return ", ".join(values) or "its defaults"
