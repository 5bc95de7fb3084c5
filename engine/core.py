"""The types that a decode works with, in the order in which they come up.

A plan fixes the order of the tokens. Each turn of the window loop proposes a window, reads the
window's rows and verifies its drafts. A window's first row is its root: it reads the last committed
token. `Step` records a turn (`engine/trace/steps.py`).

Shapes: R rows of a pass, N nodes of a tree, V codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from torch import Tensor

from engine.infilling import Infilling

# The row that each row of a window follows, the root first; None for a chain.
Parents = tuple[int, ...] | None


class ContractError(Exception):
    """A decoder breaks a rule of the window loop; the message says which rule."""


@dataclass(frozen=True)
class Plan:
    """The order in which a decode fills in tokens.

    A *slot* is a token's number in the model's own order: raster order, forced tokens included. A
    *position* is a token's number in the order in which the decode fills in tokens.
    `engine/plan.py` makes the plans. Each row of a forward pass asks for one token: it computes
    that token's distribution.

    With `fronts`, several rows of the grid are drawn at once, and positions are in raster order. A
    row of the window then sees every committed token whose slot comes before that of the token that
    the row asks for. It does not matter in which order these tokens were committed. Of the drafts,
    a row sees only its own and those of its ancestors in the window.

    Raises ValueError where `cells`, `slots` and `forced` have different lengths.
    """

    cells: tuple[int, ...]  # grid cell of each position; -1 for a forced position
    slots: tuple[int, ...]  # slot of each position
    forced: tuple[int, ...]  # id that is forced at each position, or -1
    stride: int  # positions in one row of the grid; all positions, if the order has no rows
    known: tuple[tuple[int, int], ...] = ()  # (slot, id) of each token that is known at the start
    infilling: Infilling | None = None
    before: int = 0  # positions before the first; noise and Sampling.guided_tokens count them
    stream: int = 0  # stream of the random numbers (`Infilling.stream`)
    ahead: bool = False  # whether a row may ask for any position, not only for the next one
    fronts: bool = False

    def __post_init__(self) -> None:
        if not len(self.cells) == len(self.slots) == len(self.forced):
            raise ValueError("a plan says of each position its cell, its slot and what is forced")

    @property
    def length(self) -> int:
        """Number of positions, forced ones included."""
        return len(self.slots)

    @cached_property
    def has_forced(self) -> bool:
        """True if any position is forced."""
        return max(self.forced) >= 0

    @property
    def gumbel_stream(self) -> int:
        """Stream of the Gumbel noise: a fork has the noise of a whole picture."""
        return 0 if self.infilling and self.infilling.forks else self.stream

    @property
    def root(self) -> int:
        """Slot of the token before the first position; -1 for the prompt's last token."""
        return self.known[-1][0] if self.known else -1


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a forward pass, root first.

    `DecodeState.laid_out` makes a window's rows. A decoder that draws several rows of the grid at
    once makes its own. Raises ContractError where `fed` and `asked` have different lengths.
    """

    fed: Tensor  # the ids that are read [R]
    asked: Tensor  # position that each row asks for [R]; the plan's length for padding

    def __post_init__(self) -> None:
        _fit("a pass asks for a position with each row", fed=self.fed, asked=self.asked)


@dataclass(slots=True)
class Window:
    """The drafts that a pass verifies, as `propose` returns them.

    Row i of `drafts` and `q` is about the position that row i of the pass asks for: that position's
    draft, and the distribution from which the draft was drawn. In a row without a draft, such as
    the last row, q is 0 and the token means nothing. For a pass without drafts, `drafts` and `q`
    are empty.

    In a chain, each row of the pass reads the draft of the row before. In a tree, the pass reads
    the root and then `nodes`, and `drafts` is one path of the tree, or empty. A node at depth d
    asks for position n + d, where n is the frontier. If rows may ask for any position
    (`Plan.ahead`), nodes may be copies of one token that ask for different positions.

    Raises ContractError where `drafts` and `q` have different lengths.
    """

    drafts: Tensor  # [R]
    q: Tensor  # [R, V]
    nodes: Tensor | None = None  # tokens of a tree's nodes [N]
    depths: Tensor | None = None  # depth of each node below the root [N]
    parents: Parents = None  # the row that each row of the pass follows; None for a chain
    rows: Rows | None = None  # the rows of the pass, if the decoder lays them out itself

    def __post_init__(self) -> None:
        _fit("a window has a draft and its q in each row", drafts=self.drafts, q=self.q)


class Groups(NamedTuple):
    """The group (GSD) or neighbourhood (LANTERN) of each draft.

    Relaxed SJD's typical acceptance compares p(x) with a threshold. Its group is the draft x alone,
    and its `masses` are p(x) and the threshold.
    """

    counts: Tensor  # number of tokens in each group [R]; 0 for no group
    masses: Tensor  # p-mass and q-mass, whose ratio is the acceptance probability [R, 2]
    tokens: Tensor  # the draft, then its nearest tokens; -1 for padding [R, up to TOP]


class Candidates(NamedTuple):
    """The candidates of a tree, level by level; a level is one position."""

    tokens: Tensor  # in the order tried; -1 for a candidate that was not tried [levels, K]
    tests: Tensor  # each candidate's p, q, acceptance probability, uniform number [levels, K, 4]


@dataclass(slots=True)
class Diagnostics:
    """Further facts about a rule's decisions; only the recorder reads them.

    For a chain, `groups` and `shift` are None here: `WindowDecoder.groups` and
    `WindowDecoder.shift` compute them.
    """

    candidates: Candidates | None = None
    q: Tensor | None = None  # q of the recorded drafts [R, V]; None for the window's q
    shift: Tensor | None = None  # shift of the tests at each node of a tree's path [R]
    groups: Groups | None = None


@dataclass(slots=True)
class Verification:
    """The result of a decoder's rule on a window, as `verify` returns it.

    All tensors are on the device. Row i of each column is about position n + i, where n is the
    frontier before the pass. If `places` is given, row i is about position `places[i]` instead, and
    the rows have the window's order. Raises ContractError where the columns have different lengths.
    """

    count: Tensor  # number of committed positions, 0-dim
    tokens: Tensor  # the committed tokens, then the drafts of the next window [R]
    q: Tensor  # the distributions that the next window's drafts are samples of [R, V]
    status: Tensor  # Status of each row [R]
    p: Tensor  # the model's distribution at each position [R, V]
    acceptance: Tensor  # the probability that the rule accepts the row's draft [R]
    uniform: Tensor  # the uniform number compared with `acceptance` [R]; NaN if none was compared
    drafts: Tensor | None = None  # verified drafts [R], -1 for none; if None, the window's drafts
    path: Tensor | None = None  # row that asked for each position; if None, row i asked for n + i
    redraws: bool = True  # whether uncommitted positions have drafts after the pass
    places: Tensor | None = None  # position of each row, if the positions are not consecutive
    # The loop sorts the rows by rank [R]: 0 for a committed position, 1 for an uncommitted one, 2
    # for padding. If None, the rows are sorted already.
    rank: Tensor | None = None
    diagnostics: Callable[[], Diagnostics] = Diagnostics  # called once the step is verified

    def __post_init__(self) -> None:
        _fit(
            "a verification says all of each row",
            tokens=self.tokens,
            q=self.q,
            status=self.status,
            p=self.p,
            acceptance=self.acceptance,
            uniform=self.uniform,
        )


class Turn(NamedTuple):
    """One pass of the window loop, as `WindowDecoder.take_turn` returns it."""

    window: Window
    rows: Rows
    verification: Verification
    outcome: Tensor  # number of committed positions, then `verification.path` if there is one


def _fit(words: str, **columns: Tensor) -> None:
    if len({column.shape[0] for column in columns.values()}) > 1:  # faster than their len()
        sizes = ", ".join(f"{name} {list(column.shape)}" for name, column in columns.items())
        raise ContractError(f"{words}: {sizes}")
