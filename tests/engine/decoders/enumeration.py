"""The exact joint distribution of what a decoder decodes: every outcome of its random numbers, in
float64, step by step.

What a step leaves is a node, all that later steps depend on: the decoder's state, and the intervals
of those numbers that some run reads again in a later step. Runs that come to the same node go on as
one.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, fields

import pytest
import torch
from torch import Tensor

from engine.decoders import gsd
from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.window import WindowDecoder
from engine.models import base
from engine.numerics.ranking import rank_keys
from engine.trace import Status
from tests.engine.decoders.symbolic import Intervals, SymbolicNoise, outcomes, settled

Joint = dict[tuple[int, ...], float]
CLOSE = 1e-12
# Of a state, what is the same throughout a decode, or follows from the committed tokens.
_GIVEN = {"model", "plan", "ctx", "noise", "forced_ids", "_offsets", "_fixed", "_noise"}


@pytest.fixture
def exactly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Symbolic numbers, and float64 where the engine computes in float32."""
    monkeypatch.setattr("engine.decoders.decode_state.Noise", SymbolicNoise)
    monkeypatch.setattr(Tensor, "float", _widened)
    for module in (gsd, base):
        monkeypatch.setattr(module, "rank_keys", _narrow_keys)
    torch.set_default_dtype(torch.float64)
    with torch.inference_mode():
        yield
    torch.set_default_dtype(torch.float32)


def _widened(values: Tensor) -> Tensor:
    return values if values.dtype is torch.float32 else values.double()


def _narrow_keys(values: Tensor) -> Tensor:
    """A key is the bits of a float32."""
    return rank_keys(values.to(torch.float32))


@dataclass
class Node:
    state: DecodeState
    intervals: Intervals
    chance: float
    narrowed: set[int] = field(default_factory=set)  # numbers that the step before has read


@dataclass
class Enumeration:
    """`joint`: whole sequences; `seen`: of how many steps of a decode something is true, on
    average."""

    joint: Joint = field(default_factory=lambda: defaultdict(float))
    seen: Counter[str] = field(default_factory=Counter)
    runs: int = 0

    def count(self, chance: float, window: Window, v: Verification, state: DecodeState) -> None:
        self.runs += 1
        count, path = len(state.path), state.path
        status = Status(int(v.status[count - 1]))
        leaves = [i for i, row in enumerate(path) if row != i]
        drafted = len(window.nodes if window.nodes is not None else window.drafts) > 0
        facts = {
            status.name.lower(): True,
            "forced": bool((state.forced_ids[state.frontier - count : state.frontier] >= 0).any()),
            "bonus": status is Status.FRESH and drafted,
            "off the spine": bool(leaves),
            f"left at depth {leaves[0]} for {len(leaves)}" if leaves else "on the spine": True,
            f"length {count}": True,
            "end of image": drafted and state.frontier + len(v.tokens) - count >= state.plan.length,
        }
        for name, true in facts.items():
            self.seen[name] += chance * true


def enumerated(decoder: WindowDecoder) -> Enumeration:
    """`exactly` must be in use."""
    again: dict[int, int] = {}  # by number read in several steps, the last frontier where it is
    while True:
        known, first, found = dict(again), dict[int, int](), Enumeration()
        nodes, step = [Node(DecodeState(decoder, "", 0), {}, 1.0)], 0
        while nodes:
            following: dict[Hashable, Node] = {}
            for node in nodes:
                for after in _steps(decoder, node, found):
                    for number in after.narrowed:
                        if first.setdefault(number, step) != step:
                            again[number] = max(again.get(number, 0), node.state.frontier)
                    state = after.state
                    if state.frontier == decoder.plan.length:
                        ids = state.ids(state.tokens, torch.arange(len(state.tokens)))
                        found.joint[tuple(ids.tolist())] += after.chance
                        continue
                    after.intervals = {
                        number: interval
                        for number, interval in after.intervals.items()
                        if state.frontier <= known.get(number, -1)
                    }
                    key = _frozen(vars(state)), tuple(sorted(after.intervals.items()))
                    if key in following:
                        following[key].chance += after.chance
                    else:
                        following[key] = after
            nodes, step = list(following.values()), step + 1
        if known == again:
            return found


def _steps(decoder: WindowDecoder, node: Node, found: Enumeration) -> Iterator[Node]:
    """Every outcome of one turn of the window loop."""
    model, n = decoder.model, node.state.frontier
    for drafting, (state, proposal) in outcomes(
        lambda: _proposed(decoder, node.state), node.intervals
    ):
        window, fed, positions = proposal
        logits = decoder._forward(state, window, fed, positions)

        def verified() -> tuple[DecodeState, Verification]:
            twin = _copied(state)  # noqa: B023
            v, outcome = decoder._verify(twin, window, logits, positions)  # noqa: B023
            count, *path = outcome.tolist()
            path = path[:count] or list(range(count))
            model.keep(twin.ctx, path)
            twin.commit(v, count, path)
            # What is committed, or behind the image's end, is no draft.
            left = slice(count, decoder.plan.length - n)
            twin.drafts = settled(torch.cat([twin.tokens[:1], v.tokens[left]]))
            twin.q = torch.cat([torch.zeros_like(v.q[:1]), v.q[left]])
            twin.count.fill_(1)
            return twin, v

        for verifying, (after, v) in outcomes(verified, drafting.intervals):
            chance = node.chance * drafting.weight * verifying.weight
            found.count(chance, window, v, after)
            narrowed = drafting.narrowed | verifying.narrowed
            yield Node(after, verifying.intervals, chance, narrowed)


def _proposed(
    decoder: WindowDecoder, before: DecodeState
) -> tuple[DecodeState, tuple[Window, Tensor, Tensor]]:
    state = _copied(before)
    window, *fed = decoder._propose(state)
    for place in fields(window):
        setattr(window, place.name, settled(getattr(window, place.name)))
    return state, (window, *settled(fed))


def _copied(state: DecodeState) -> DecodeState:
    twin = copy.copy(state)
    for name, value in vars(state).items():
        if name == "ctx" or isinstance(value, dict):
            setattr(twin, name, copy.copy(value))
        elif isinstance(value, Tensor) and name not in _GIVEN:
            setattr(twin, name, value.clone())
    return twin


def _frozen(value: object) -> Hashable:
    if isinstance(value, Tensor):
        return value.shape, value.as_subclass(Tensor).numpy().tobytes()
    if isinstance(value, dict):
        return tuple((k, _frozen(each)) for k, each in value.items() if k not in _GIVEN)
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def distance(found: Joint, joint: Joint) -> float:
    """The largest difference between the probabilities of a sequence."""
    return max(abs(found.get(each, 0.0) - joint.get(each, 0.0)) for each in {*found, *joint})
