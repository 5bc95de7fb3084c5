"""Records: what a step, a lane and a race leave behind. Plain data, no tensors; everything that
watches a race reads these."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum

from engine.failures import Failure


class Status(IntEnum):
    """What a step did to a position."""

    ACCEPTED = 0  # the draft passed and is committed
    RESAMPLED = 1  # the draft was refused; a token drawn in its place is committed
    FRESH = 2  # committed without a draft: vanilla AR's token, or the bonus after full acceptance
    FORCED = 3  # fixed by the model's layout (an end of line); never sampled
    REFINED = 4  # not committed: the draft was kept or redrawn from the newer law
    # not committed: the draft was tested and refused, and another put in its place or none
    REJECTED = 5


class Badge(Enum):
    """What a decoder promises about the picture, next to vanilla AR's."""

    IDENTICAL = "identical image"
    SAME_DISTRIBUTION = "same distribution"
    CHANGED_DISTRIBUTION = "changed distribution"


class LaneState(Enum):
    WAITING = "waiting"
    RACING = "racing"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


TOP = 8  # how many of a law's likeliest tokens a record keeps
Law = tuple[tuple[int, float], ...]  # (token, probability), likeliest first, TOP at most


@dataclass(frozen=True, slots=True)
class Kin:
    """The tokens that spoke for a draft: GSD's group C, or LANTERN's neighbourhood A with the draft
    itself.

    `count` of them in all; `tokens` are the TOP nearest to the draft, the draft first. `p` and `q`
    are the two masses whose ratio was the acceptance probability: of the group under either law; of
    A with x under p, and of x alone under q.
    """

    count: int
    tokens: tuple[int, ...]
    p: float
    q: float

    def __post_init__(self) -> None:
        if not 1 <= len(self.tokens) <= min(TOP, self.count):
            raise ValueError(f"{self.count} kin cannot be shown by {len(self.tokens)} tokens")


@dataclass(frozen=True, slots=True)
class Sibling:
    """One candidate of several for a position, put to the test after those before it had failed
    (SJD-PAC, Alg. 1).

    `p` is its probability in what earlier refusals left of the target's law, `q` in the law it was
    drawn from.
    """

    token: int
    p: float
    q: float
    acceptance: float
    uniform: float

    @property
    def accepted(self) -> bool:
        return self.uniform < self.acceptance


@dataclass(frozen=True, slots=True)
class Position:
    """What one step did at one position.

    `draft`, `top1_draft` and `q` are None where nothing was drafted. `p` and `q` are the draft's
    probabilities, `tv` is TV(p, q), and `acceptance` the probability with which the rule in force
    accepts this very draft; None where no draft was judged. `uniform` is the number drawn against
    it (accepted if smaller), None where it did not come to that. `top` and `top_draft` are the two
    laws' likeliest tokens. `siblings` are the candidates tried, the draft first, where there were
    several.
    """

    position: int
    draft: int | None
    token: int
    status: Status
    top1: float
    top1_draft: float | None = None
    tv: float | None = None
    acceptance: float | None = None
    p: float | None = None
    q: float | None = None
    uniform: float | None = None
    top: Law = ()
    top_draft: Law = ()
    kin: Kin | None = None
    siblings: tuple[Sibling, ...] = ()

    def __post_init__(self) -> None:
        if self.position < 0 or self.token < 0:
            raise ValueError(
                f"a position and its token are not negative: {self.position}, {self.token}"
            )
        if max(len(self.top), len(self.top_draft)) > TOP:
            raise ValueError(
                f"a record keeps {TOP} tokens of a law, not"
                f" {max(len(self.top), len(self.top_draft))}"
            )


@dataclass(frozen=True, slots=True)
class Refusal:
    """The laws behind a step's first refusal, so that other rules can judge it again without a
    forward pass.

    `tokens` hold the tokens with the largest p + q, ascending, as little-endian uint16; `p` and `q`
    their probabilities as float32: all three in bytes, since they are many and only ever read
    together.
    """

    position: int
    draft: int
    uniform: float
    tokens: bytes
    p: bytes
    q: bytes

    def __post_init__(self) -> None:
        if not (len(self.p) == len(self.q) == 2 * len(self.tokens) and len(self.tokens) % 2 == 0):
            raise ValueError("a refusal has one p and one q for each token")


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where a step's time went, with the device synchronised at both ends. `draft` is a drafter's
    own time."""

    forward: float = 0.0
    verify: float = 0.0
    cache: float = 0.0
    draft: float = 0.0

    def __post_init__(self) -> None:
        if min(self.forward, self.verify, self.cache, self.draft) < 0:
            raise ValueError(f"time does not run backwards: {self}")

    @property
    def total(self) -> float:
        return self.forward + self.verify + self.cache + self.draft

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(
            self.forward + other.forward,
            self.verify + other.verify,
            self.cache + other.cache,
            self.draft + other.draft,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a decoder: one target forward pass and the verification after it.

    `nfe` counts this decoder's target passes so far, this one included; `drafter_passes` those of
    its drafter in this step. `before` and `after` are the frontier. `positions` are in order; those
    below `after` are final, the others are the drafts that the next step will find in its window.
    `refusal` is there if a draft was refused and replaced.
    """

    nfe: int
    before: int
    after: int
    positions: tuple[Position, ...]
    seconds: Seconds
    drafter_passes: int = 0
    refusal: Refusal | None = None

    def __post_init__(self) -> None:
        if not (self.nfe > 0 and 0 <= self.before < self.after):
            raise ValueError(
                f"a step commits at least one token: nfe {self.nfe}, frontier {self.before} to"
                f" {self.after}"
            )
        # as long as a damaged file says: never spelled out
        committed = range(self.before, self.after)
        if len(self.committed) != len(committed) or any(
            p.position != n for p, n in zip(self.committed, committed, strict=True)
        ):
            raise ValueError(
                f"positions {self.before} to {self.after} are committed, and must come first and in"
                " order"
            )

    @property
    def committed(self) -> tuple[Position, ...]:
        return self.positions[: self.after - self.before]

    @property
    def window(self) -> tuple[Position, ...]:
        """The drafts left standing after this step."""
        return self.positions[self.after - self.before :]


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of a race, in the order in which the lanes moved: lane `lane` made `step`, or
    changed its state.

    `step` is None when only the state changed (started, failed, stopped). `error` says what went
    wrong in words for the person who watches.
    """

    lane: int
    state: LaneState
    step: Step | None = None
    error: str | None = None
    failure: Failure | None = field(default=None, compare=False)  # of a live race; not in the trace

    def __post_init__(self) -> None:
        if (self.state is LaneState.FAILED) != (self.error is not None):
            raise ValueError("a lane has an error exactly if it failed")


@dataclass(slots=True)
class Standing:
    """A lane's figures so far: fold its steps into it, one after another."""

    nfe: int = 0
    frontier: int = 0
    drafter_passes: int = 0
    seconds: Seconds = field(default_factory=Seconds)
    lengths: list[int] = field(default_factory=list)

    def add(self, step: Step) -> None:
        self.nfe, self.frontier = step.nfe, step.after
        self.drafter_passes += step.drafter_passes
        self.seconds = self.seconds + step.seconds
        self.lengths.append(step.after - step.before)

    @property
    def step_compression(self) -> float:
        """Committed tokens / NFE."""
        return self.frontier / self.nfe if self.nfe else 0.0

    @property
    def mean_acceptance_length(self) -> float:
        """Committed tokens per step, the last sampled token included (vLLM's name)."""
        return self.frontier / len(self.lengths) if self.lengths else 0.0

    @property
    def acceptance_histogram(self) -> dict[int, int]:
        """Acceptance length to the number of steps that had it (AIPerf's name)."""
        return {length: self.lengths.count(length) for length in sorted(set(self.lengths))}
