"""The exact joint distribution of what a decoder decodes: every outcome of its random numbers, in
float64, step by step.

What a step leaves is a node, all that later steps depend on: the decoder's state, and the intervals
of those numbers that some run reads again in a later step. Runs that come to the same node go on as
one.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.decoders.collect import Observation, collect
from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.window import WindowDecoder
from engine.judge.choices import Intervals, NotEnumerable, known_numbers, outcomes, recording
from engine.judge.symbolic import SymbolicNoise, settled
from engine.numerics.randomness import Purpose
from engine.plan import Plan
from engine.trace import Status
from engine.trace.rows import SHARES

Joint = dict[tuple[int, ...], float]  # by the token ids at a plan's positions
CLOSE = 1e-12  # rounding in float64, of a probability
# Of a state, what is the same throughout a decode, or follows from the committed tokens.
_GIVEN = {"model", "plan", "ctx", "noise", "slot", "forced_ids", "_offsets", "_fixed", "_noise"}


class ContractError(Exception):
    """A decoder that does not do what the window loop needs; the message says what."""


class TooManyOutcomes(Exception):
    """An enumeration that would take more runs than were allowed."""


@contextmanager
def exactly() -> Iterator[None]:
    """In float64, as the enumeration and the models that it is of need it."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_default_dtype(before)


@dataclass(frozen=True, slots=True)
class Number:
    """A uniform number as a pass left it: what it is for, the position that it belongs to, and the
    interval that its outcomes confine it to."""

    purpose: Purpose
    position: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a decode: from position `start` on its drafts [H], the model's p [rows, V] and
    the drafts' q [H, V], the numbers that decided, and the tokens it committed."""

    start: int
    drafts: list[int]
    p: list[list[float]]
    q: list[list[float]]
    numbers: list[Number]
    committed: list[int]
    statuses: list[Status]
    chance: float


@dataclass
class Node:
    state: DecodeState
    intervals: Intervals
    chance: float
    narrowed: set[int] = field(default_factory=set)  # numbers that the step before has read
    passes: tuple[Pass, ...] = ()  # of the likeliest way here, where one sequence is followed
    likeliest: float = 1.0


@dataclass
class Enumeration:
    """`joint`: whole sequences; `seen`: of how many steps of a decode something is true, on
    average; `passes`: expected forward passes; `shift`: expected sum over the committed tokens of
    the shift that the decoder records, where that was asked for; `way`: the likeliest passes to the
    sequence that was followed; `misrecorded`: of windows with one draft, the largest difference
    between the probability that it is accepted and the acceptance probability that is recorded."""

    joint: Joint = field(default_factory=lambda: defaultdict(float))
    seen: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    runs: int = 0
    passes: float = 0.0
    shift: float = 0.0
    way: tuple[Pass, ...] = ()
    misrecorded: float = 0.0

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


def enumerated(
    decoder: WindowDecoder,
    most: int | None = None,
    *,
    shift: bool = False,
    follow: Sequence[int] | None = None,
) -> Enumeration:
    """Every outcome of a decode; `exactly` must be in use. `shift`: with the shift that the decoder
    records. `follow`: of the outcomes that lead to this sequence alone, with the likeliest way to
    it.

    Raises TooManyOutcomes where it takes over `most` runs of a step, NotEnumerable where the rule
    does with a random number what only a number's value would say."""
    again: dict[int, int] = {}  # by number read in several steps, the last frontier where it is
    while True:
        known, first, found = dict(again), dict[int, int](), Enumeration()
        walk = _Walk(decoder, found, most, shift, None if follow is None else tuple(follow))
        nodes, step = [walk.start()], 0
        while nodes:
            following: dict[Hashable, Node] = {}
            for node in nodes:
                found.passes += node.chance
                for after in walk.steps(node):
                    for number in after.narrowed:
                        if first.setdefault(number, step) != step:
                            again[number] = max(again.get(number, 0), node.state.frontier)
                    state = after.state
                    if state.frontier == decoder.plan.length:
                        walk.end(after)
                        continue
                    after.intervals = {
                        number: interval
                        for number, interval in after.intervals.items()
                        if state.frontier <= known.get(number, -1)
                    }
                    key = _frozen(vars(state)), tuple(sorted(after.intervals.items()))
                    if key in following:
                        _merge(following[key], after)
                    else:
                        following[key] = after
            nodes, step = list(following.values()), step + 1
        if known == again:
            return found


def _merge(node: Node, other: Node) -> None:
    node.chance += other.chance
    if other.likeliest > node.likeliest:
        node.passes, node.likeliest = other.passes, other.likeliest


@dataclass
class _Walk:
    """One enumeration under way."""

    decoder: WindowDecoder
    found: Enumeration
    most: int | None
    shift: bool
    follow: tuple[int, ...] | None
    likeliest: float = 0.0  # of the ways to the end so far

    def start(self) -> Node:
        state = DecodeState(self.decoder, "", 0)
        state.noise = SymbolicNoise()
        return Node(state, {}, 1.0)

    def steps(self, node: Node) -> Iterator[Node]:
        """Every outcome of one turn of the window loop."""
        decoder, n = self.decoder, node.state.frontier
        own = dict(vars(decoder))
        for drafting, (state, proposal) in outcomes(
            lambda: _proposed(decoder, node.state), node.intervals, _settled_proposal
        ):
            window, fed, positions = proposal
            logits = decoder._forward(state, window, fed, positions)

            def verified() -> tuple[DecodeState, Verification, Tensor]:
                twin = _copied(state)  # noqa: B023
                return twin, *decoder._verify(twin, window, logits, positions)  # noqa: B023

            def committed(
                made: tuple[DecodeState, Verification, Tensor],
            ) -> tuple[DecodeState, Verification]:
                before, v, outcome = made
                twin = _copied(before)
                count, *path = settled(outcome).tolist()
                if count < 1:
                    raise ContractError(f"a pass from position {n} on committed nothing")
                if n + count > decoder.plan.length:
                    raise ContractError(
                        f"a pass from position {n} on committed {count} tokens, of a picture of"
                        f" {decoder.plan.length}"
                    )
                path = path[:count] or list(range(count))
                decoder.model.keep(twin.ctx, decoder.kept(twin, path), n + count)
                twin.commit(v, count, path)
                # What is committed, or behind the image's end, is no draft.
                left = slice(count, decoder.plan.length - n)
                twin.drafts = settled(torch.cat([twin.tokens[:1], v.tokens[left]]))
                twin.q = torch.cat([torch.zeros_like(v.q[:1]), v.q[left]])
                twin.count.fill_(1)
                return twin, v

            accepted, recorded = 0.0, None
            for verifying, (after, v) in outcomes(verified, drafting.intervals, committed):
                chance = drafting.weight * verifying.weight
                accepted += verifying.weight * (after.frontier > n + 1)
                recorded = v.acceptance
                if self.follow is not None and not self._leads_there(after):
                    continue
                self.found.count(node.chance * chance, window, v, after)
                if self.most is not None and self.found.runs > self.most:
                    raise TooManyOutcomes
                if self.shift:
                    self._record(node, after, window, v, node.chance * chance)
                passes = node.passes
                if self.follow is not None:
                    choices = drafting.intervals | verifying.intervals
                    mine = {k: choices[k] for k in drafting.narrowed | verifying.narrowed}
                    passes = (*passes, _seen(node, after, window, v, mine, chance))
                yield Node(
                    after,
                    verifying.intervals,
                    node.chance * chance,
                    drafting.narrowed | verifying.narrowed,
                    passes,
                    node.likeliest * chance,
                )
            if window.nodes is None and len(window.drafts) == 1 and recorded is not None:
                off = abs(accepted - float(recorded[0]))
                self.found.misrecorded = max(self.found.misrecorded, off)
        if vars(decoder) != own:
            changed = [name for name, value in vars(decoder).items() if own.get(name) is not value]
            raise NotEnumerable(
                f"it keeps {', '.join(changed)} on itself from pass to pass: keep it on the state"
            )

    def end(self, node: Node) -> None:
        """At a decode's last step."""
        state = node.state
        tokens = tuple(state.ids(state.tokens, torch.arange(len(state.tokens))).tolist())
        self.found.joint[tokens] += node.chance
        if self.shift:
            prices = self.decoder.audit(state, lambda: False)
            if prices is not None:
                self.found.shift += node.chance * float(prices.nansum())
        if node.likeliest > self.likeliest:
            self.found.way, self.likeliest = node.passes, node.likeliest

    def _leads_there(self, state: DecodeState) -> bool:
        here = state.frontier
        tokens = state.ids(state.tokens[:here], torch.arange(here)).tolist()
        return tuple(tokens) == self.follow[:here]  # type: ignore[index]

    def _record(
        self, node: Node, after: DecodeState, window: Window, v: Verification, chance: float
    ) -> None:
        count = after.frontier - node.state.frontier
        self.decoder.observe(after, window, v, count)
        with recording():
            values = {each.name: settled(getattr(v, each.name)) for each in fields(v)}
            seen = Observation(window, Verification(**values))
            packed = collect(self.decoder, node.state, [seen], node.state.n.view(1))
        shares = packed.read().shares[:count, SHARES.index("shift")]
        self.found.shift += chance * float(np.nansum(shares))


def _seen(
    node: Node,
    after: DecodeState,
    window: Window,
    v: Verification,
    intervals: Intervals,
    chance: float,
) -> Pass:
    n, count = node.state.frontier, after.frontier - node.state.frontier
    names = known_numbers()
    numbers = [
        Number(purpose, position, low, high)
        for k, (low, high) in sorted(intervals.items())
        for purpose, position, *_ in [names[k]]
    ]
    return Pass(
        start=n,
        drafts=settled(window.drafts).tolist(),
        p=v.p.tolist(),
        q=window.q.tolist(),
        numbers=numbers,
        committed=after.tokens[n : n + count].tolist(),
        statuses=[Status(int(s)) for s in settled(v.status)[:count]],
        chance=chance,
    )


def _proposed(
    decoder: WindowDecoder, before: DecodeState
) -> tuple[DecodeState, Window, Tensor, Tensor]:
    state = _copied(before)
    return state, *decoder._propose(state)


def _settled_proposal(
    made: tuple[DecodeState, Window, Tensor, Tensor],
) -> tuple[DecodeState, tuple[Window, Tensor, Tensor]]:
    state, window, fed, positions = made
    window = copy.copy(window)
    for place in fields(window):
        setattr(window, place.name, settled(getattr(window, place.name)))
    return _copied(state), (window, settled(fed), settled(positions))


def _copied(state: DecodeState) -> DecodeState:
    twin = copy.copy(state)
    for name, value in vars(state).items():
        if name == "ctx" or isinstance(value, dict):
            setattr(twin, name, copy.copy(value))
        elif isinstance(value, Tensor) and name not in _GIVEN:
            setattr(twin, name, value.clone())
        elif name not in _GIVEN:
            setattr(twin, name, copy.deepcopy(value))
    return twin


def _frozen(value: Any) -> Hashable:
    """A key of what a state holds: equal keys, equal values."""
    if isinstance(value, Tensor | np.ndarray):
        array = value.as_subclass(Tensor).numpy() if isinstance(value, Tensor) else value
        return array.shape, array.tobytes()
    if isinstance(value, dict):
        return tuple((k, _frozen(each)) for k, each in value.items() if k not in _GIVEN)
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if hasattr(value, "__dict__") and not isinstance(value, type | Enum):
        return type(value), _frozen(vars(value))
    return value if isinstance(value, Hashable) else id(value)


def sequences(joint: Joint, decoder: WindowDecoder, plan: Plan) -> Joint:
    """Those of a decoder with an order of its own (ZipAR's waves), as a plan's."""
    if decoder.plan is plan:
        return joint
    place = {slot: at for at, slot in enumerate(decoder.plan.slots)}
    order = [place[slot] for slot in plan.slots]
    return {tuple(tokens[at] for at in order): chance for tokens, chance in joint.items()}


def distance(found: Joint, joint: Joint) -> float:
    """The largest difference between the probabilities of a sequence."""
    return max(abs(found.get(each, 0.0) - joint.get(each, 0.0)) for each in {*found, *joint})


def total_variation(found: Joint, joint: Joint) -> float:
    """Of two distributions of whole sequences: half the sum of the differences."""
    every = {*found, *joint}
    return 0.5 * sum(abs(found.get(each, 0.0) - joint.get(each, 0.0)) for each in every)
