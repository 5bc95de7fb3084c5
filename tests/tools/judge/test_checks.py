"""What a lane must do: each check passes on SJD, and fails on a planted bug."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Decoder, never
from engine.decoders.decode_state import DecodeState
from engine.decoders.sjd import SJD
from engine.decoders.speculate import chain_acceptance, speculate
from engine.decoders.verdict import Check
from engine.trace import Step
from tests.tools.judge.faults import DeepAndStatic
from tests.tools.judge.rules import OneByOne, Rule, step_of
from tests.variants import further
from tools.judge.checks import SEEDS, check, pictures

NAMES = ["decodes", "repeats", "static shapes", "gives its cache back"]


def checks(kind: type[Decoder]) -> dict[str, Check]:
    return {each.name: each for each in check(kind, [kind.Settings()])}


@pytest.mark.parametrize("kind", [SJD, Rule, OneByOne])
def test_a_sound_decoder_does_all(kind: type[Decoder]) -> None:
    found = checks(kind)
    assert [*found] == NAMES
    assert all(each.passed for each in found.values()), found


# What does not decode


class Steps(OneByOne):
    """Of a picture of n tokens, the steps (before, tokens) of `given`."""

    given: Callable[[int], list[tuple[int, int]]]

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        for before, count in type(self).given(self.plan.length):
            yield step_of(before, [0] * count)


class Unending(OneByOne):
    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        n = 0
        while True:
            yield step_of(n, [0])
            n += 1


def of_steps(given: Callable[[int], list[tuple[int, int]]]) -> type[Decoder]:
    return type("Written", (Steps,), {"given": staticmethod(given)})


class Idle(Rule):
    """Commits nothing in its second pass."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        verification = super().verify(state, window, p)
        if state.step:
            verification.count = verification.count * 0
        return verification


class Raising(Rule):
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        return p.reshape(7, 7)  # this line


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (of_steps(lambda n: []), "ended after 0 tokens of 12"),
        (of_steps(lambda n: [(0, n - 1)]), "ended after 11 tokens of 12"),
        (of_steps(lambda n: [(0, n + 1)]), "ended after 13 tokens of 12"),
        (of_steps(lambda n: [(0, 2), (2, 0), (2, n - 2)]), "from position 2 on committed nothing"),
        (of_steps(lambda n: [(0, 2), (1, n - 1)]), "from position 1 on committed nothing"),
        (of_steps(lambda n: [(0, 2), (3, n - 3)]), "from position 3 on committed nothing"),
        (Unending, "ended after 13 tokens of 12"),
        (Idle, "a pass from position 1 on committed nothing"),
    ],
)
def test_what_does_not_decode_is_checked_for_nothing_else(kind: type[Decoder], words: str) -> None:
    (found,) = check(kind, [kind.Settings()])
    assert (found.name, found.passed) == ("decodes", False)
    assert words in found.words


def test_an_error_has_its_line() -> None:
    (found,) = check(Raising, [Raising.Settings()])
    with open(__file__) as file:
        line = next(n for n, text in enumerate(file, 1) if text.endswith("# this line\n"))
    assert f"test_checks.py, line {line}: RuntimeError: shape '[7, 7]' is invalid" in found.words


# What decodes, and fails in one thing


class GlobalTorch(Rule):
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        acceptance = chain_acceptance(window, p)
        first = (torch.rand(len(acceptance)) < acceptance).int().cumprod(0).sum()
        first = first.minimum(state.room.clamp_max(len(p) - 1))
        return speculate(state, window, p, acceptance, first=first)


class Sampled(OneByOne):
    """Each token from a generator that `number` reads."""

    number: Callable[[], float]

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        ctx = self.model.start(prompt, 1.0, plan=self.plan)
        for n in range(self.plan.length):
            yield step_of(n, [int(type(self).number() * self.model.vocab_size)])
        ctx.close()


def sampled(number: Callable[[], float]) -> type[Decoder]:
    return type("Written", (Sampled,), {"number": staticmethod(number)})


class RaisingAtRandom(GlobalTorch):
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if torch.initial_seed() in (1, 2):
            raise ValueError("of no seed of its own")
        return Rule.verify(self, state, window, p)


class IgnoresRoom(Rule):
    """Accepts drafts behind the picture's end, where windows keep their width."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        u = state.verify_numbers(len(p)).accept
        acceptance = chain_acceptance(window, p)
        first = (u < acceptance)[:-1].int().cumprod(0).sum()
        return speculate(state, window, p, acceptance, first=first)


class ByWidth(Rule):
    """A number follows from the window's width."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        acceptance = chain_acceptance(window, p) * (1 - 1 / len(window.drafts))
        return speculate(state, window, p, acceptance)


class RaisesWhenStatic(Rule):
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if self.model.static:
            raise ValueError("of no width")
        return super().verify(state, window, p)


class LeavesOpen(OneByOne):
    """Closes its cache at the picture's end alone."""

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        ctx = self.model.start(prompt, 1.0, plan=self.plan)
        for n in range(self.plan.length):
            yield step_of(n, [0])
        ctx.close()


class NeverCloses(OneByOne):
    """Leaves one cache open that it has made beside."""

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        self.model.start(prompt, 1.0, plan=self.plan)
        yield from super().steps(prompt, seed, stopped)


class NoGenerator(OneByOne):
    def steps(self, prompt: str, seed: int, stopped: Callable[[], bool] = never):
        return iter([step_of(n, [0]) for n in range(self.plan.length)])


@pytest.mark.parametrize(
    ("kind", "failing", "words"),
    [
        (GlobalTorch, "repeats", "draws from a global generator"),
        *further(
            (sampled(random.random), "repeats", "draws from a global generator"),
            (sampled(np.random.rand), "repeats", "draws from a global generator"),
        ),
        (RaisingAtRandom, "repeats", "ValueError: of no seed of its own"),
        (IgnoresRoom, "static shapes", "end"),
        (ByWidth, "static shapes", "`state.room`"),
        (RaisesWhenStatic, "static shapes", "ValueError: of no width"),
        (LeavesOpen, "gives its cache back", "in a `finally`"),
        (NeverCloses, "gives its cache back", "in a `finally`"),
        (NoGenerator, "gives its cache back", "AttributeError"),
    ],
)
def test_a_planted_bug_fails_its_check(kind: type[Decoder], failing: str, words: str) -> None:
    torch.manual_seed(0)  # none of those that the check sets, whatever ran before
    found = checks(kind)
    assert [*found] == NAMES
    assert found["decodes"].passed
    assert not found[failing].passed
    assert words in found[failing].words
    if kind not in (GlobalTorch, *Sampled.__subclasses__()):  # these fail at more than one
        assert [name for name, each in found.items() if not each.passed] == [failing]


def test_global_generators_are_as_they_were() -> None:
    random.random(), np.random.rand(), torch.rand(1)  # no state in which a check leaves them
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    checks(SJD)
    assert random.getstate() == states[0]
    assert np.random.get_state()[1].tolist() == states[1]
    assert torch.get_rng_state().tolist() == states[2]


def test_static_shapes_are_compared_with_shrinking_ones_for_every_seed() -> None:
    seen = list[bool]()

    class Watched(Rule):
        def steps(
            self, prompt: str, seed: int, stopped: Callable[[], bool] = never
        ) -> Generator[Step, None, None]:
            seen.append(self.model.static)
            yield from super().steps(prompt, seed, stopped)

    assert checks(Watched)["static shapes"].passed
    assert seen.count(True) == len(pictures(Watched)) * len(SEEDS)


class RaisesWhenDeep(Rule):
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if self.settings.window == 96:
            raise ValueError("of that window")
        return super().verify(state, window, p)


class GlobalWhenDeep(GlobalTorch):
    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        rule = GlobalTorch if self.settings.window == 96 else Rule
        return rule.verify(self, state, window, p)


class OpenWhenDeep(OneByOne):
    """Leaves one cache open that it has made beside, with settings of its own."""

    Settings = Rule.Settings

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        if self.settings.window == 96:
            self.model.start(prompt, 1.0, plan=self.plan)
        yield from super().steps(prompt, seed, stopped)


@pytest.mark.parametrize(
    ("kind", "failing"),
    [
        (DeepAndStatic, "static shapes"),
        (RaisesWhenDeep, "decodes"),
        (GlobalWhenDeep, "repeats"),
        (OpenWhenDeep, "gives its cache back"),
    ],
)
def test_a_fault_of_other_settings_names_them(kind: type[Decoder], failing: str) -> None:
    torch.manual_seed(0)
    sound, deep = kind.Settings(), kind.Settings(window=96, init="horizontal repeat")
    assert all(each.passed for each in check(kind, [sound]))
    found = {each.name: each for each in check(kind, [sound, deep])}
    assert not found[failing].passed
    assert "with window = 96, init = horizontal repeat" in found[failing].words
