"""Rules as authors may write them, to be judged."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge, Decoder, never
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings
from engine.decoders.speculate import chain_acceptance, count_leading, speculate
from engine.numerics.distributions import gather, logits_to_probs
from engine.numerics.randomness import Noise
from engine.settings import Settings
from engine.trace import Step, StepTable
from engine.trace.rows import DTYPES
from engine.trace.steps import step_row

Test = Callable[[Tensor, Tensor, Tensor], Tensor]


class Rule(JacobiWindowDecoder):
    """SJD, as a decoder from outside."""

    name, title = "rule", "Rule"
    idea, paper = "SJD's test.", "nowhere"
    badge = Badge.SAME_DISTRIBUTION
    Settings: ClassVar[type[Settings]] = SpeculativeSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        return speculate(state, window, p, chain_acceptance(window, p))


def written_with(test: Test) -> type[Rule]:
    """SJD whose drafts pass `test` of u, p and q of each."""

    class Written(Rule):
        def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
            x, room = window.drafts, state.room.clamp_max(len(p) - 1)
            u = state.verify_numbers(len(p)).accept
            passed = test(u, gather(p, x), gather(window.q, x))
            first = count_leading(passed, room)
            return speculate(state, window, p, chain_acceptance(window, p), first=first)

    return Written


def until_rejected(passes: Callable[[Tensor, Tensor, Tensor, int], bool]) -> Test:
    """A loop in Python that ends at the first draft which does not pass."""

    def test(u: Tensor, p: Tensor, q: Tensor) -> Tensor:
        count = 0
        for i in range(len(p)):
            if not passes(u, p, q, i):
                break
            count += 1
        return torch.arange(len(p)) < count

    return test


class Remembering(Rule):
    """SJD that doubts a draft behind a step with a rejection: it then accepts with half of
    min(1, p / q), and is not lossless. What it remembers is `kept` in one way or another."""

    start: Callable[[], object]
    read: Callable[[object], object]
    keep: Callable[[DecodeState, Tensor], None]

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if not state.step:
            state.memory = type(self).start()
        doubt = bool(type(self).read(state.memory))
        acceptance = chain_acceptance(window, p) * (0.5 if doubt else 1.0)
        verification = speculate(state, window, p, acceptance)
        type(self).keep(state, verification.count < len(window.drafts))
        return verification


def _slot(state: DecodeState, rejected: Tensor) -> None:
    state.memory["rejected"] = bool(rejected)


def _nested(state: DecodeState, rejected: Tensor) -> None:
    state.memory["slot"]["noise"][0] = bool(rejected)


def _listed(state: DecodeState, rejected: Tensor) -> None:
    state.memory.append(bool(rejected))


def _array(state: DecodeState, rejected: Tensor) -> None:
    state.memory[0] = bool(rejected)


def _attribute(state: DecodeState, rejected: Tensor) -> None:
    state.memory.rejected = bool(rejected)


def _flag(state: DecodeState, rejected: Tensor) -> None:
    state.memory = rejected  # an outcome that nothing has read


def _flag_in_dict(state: DecodeState, rejected: Tensor) -> None:
    state.memory["rejected"] = rejected


MEMORIES = {
    "dict": (lambda: {"rejected": False}, lambda kept: kept["rejected"], _slot),
    "nested": (lambda: {"slot": {"noise": [False]}}, lambda m: m["slot"]["noise"][0], _nested),
    "list": (lambda: [False], lambda kept: kept[-1], _listed),
    "array": (lambda: np.zeros(1, bool), lambda kept: kept[0], _array),
    "object": (lambda: SimpleNamespace(rejected=False), lambda kept: kept.rejected, _attribute),
    "tensor": (lambda: torch.zeros(1), lambda kept: kept[0], _array),
    "unread outcome": (lambda: torch.tensor(False), lambda kept: kept, _flag),
    "unread outcome in a dict": (
        lambda: {"rejected": torch.tensor(False)},
        lambda kept: kept["rejected"],
        _flag_in_dict,
    ),
}


def remembering(memory: str) -> type[Remembering]:
    start, read, keep = MEMORIES[memory]
    facts = {"start": staticmethod(start), "read": staticmethod(read), "keep": staticmethod(keep)}
    return type("Written", (Remembering,), facts)


class OneByOne(Decoder):
    """Vanilla AR without the window loop: it samples each token from p, raised to a power."""

    name, title = "one-by-one", "One by one"
    idea, paper = "One token a pass.", "nowhere"
    badge = Badge.SAME_DISTRIBUTION
    power = 1.0

    def steps(
        self, prompt: str, seed: int, stopped: Callable[[], bool] = never
    ) -> Generator[Step, None, None]:
        ctx, noise = self.model.start(prompt, 1.0, plan=self.plan), Noise(seed, self.model.device)
        try:
            token = torch.zeros(1, dtype=torch.long)
            for n in range(self.plan.length):
                logits = self.model.forward(ctx, token) * self.power
                p = logits_to_probs(logits, self.sampling, None)[0]
                free = (p.log() + noise.gumbel(n, 1, len(p))[0]).argmax().view(1)
                forced = self.plan.forced[n]
                token = free if forced < 0 else torch.tensor([forced])
                ctx.keep([0], n + 1)
                yield step_of(n, [int(token)])
        finally:
            ctx.close()


def step_of(n: int, tokens: list[int]) -> Step:
    """A step that commits these tokens, if any, and records nothing else."""
    positions = np.zeros(len(tokens), DTYPES["positions"])
    positions["token"] = tokens
    row = step_row(n + 1, 1, len(tokens), len(tokens), 0, (0, 0, 0, 0), False)
    rows = replace(StepTable.join([]), start=n, steps=row, positions=positions)
    step = SimpleNamespace(
        before=n, after=n + len(tokens), rows=rows, positions=positions, committed=positions
    )
    return step  # type: ignore[return-value]
