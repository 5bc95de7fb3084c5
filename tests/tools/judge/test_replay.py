"""Paths that are decoded again: the decoder's own loop, memory that nothing sees, own numbers."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.ar import VanillaAR
from engine.decoders.assd import ASSD
from engine.decoders.base import never
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import SpeculativeSettings
from engine.decoders.rows import ParallelRows
from engine.decoders.scd import SCD
from engine.decoders.sjd_pac import SJDPAC
from engine.decoders.speculate import chain_acceptance, speculate
from engine.decoders.verdict import Outcome
from engine.decoders.window import WindowDecoder
from engine.models.base import planned
from engine.trace import Step
from engine.trace.steps import StepTable
from tests.tools.judge.faults import Filtering, OwnLoop, Turning
from tests.tools.judge.rules import Rule
from tests.tools.judge.test_judge import with_settings
from tools.judge import cases, larger, replay
from tools.judge.enumeration import enumerated, exactly
from tools.judge.replay import HiddenState
from tools.judge.toys import InfillToy, Toy, infilling

pytestmark = pytest.mark.exact

exact = exactly()
SETTINGS = SpeculativeSettings(window=3, fresh="uniform")


class Raising(Rule):
    """Its loop ends in an error where the second token is a 1."""

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        steps = list(super().steps(prompt, seed, stopped))
        if StepTable.join([step.rows for step in steps]).tokens[1]:
            raise ValueError("a one")
        yield from steps


class FromAGenerator(Rule):
    """Right, but with numbers of its own for the drafts' tests, which follow from the seed."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        generator = torch.Generator().manual_seed(state.own_seed + 97 * state.step)
        u = torch.rand(len(p), generator=generator, dtype=torch.float64)
        acceptance = chain_acceptance(window, p)
        return speculate(state, window, p, (u < acceptance).double())

    def begin(self, prompt: str, seed: int) -> DecodeState:
        state = super().begin(prompt, seed)
        state.own_seed = seed
        return state


class InAFile(Rule):
    """Accepts half as often where the decode before it drew a 0 last, which a file remembers."""

    file: Path

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        doubt = 0.5 if self.file.exists() and self.file.read_text() == "0" else 1.0
        found = speculate(state, window, p, chain_acceptance(window, p) * doubt)
        if state.step:
            self.file.write_text(str(int(found.tokens[0])))
        return found


@exact
@pytest.mark.parametrize(
    ("unseen", "words"),
    [
        (Turning, "from the same random numbers"),
        (Filtering, "from the same random numbers"),
        (FromAGenerator, "from the same random numbers"),
        (Raising, "its `steps` raises ValueError: a one"),
    ],
)
def test_a_loop_or_numbers_of_its_own_are_found(unseen: type[Rule], words: str) -> None:
    with pytest.raises(HiddenState, match=words):
        enumerated(unseen(Toy((1, 3), 2), SETTINGS))


@exact
def test_memory_beside_the_program_is_found(tmp_path: Path) -> None:
    class Written(InAFile):
        file = tmp_path / "last.txt"

    with pytest.raises(HiddenState):
        enumerated(Written(Toy((1, 3), 2), SETTINGS))


@exact
def test_a_loop_of_its_own_that_is_the_engines_is_enumerated() -> None:
    found, expected = (enumerated(k(Toy((1, 3), 2), SETTINGS)) for k in (OwnLoop, Rule))
    assert found.joint == expected.joint


def test_the_verdict_on_what_is_not_seen_is_open_and_shows_no_counterexample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cases, "RUNS_SMALL", 60)
    monkeypatch.setattr(cases, "RUNS_LARGER", 0)
    monkeypatch.setattr(cases, "RUNS_CHOICES", 0)
    monkeypatch.setattr(larger, "PICTURES", 50)
    found = with_settings(FromAGenerator, {"window": 3, "fresh": "uniform"})
    assert found.outcome is Outcome.OPEN
    assert (found.cases, found.counterexample) == ((), None)
    assert "random numbers of its own" in found.unseen[0]


DECODERS: list[tuple[type[WindowDecoder], dict[str, object]]] = [
    (VanillaAR, {}),
    (SCD, {"window": 3, "fresh": "uniform"}),
    (SJDPAC, {"window": 4, "K": 2, "D": 1}),
    (ParallelRows, {}),
    (ASSD, {"k": 2}),
]


@exact
@pytest.mark.parametrize(("kind", "values"), DECODERS, ids=lambda each: getattr(each, "name", ""))
def test_every_path_comes_out_again(
    kind: type[WindowDecoder], values: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths of chains, common noise, trees, several fronts and other orders."""
    monkeypatch.setattr(replay, "PATHS", 200)
    model = InfillToy((2, 2), 2) if kind.infills else Toy((2, 2), 2)
    filling = infilling([True, True, True, False], "spread", 2) if kind.infills else None
    filler, plan = planned(model, filling)
    assert enumerated(kind(filler, kind.Settings(**values), plan=plan)).runs > 1
