"""Exact distributions of a decoder: every outcome of its random choices with its probability, in
place of random numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest
import torch
from torch import Tensor

from engine.decoders import assd, ngram, speculate
from engine.decoders.decode_state import DecodeState, Verification
from engine.decoders.window import WindowDecoder
from engine.numerics.distributions import logits_to_probs

T = TypeVar("T")


class Choices:
    """The choices of one run: `script` says which option each of the first ones takes, later ones
    take the first. Options of probability 0 are not taken."""

    script: list[int] = []
    taken: list[tuple[int, int]] = []  # option and number of options
    weight = 1.0
    acceptance = torch.zeros(0)

    @classmethod
    def choose(cls, chances: Sequence[float]) -> int:
        options = [i for i, chance in enumerate(chances) if chance > 0]
        place = len(cls.taken)
        pick = cls.script[place] if place < len(cls.script) else 0
        cls.taken.append((pick, len(options)))
        cls.weight *= chances[options[pick]]
        return options[pick]


def sample(p: Tensor, u: Tensor) -> Tensor:
    rows = p.double().reshape(-1, p.shape[-1])
    tokens = [Choices.choose((row / row.sum()).tolist()) for row in rows]
    return torch.tensor(tokens).view(p.shape[:-1])


def count_leading(accepted: Tensor, room: Tensor) -> Tensor:
    """Which draft is the first to be rejected."""
    chances, reached = [], 1.0
    for a in Choices.acceptance[: int(room)].double().tolist():
        chances.append(reached * (1 - a))
        reached *= a
    return torch.tensor(Choices.choose([*chances, reached]))


def outcomes(run: Callable[[], T]) -> Iterator[tuple[float, T]]:
    """Every outcome of `run` with its probability."""
    Choices.script = []
    while True:
        Choices.taken, Choices.weight = [], 1.0
        result, weight, taken = run(), Choices.weight, Choices.taken
        yield weight, result
        while taken and taken[-1][0] == taken[-1][1] - 1:
            taken.pop()
        if not taken:
            return
        Choices.script = [pick for pick, _ in taken]
        Choices.script[-1] += 1


@pytest.fixture
def enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """ASSD's random choices become those of `Choices`."""
    real = assd.chain_acceptance

    def chain_acceptance(window: object, p: Tensor) -> Tensor:
        Choices.acceptance = real(window, p)
        return Choices.acceptance

    for module in (assd, ngram, speculate):
        monkeypatch.setattr(module, "sample", sample)
    monkeypatch.setattr(assd, "chain_acceptance", chain_acceptance)
    monkeypatch.setattr(speculate, "count_leading", count_leading)


@dataclass(frozen=True)
class Node:
    """Where a decoder stands after a step: all that its next step depends on."""

    prefix: tuple[int, ...] = ()
    drafts: tuple[int, ...] = ()
    q: tuple[tuple[float, ...], ...] = ()
    odd: bool = False  # number of steps so far


def exact_joint(decoder: WindowDecoder) -> dict[tuple[int, ...], float]:
    """The distribution of what ASSD decodes. `enumerated` must be in use."""
    joint: dict[tuple[int, ...], float] = defaultdict(float)
    pending = {Node(): 1.0}
    while pending:
        node = min(pending, key=lambda node: len(node.prefix))
        chance = pending.pop(node)
        if len(node.prefix) == decoder.model.length:
            joint[node.prefix] += chance
            continue
        for part, after in step_outcomes(decoder, node):
            pending[after] = pending.get(after, 0.0) + chance * part
    return joint


def step_outcomes(decoder: WindowDecoder, node: Node) -> list[tuple[float, Node]]:
    """Where one step can end, with its probability."""
    state = state_at(decoder, node)
    room = decoder.model.length - state.frontier - 1
    found = []
    for first, (window, fed, positions) in list(outcomes(lambda: decoder._propose(state, room))):
        targets = positions if window.asks else None
        logits = decoder._forward(state, fed, window.parents, targets)
        p = logits_to_probs(logits, decoder.sampling, None)
        for second, after in outcomes(lambda: decoder.verify(state, window, p)):  # noqa: B023
            found.append((first * second, following(decoder, node, after)))
    return found


def following(decoder: WindowDecoder, node: Node, after: Verification) -> Node:
    count, fused = int(after.count), decoder.settings.fused
    prefix = (*node.prefix, *after.tokens[:count].tolist())
    # Behind a fused pass's new drafts come rows that mean nothing.
    end = count + decoder.settings.k - 1
    left = slice(count, end if after.keeps_drafts or fused else count)
    if len(prefix) == decoder.model.length:
        return Node(prefix)
    q = tuple(map(tuple, after.q[left].tolist()))
    return Node(prefix, tuple(after.tokens[left].tolist()), q, not node.odd)


def state_at(decoder: WindowDecoder, node: Node) -> DecodeState:
    """A decoder's state at a node."""
    state, n = DecodeState(decoder, "", 0), len(node.prefix)
    state.tokens[:n] = torch.tensor(node.prefix, dtype=torch.long)
    state.frontier, state.step = n, int(node.odd) + 2 * (n > 0)
    state.start.fill_(n)
    state.room.fill_(decoder.model.length - 1 - n)
    state.drafts = torch.tensor([0, *node.drafts])  # behind the last committed one
    state.q = torch.cat([state.q[:1], torch.tensor(node.q).view(-1, decoder.model.vocab_size)])
    if n:
        state.ctx.kept, state.ctx.done = list(node.prefix[:-1]), n
    return state
