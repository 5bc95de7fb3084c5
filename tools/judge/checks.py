"""Checks of what a lane must do, whatever its distribution is.

They run on small models, and draw random numbers from a few seeds as a race does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
from tools.judge.toys import InfillToy, Toy, ToyContext

SEEDS = range(3)


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


def check(kind: type[Decoder], settings: Settings) -> list[Check]:
    """Return the checks of a decoder: that it decodes and, if it does, three others.

    The others are that a seed repeats its picture, that static shapes change nothing, and that no
    cache is left behind.
    """
    try:
        for model, plan in pictures(kind):
            for seed in SEEDS:
                _decoded(kind, settings, model, plan, seed)
    except ContractError as error:
        return [Check(name="decodes", passed=False, words=f"It does not: {error}.")]
    except Exception as error:
        return [Check(name="decodes", passed=False, words=_raised(kind, error))]
    decodes = Check(
        name="decodes",
        passed=True,
        words="Every pass commits a token at least, and every picture ends.",
    )
    return [decodes, _repeats(kind, settings), _static(kind, settings), _closes(kind, settings)]


def _raised(kind: type[Decoder], error: Exception, when: str = "It raises an error") -> str:
    source = source_of(kind)
    line = last_line(error, source) if source else None
    where = f" {source.name}, line {line}:" if source and line else ""
    return f"{when}:{where} {type(error).__name__}: {error}."


@torch.inference_mode()
def _decoded(
    kind: type[Decoder], settings: Settings, model: Toy, plan: Plan, seed: int
) -> list[Step]:
    """Return the steps of a picture.

    Raises ContractError if a step commits nothing, or if the steps do not end with the picture.
    """
    steps, frontier = list[Step](), 0
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
    same: Callable[[Toy, Plan, int], bool],
    name: str,
    good: str,
    bad: str,
    raising: str,
) -> Check:
    """Return the check `name`: whether `same` holds for all pictures and seeds.

    The check's words are `good` if `same` holds, else `bad`. If an error is raised, they begin with
    `raising`.
    """
    try:
        passed = all(same(model, plan, seed) for model, plan in pictures(kind) for seed in SEEDS)
    except Exception as error:
        return Check(name=name, passed=False, words=_raised(kind, error, raising))
    return Check(name=name, passed=passed, words=good if passed else bad)


def _repeats(kind: type[Decoder], settings: Settings) -> Check:
    def same(model: Toy, plan: Plan, seed: int) -> bool:
        records = []
        for number in (1, 2):
            with global_numbers(number):
                records.append(recorded(_decoded(kind, settings, model, plan, seed)))
        return records[0] == records[1]

    return _of_all(
        kind,
        same,
        "repeats",
        "One seed gives one picture, step for step.",
        "One seed gives other pictures from run to run: it draws from a global generator, or keeps"
        " something from picture to picture. Numbers of `state.uniform` and `state.gumbel` belong"
        " to the seed.",
        "With global generators in another state it raises an error",
    )


def _static(kind: type[Decoder], settings: Settings) -> Check:
    def same(model: Toy, plan: Plan, seed: int) -> bool:
        records = []
        for static in (False, True):
            with launched(model, None, static=static):
                records.append(recorded(_decoded(kind, settings, model, plan, seed)))
        shrinking, fixed = records
        return shrinking == fixed

    return _of_all(
        kind,
        same,
        "static shapes",
        "Windows that keep their width to the picture's end change nothing.",
        "With windows that keep their width to the picture's end, as CUDA graphs need them, it"
        " decodes another picture: drafts behind the end (`state.room`) count as accepted, or a"
        " number depends on the window's width.",
        "With windows that keep their width to the picture's end it raises an error",
    )


def _closes(kind: type[Decoder], settings: Settings) -> Check:
    opened = list[ToyContext]()

    def same(model: Toy, plan: Plan, seed: int) -> bool:
        start = model.start

        def watched(*args: object, **kwargs: object) -> ToyContext:
            opened.append(start(*args, **kwargs))  # type: ignore[arg-type]
            return opened[-1]

        model.start = watched  # type: ignore[method-assign]
        with torch.inference_mode():
            steps = kind(model, settings, plan=plan).steps("", seed)
            next(steps)
            steps.close()  # as a race that is stopped does
        _decoded(kind, settings, model, plan, seed)
        return all(context.closed for context in opened)

    return _of_all(
        kind,
        same,
        "gives its cache back",
        "No cache is left behind by a picture, nor by one that is stopped.",
        "A cache is left behind: close it in a `finally`, since a race may stop between two steps.",
        "Stopped between two steps it raises an error",
    )
