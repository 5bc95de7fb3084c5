"""The exact joint distribution of what a decoder decodes.

Every outcome of the decoder's random numbers is enumerated in float64, step by step. A step leads
to a node. A node holds all that later steps depend on: the decoder's state, and the intervals of
the random numbers that some run reads again in a later step. Runs that reach the same node are
merged.
"""

from __future__ import annotations

import copy
import sys
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.core import Plan, Rows, Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.decoders.window import WindowDecoder
from engine.trace import Status
from tools.judge.choices import Intervals, outcomes
from tools.judge.replay import HiddenState, Path, Paths, decode_again
from tools.judge.symbolic import SymbolicNoise, copied, settled

Joint = dict[tuple[int, ...], float]  # by the token ids at a plan's positions
CLOSE = 1e-12  # rounding of a probability in float64
# Attributes of a state that never change in a decode, or follow from the committed tokens.
_GIVEN = {"model", "plan", "ctx", "noise", "slot", "forced_ids", "_offsets", "_noise"}
_LAID = {"_pass", "table"}  # attributes that a step replaces, but never changes in place


class TooManyOutcomes(Exception):
    """An enumeration that would take more runs than were allowed."""


@contextmanager
def exactly() -> Iterator[None]:
    """Compute in float64, which the enumeration and its models need."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_default_dtype(before)


@dataclass
class Node:
    state: DecodeState
    intervals: Intervals
    chance: float
    path: Path  # one of the paths that lead to the node
    narrowed: set[int] = field(default_factory=set)  # numbers that the step before the node read
    history: Any = None  # what a Walk records about the way to the node


@dataclass
class Enumeration:
    """The result of an enumeration.

    Attributes:
        joint: the probability of each whole sequence.
        seen: for each fact about a step, such as "bonus" or "length 2", the expected number of
            steps of a decode for which the fact is true.
        runs: how many times the verification of a pass was run.
        passes: the expected number of forward passes.
        most_passes: the passes of the longest decode.
        most_committed: the largest number of tokens that a pass commits.
        statuses: the statuses of committed tokens.
        misrecorded: for windows with one draft, the largest difference between the probability
            that the draft is accepted and the recorded probability.
    """

    joint: Joint = field(default_factory=lambda: defaultdict(float))
    seen: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    runs: int = 0
    passes: float = 0.0
    most_passes: int = 0
    most_committed: int = 0
    statuses: set[str] = field(default_factory=set)
    misrecorded: float = 0.0

    def count(self, chance: float, window: Window, v: Verification, state: DecodeState) -> None:
        self.runs += 1
        count, path = len(state.path), state.path
        status = Status(int(v.status[count - 1]))
        self.most_committed = max(self.most_committed, count)
        leaves = [i for i, row in enumerate(path) if row != i]
        has_drafts = window.nodes is not None or len(window.drafts) > 1
        committed = torch.arange(state.frontier - count, state.frontier)
        if v.places is not None:
            committed, leaves = settled(v.places)[:count], []
        facts = {
            status.name.lower(): True,
            "forced": bool((state.forced_ids[committed] >= 0).any()),
            "bonus": status is Status.FRESH and has_drafts,
            "off the spine": bool(leaves),
            f"left at depth {leaves[0]} for {len(leaves)}" if leaves else "on the spine": True,
            f"length {count}": True,
            "end of image": has_drafts
            and state.frontier + len(v.tokens) - count >= state.plan.length,
        }
        for name, true in facts.items():
            self.seen[name] += chance * true
        free = settled(v.status)[:count][state.forced_ids[committed] < 0]
        self.statuses |= {Status(value).name.lower() for value in set(free.tolist())}
        self.statuses |= {Status.FORCED.name.lower()} if facts["forced"] else set()


@dataclass(frozen=True)
class StepOutcome:
    """One outcome of a pass.

    Attributes:
        before: the node before the pass.
        after: the state after the pass.
        window: the pass's window.
        verification: the verification of the window.
        numbers: the random numbers that decided the outcome, with the intervals that they lie in.
        chance: the outcome's probability, given the node.
    """

    before: Node
    after: DecodeState
    window: Window
    verification: Verification
    numbers: Intervals
    chance: float


class Walk:
    """An enumeration in progress; subclasses observe its outcomes, and may leave some out."""

    def __init__(self, decoder: WindowDecoder, most: int | None = None) -> None:
        """Prepare a walk that may run at most `most` verifications; None sets no limit."""
        self.decoder, self.most, self.enumeration = decoder, most, Enumeration()
        self.noise, self.paths = SymbolicNoise(), Paths()

    def begin(self) -> Node:
        """Return the node before the first pass, and forget everything found so far.

        `walked` starts over, and calls this method again, if a later step turns out to read a
        number whose interval was dropped.
        """
        self.enumeration, self.paths = Enumeration(), Paths()
        state = self.decoder.begin("", 0)
        state.noise = self.noise
        return Node(state, {}, 1.0, Path({}))

    def leads_on(self, outcome: StepOutcome) -> bool:
        """Return whether to continue after an outcome."""
        return True

    def history(self, outcome: StepOutcome) -> Any:
        """Return what to record about the way to an outcome.

        `merge` decides what is kept if several runs come to the same node.
        """
        return None

    def merge(self, history: Any, other: Any) -> Any:
        return None

    def key(self, history: Any) -> Hashable:
        """Return a key of a history; nodes with different keys are not merged."""
        return None

    def end(self, node: Node) -> None:
        """Add the finished decode that `node` stands for."""
        state = node.state
        tokens = tuple(state.ids(state.tokens, torch.arange(len(state.tokens))).tolist())
        self.enumeration.joint[tokens] += node.chance
        self.paths.add(replace(node.path, tokens=tokens))


def enumerated(decoder: WindowDecoder, most: int | None = None) -> Enumeration:
    """Enumerate every outcome of a decode; must be called within `exactly`.

    Raises as `walked` does.
    """
    return walked(Walk(decoder, most))


def walked(walk: Walk) -> Enumeration:
    """Enumerate every outcome of a decode.

    Raises:
        TooManyOutcomes: the enumeration takes more runs than the walk may.
        HiddenState: the decoder's own `steps` decodes otherwise than the enumeration, or the
            decoder keeps something outside the state.
        NotEnumerable: the rule uses a random number in a way that depends on its exact value.
        ContractError: a pass commits nothing, or too much.
    """
    # For each number that several steps read: the last frontier at which it is read.
    again: dict[int, int] = {}
    length = walk.decoder.plan.length
    while True:
        known, first = dict(again), dict[int, int]()
        nodes, step = [walk.begin()], 0
        while nodes:
            following: dict[Hashable, Node] = {}
            for node in nodes:
                walk.enumeration.passes += node.chance
                for after in _steps(walk, node):
                    for number in after.narrowed:
                        if first.setdefault(number, step) != step:
                            again[number] = max(again.get(number, 0), node.state.frontier)
                    state = after.state
                    if state.frontier == length:
                        walk.end(after)
                        continue
                    after.intervals = {
                        number: interval
                        for number, interval in after.intervals.items()
                        if state.frontier <= known.get(number, -1)
                    }
                    intervals = tuple(sorted(after.intervals.items()))
                    key = _kept(state), intervals, walk.key(after.history)
                    if key in following:
                        node_there = following[key]
                        node_there.chance += after.chance
                        node_there.history = walk.merge(node_there.history, after.history)
                        node_there.path = walk.paths.either(node_there.path, after.path)
                    else:
                        following[key] = after
            nodes, step = list(following.values()), step + 1
            walk.enumeration.most_passes = step
        if known == again:
            decode_again(walk.decoder, walk.paths, walk.noise.numbers)
            return walk.enumeration


def _steps(walk: Walk, node: Node) -> Iterator[Node]:
    """Yield the node after every outcome of one turn of the window loop."""
    decoder = walk.decoder
    own, proposed = _own(decoder), partial(_proposed, decoder, node.state)
    for drafting, (state, window, rows) in outcomes(proposed, node.intervals, _settled_proposal):
        logits = decoder.read_rows(state, window, rows)
        verified = partial(_verified, decoder, state, window, rows, logits)
        committed = partial(_committed, decoder, window)
        accepted, recorded = 0.0, None
        for verifying, (after, v) in outcomes(verified, drafting.intervals, committed):
            if (passed := _passed(window, v, after.frontier - state.frontier)) is not None:
                accepted, recorded = accepted + verifying.weight * passed, v.acceptance
            chance, choices = drafting.weight * verifying.weight, drafting | verifying
            outcome = StepOutcome(node, after, window, v, choices, chance)
            if not walk.leads_on(outcome):
                continue
            walk.enumeration.count(node.chance * chance, window, v, after)
            if walk.most is not None and walk.enumeration.runs > walk.most:
                raise TooManyOutcomes
            intervals, chance, narrowed = verifying.intervals, node.chance * chance, set(choices)
            path = Path(node.path.numbers | choices, (*node.path.ends, after.frontier))
            yield Node(after, intervals, chance, path, narrowed, walk.history(outcome))
        if recorded is not None:
            off = abs(accepted - float(recorded[0]))
            walk.enumeration.misrecorded = max(walk.enumeration.misrecorded, off)
    if (now := _own(decoder)) != own:
        changed = [name for name in {**own, **now} if own.get(name) != now.get(name)]
        raise HiddenState(
            f"it keeps {', '.join(changed)} from pass to pass outside the state: keep it in the"
            " state"
        )


def _proposed(decoder: WindowDecoder, before: DecodeState) -> tuple[DecodeState, Window, Rows]:
    state = _copied(before)
    return state, *decoder.propose_rows(state)


def _verified(
    decoder: WindowDecoder, before: DecodeState, window: Window, rows: Rows, logits: Tensor
) -> tuple[DecodeState, Verification, Tensor]:
    state = _copied(before)
    return state, *decoder.verify_logits(state, window, rows, logits)


def _committed(
    decoder: WindowDecoder, window: Window, turn: tuple[DecodeState, Verification, Tensor]
) -> tuple[DecodeState, Verification]:
    """Commit a turn's tokens; return the state after that, and the turn's verification.

    `turn` is what `_verified` returned: the state before the commit, the verification, and the
    tensor that says which rows are committed (`Turn.outcome`). What no later step needs is removed
    from the state. Nothing is removed if the verification has `places`, or if code from outside the
    engine observes or commits steps.
    """
    before, v, outcome = turn
    state, n = _copied(before), before.frontier
    path = state.committed_rows(settled(outcome).tolist())
    state.keep_rows(path)
    state.commit(v, path)
    if watches := _is_from_outside(type(decoder), "observe"):
        decoder.observe(state, window, v, len(path))
    if v.places is not None or watches or _is_from_outside(type(state), "commit"):
        state.drafts = settled(state.drafts)
        return state, v
    # Committed tokens, and tokens after the image's end, are no drafts.
    draft_slice = slice(len(path), decoder.plan.length - n)
    state.drafts = settled(torch.cat([state.tokens[:1], v.tokens[draft_slice]]))
    state.q = torch.cat([torch.zeros_like(v.q[:1]), v.q[draft_slice]])
    state.count.fill_(1)
    return state, v


def _passed(window: Window, v: Verification, count: int) -> bool | None:
    """Return whether a window's only draft passed its test; None for other windows."""
    if v.places is None:
        only = window.nodes is None and len(window.drafts) == 2
    else:
        assert v.drafts is not None
        has_draft = settled(v.drafts) >= 0
        only, count = bool(has_draft[0]) and int(has_draft.sum()) == 1, 1
    # A rule need not commit the token after an accepted draft.
    return count > 1 or int(settled(v.status)[0]) == Status.ACCEPTED if only else None


def _settled_proposal(
    proposal: tuple[DecodeState, Window, Rows],
) -> tuple[DecodeState, Window, Rows]:
    state, window, rows = proposal
    window = copy.copy(window)
    for place in fields(window):
        if place.name != "rows":
            setattr(window, place.name, settled(getattr(window, place.name)))
    return _copied(state), window, Rows(settled(rows.fed), settled(rows.asked))


def _copied(state: DecodeState) -> DecodeState:
    """Return a copy of a state, including the attributes that a decoder added to it.

    Comparisons and samples whose outcome is still open get one now, as in `copied`.
    """
    twin = copy.copy(state)
    for name, value in vars(state).items():
        if name in ("ctx", "_noise"):
            setattr(twin, name, copy.copy(value))
        elif isinstance(value, Tensor) and name not in _GIVEN:
            setattr(twin, name, copied(value))
        elif name not in _GIVEN | _LAID:
            setattr(twin, name, copy.deepcopy(value))
    return twin


def _kept(state: DecodeState) -> Hashable:
    """Return a key of everything in a state that later steps depend on."""
    return _frozen({name: value for name, value in vars(state).items() if name not in _GIVEN})


def _is_from_outside(kind: type, method: str) -> bool:
    """Return whether a class's method `method` is defined outside the engine."""
    module: str = getattr(kind, method).__module__
    return not module.startswith("engine.")


def _own(decoder: WindowDecoder) -> dict[str, Hashable]:
    """Return, by name, a key of each value that a decoder may change outside the state.

    The values are the decoder's attributes, and the mutable attributes of its classes and of the
    modules that define them. Modules of the engine and of Python's library are left out.
    """
    held: dict[str, Any] = {}
    changeable = (list, MutableMapping, set, deque, Tensor, np.ndarray)
    for kind in reversed(type(decoder).__mro__):
        places, home = [dict(vars(kind))], kind.__module__
        known = home.partition(".")[0] in {"engine", *sys.stdlib_module_names}
        if not known and home in sys.modules:
            places.append(vars(sys.modules[home]))
        for place in places:
            held |= {
                name: each
                for name, each in place.items()
                if isinstance(each, changeable) and not name.startswith("__")
            }
    held |= vars(decoder)
    fixed = {name for name, each in held.items() if is_dataclass(each) and _is_fixed(each)}
    return {
        name: id(each) if name in fixed else _frozen(each)
        for name, each in held.items()
        if name not in _GIVEN
    }


def _is_fixed(value: Any) -> bool:
    fixed: bool = type(value).__dataclass_params__.frozen
    return fixed


def _frozen(value: Any) -> Hashable:
    """Return a hashable key of a value: equal keys mean equal values."""
    if isinstance(value, Tensor | np.ndarray):
        array = value.as_subclass(Tensor).detach().numpy() if isinstance(value, Tensor) else value
        return array.shape, array.tobytes()
    if isinstance(value, MutableMapping):
        return tuple((k, _frozen(each)) for k, each in value.items())
    if isinstance(value, list | tuple | deque):
        return tuple(map(_frozen, value))
    if isinstance(value, set):
        return frozenset(map(_frozen, value))
    if hasattr(value, "__dict__") and not isinstance(value, type | Enum):
        return type(value), _frozen(vars(value))
    return value if isinstance(value, Hashable) else id(value)


def sequences(joint: Joint, decoder: WindowDecoder, plan: Plan) -> Joint:
    """Return a decoder's joint distribution, with each sequence in the order of `plan`.

    In `joint` the sequences are in the order of the decoder's plan, which may be another.
    """
    if decoder.plan is plan:
        return joint
    place = {slot: at for at, slot in enumerate(decoder.plan.slots)}
    order = [place[slot] for slot in plan.slots]
    return {tuple(tokens[at] for at in order): chance for tokens, chance in joint.items()}


def distance(decoder_joint: Joint, joint: Joint) -> float:
    """Return the largest difference between the two probabilities of any sequence."""
    return max(
        abs(decoder_joint.get(each, 0.0) - joint.get(each, 0.0))
        for each in {*decoder_joint, *joint}
    )


def joint_variation(decoder_joint: Joint, joint: Joint) -> float:
    """Return the total variation of two distributions of whole sequences."""
    every = {*decoder_joint, *joint}
    return 0.5 * sum(abs(decoder_joint.get(each, 0.0) - joint.get(each, 0.0)) for each in every)
