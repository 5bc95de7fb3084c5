"""Checks of what a lane must do, whatever its distribution is.

They run on small models, and draw random numbers from a few seeds as a race does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch

from engine.core import ContractError, Plan
from engine.decoders.base import Decoder
from engine.decoders.outside import last_line
from engine.decoders.verdict import Check, source_of
from engine.infilling import Infilling
from engine.models.base import planned
from engine.race.captures import launched
from engine.settings import Settings
from engine.trace import Step
from engine.trace.steps import recorded
from tools.judge.cases import changed_knobs
from tools.judge.toys import InfillToy, Toy, ToyContext

SEEDS = range(3)
STATIC_SHAPES = "static shapes"  # the name of a check
Record = list[object]  # what the steps of a picture recorded


def pictures(kind: type[Decoder]) -> list[tuple[Toy, Plan]]:
    """Return the models, each with its plan, on which a decoder is checked.

    The pictures have forced tokens, or no forced tokens, or only a single token. A decoder that
    fills in is checked on one model.
    """
    if kind.infills:
        mask = [True, False, True, True, True, True]
        filling = Infilling.of_mask([0] * 6, mask, "spread")
        model, plan = planned(InfillToy((2, 3), 3), filling)
        assert isinstance(model, Toy)
        return [(model, plan)]
    models = [Toy((3, 4), 16), Toy((3, 4), 16, forced=True), Toy((1, 1), 4)]
    return [(model, model.plan) for model in models]


class Trial(NamedTuple):
    """A picture that a decoder draws for a check."""

    settings: Settings
    model: Toy
    plan: Plan
    seed: int


def _trials(kind: type[Decoder], every: Sequence[Settings]) -> list[Trial]:
    """Return the pictures of a check.

    The defaults, which come first, draw every picture with every seed. Each of the other settings
    draws a picture of several rows with one seed.
    """
    drawn = pictures(kind)
    trials = [Trial(every[0], *picture, seed) for picture in drawn for seed in SEEDS]
    return trials + [Trial(settings, *drawn[0], SEEDS[0]) for settings in every[1:]]


def check(kind: type[Decoder], every: Sequence[Settings]) -> list[Check]:
    """Return the checks of a decoder: that it decodes and, if it does, three others.

    The others are that a seed repeats its picture, that static shapes change nothing, and that no
    cache is left behind. `every` has all judged settings, the defaults first.
    """
    trials, drawn = _trials(kind, every), list[Record]()
    for trial in trials:
        try:
            drawn.append(recorded(_decoded(kind, trial)))
        except ContractError as error:
            words = f"It does not{_with(trial)}: {error}."
            return [Check(name="decodes", passed=False, words=words)]
        except Exception as error:
            words = _raised(kind, error, f"It raises an error{_with(trial)}")
            return [Check(name="decodes", passed=False, words=words)]
    decodes = Check(
        name="decodes",
        passed=True,
        words="Every pass commits a token at least, and every picture ends.",
    )
    again = list(zip(trials, drawn, strict=True))
    return [decodes, _repeats(kind, again), _static(kind, again), _closes(kind, again)]


def _with(trial: Trial) -> str:
    """Return the settings that differ from the defaults, to follow a word; "" if none does."""
    if trial.settings == type(trial.settings)():
        return ""
    return f" with {changed_knobs(trial.settings)}"


def _raised(kind: type[Decoder], error: Exception, when: str) -> str:
    source = source_of(kind)
    line = last_line(error, source) if source else None
    where = f" {source.name}, line {line}:" if source and line else ""
    return f"{when}:{where} {type(error).__name__}: {error}."


@torch.inference_mode()
def _decoded(kind: type[Decoder], trial: Trial, numbers: int = 0) -> list[Step]:
    """Return the steps of a picture, drawn while global generators have the seed `numbers`.

    Raises ContractError if a step commits nothing, or if the steps do not end with the picture.
    """
    settings, model, plan, seed = trial
    steps, frontier = list[Step](), 0
    with global_numbers(numbers):
        for step in kind(model, settings, plan=plan).steps("", seed):
            if step.before != frontier or step.after <= step.before:
                raise ContractError(f"a pass from position {step.before} on committed nothing")
            frontier = step.after
            if frontier > plan.length:
                break
            steps.append(step)
    if frontier != plan.length:
        raise ContractError(f"it ended after {frontier} tokens of {plan.length}")
    return steps


@contextmanager
def global_numbers(seed: int) -> Iterator[None]:
    """Seed Python's, NumPy's and PyTorch's global generators within this context."""
    states = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


def _of_all(
    kind: type[Decoder],
    same: Callable[[Trial, Record], bool],
    again: Sequence[tuple[Trial, Record]],
    name: str,
    good: str,
    bad: str,
    raising: str,
) -> Check:
    """Return the check `name`: whether `same` holds for all trials and what they recorded before.

    The check's words are `good` if `same` holds, else `bad`. If an error is raised, they begin with
    `raising`. They end with the first settings that show the fault, if these are not the defaults.
    """
    for trial, before in again:
        shown = f" This shows{_with(trial)}." if _with(trial) else ""
        try:
            passed = same(trial, before)
        except Exception as error:
            words = _raised(kind, error, raising)
            return Check(name=name, passed=False, words=words + shown)
        if not passed:
            return Check(name=name, passed=False, words=bad + shown)
    return Check(name=name, passed=True, words=good)


def _repeats(kind: type[Decoder], again: Sequence[tuple[Trial, Record]]) -> Check:
    def same(trial: Trial, before: Record) -> bool:
        return recorded(_decoded(kind, trial, numbers=1)) == before

    return _of_all(
        kind,
        same,
        again,
        "repeats",
        "One seed gives one picture, step for step.",
        "One seed gives other pictures from run to run: it draws from a global generator, or keeps"
        " something from picture to picture. Numbers of `state.uniform` and `state.gumbel` belong"
        " to the seed.",
        "With global generators in another state it raises an error",
    )


def _static(kind: type[Decoder], again: Sequence[tuple[Trial, Record]]) -> Check:
    def same(trial: Trial, before: Record) -> bool:
        with launched(trial.model, None, static=True):
            return recorded(_decoded(kind, trial)) == before

    return _of_all(
        kind,
        same,
        again,
        STATIC_SHAPES,
        "Windows that keep their width to the picture's end change nothing.",
        "With windows that keep their width to the picture's end, as CUDA graphs need them, it"
        " decodes another picture: drafts behind the end (`state.room`) count as accepted, or a"
        " number depends on the window's width.",
        "With windows that keep their width to the picture's end it raises an error",
    )


def _closes(kind: type[Decoder], again: Sequence[tuple[Trial, Record]]) -> Check:
    def same(trial: Trial, before: Record) -> bool:
        model, opened, start = trial.model, list[ToyContext](), trial.model.start

        def watched(*args: object, **kwargs: object) -> ToyContext:
            opened.append(start(*args, **kwargs))  # type: ignore[arg-type]
            return opened[-1]

        model.start = watched  # type: ignore[method-assign]
        try:
            with torch.inference_mode():
                steps = kind(model, trial.settings, plan=trial.plan).steps("", trial.seed)
                next(steps)
                steps.close()  # as a race that is stopped does
            _decoded(kind, trial)
        finally:
            del model.start
        return all(context.closed for context in opened)

    return _of_all(
        kind,
        same,
        again,
        "gives its cache back",
        "No cache is left behind by a picture, nor by one that is stopped.",
        "A cache is left behind: close it in a `finally`, since a race may stop between two steps.",
        "Stopped between two steps it raises an error",
    )
