"""What of a decoder is enumerated: small models, each with some corners of its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from engine.decoders.window import WindowDecoder
from engine.judge.enumeration import (
    CLOSE,
    Enumeration,
    Joint,
    TooManyOutcomes,
    distance,
    enumerated,
    sequences,
    total_variation,
)
from engine.judge.standard import LARGER, SMALL, Standard
from engine.judge.symbolic import NotEnumerable
from engine.judge.toys import Toy
from engine.plan import Plan
from engine.settings import Settings, knobs

# Runs of a pass's verification, of which a slow processor takes some 300 a second: what is judged
# does not depend on how fast it is.
RUNS_A_CASE = 2500
RUNS_SMALL, RUNS_LARGER = 2000, 500  # of one model; its first settings are judged beyond that


@dataclass(frozen=True)
class Case:
    """A model, a plan of its pictures and a decoder's settings, and what was enumerated of them:
    the decoder's joint distribution over the plan's sequences, and the model's own."""

    standard: Standard
    model: Toy
    plan: Plan
    settings: Settings
    found: Enumeration
    joint: Joint
    expected: Joint

    @cached_property
    def difference(self) -> float:
        """The largest between the probabilities of a sequence."""
        return distance(self.joint, self.expected)

    @property
    def differs(self) -> bool:
        return self.difference > CLOSE

    @cached_property
    def variation(self) -> float:
        """Total variation of whole sequences; 0 where they do not differ but for rounding."""
        return total_variation(self.joint, self.expected) if self.differs else 0.0


@dataclass
class Cases:
    """What was enumerated, smallest models first; what took too long, in words; and why something
    could not be enumerated."""

    done: list[Case] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    not_enumerable: dict[str, None] = field(default_factory=dict)  # the reasons, in order

    @property
    def smallest(self) -> Case:
        """Of those that differ, if any: of the first model the one of the fewest outcomes."""
        some = [case for case in self.done if case.differs] or self.done
        first = [case for case in some if case.standard is some[0].standard]
        return min(first, key=lambda case: case.found.runs)


@cache
def standards() -> tuple[tuple[Standard, Toy, Plan, Joint], ...]:
    """The small models with their joint distributions, made in float64."""
    built = [(each, *each.build()) for each in (*SMALL, *LARGER)]
    return tuple((each, model, plan, model.joint_distribution(plan)) for each, model, plan in built)


def enumerate_cases(
    kind: type[WindowDecoder], every: Sequence[Settings], say: Callable[[str], None]
) -> Cases:
    """`every`: the settings, the defaults first. `exactly` must be in use."""
    cases, turn = Cases(), 0
    for standard, model, plan, joint in standards():
        if not standard.suits(kind):
            continue
        say(standard.words)
        most, runs = RUNS_SMALL if standard in SMALL else RUNS_LARGER, 0
        for settings in (every[0], *_from(every[1:], turn)):
            if runs >= most:
                break
            decoder = kind(model, settings, plan=plan)
            try:
                found = enumerated(decoder, RUNS_A_CASE)
            except TooManyOutcomes:
                runs += RUNS_A_CASE
                cases.left_out.append(f"{standard.words}, {in_words(settings)}")
                continue
            except NotEnumerable as error:
                cases.not_enumerable[str(error)] = None
                break
            except Exception as error:  # it decodes real numbers, so these are the reason
                reason = f"with its numbers left open it raises {type(error).__name__}: {error}"
                cases.not_enumerable[reason] = None
                break
            runs += found.runs
            own = sequences(found.joint, decoder, plan)
            cases.done.append(Case(standard, model, plan, settings, found, own, joint))
        turn += standard not in SMALL
    return cases


def _from(settings: Sequence[Settings], turn: int) -> Iterator[Settings]:
    """From another one on each turn, so that the larger models meet different settings."""
    for i in range(len(settings)):
        yield settings[(i + 5 * turn) % len(settings)]


def in_words(settings: Settings) -> str:
    """The values that are not the defaults."""
    values = [
        f"{name} = {getattr(settings, name)}"
        for name, _, default in knobs(type(settings))
        if getattr(settings, name) != default
    ]
    return ", ".join(values) or "its defaults"
