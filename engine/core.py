"""The nouns of a decode, in the order in which they come up.

A plan fixes the order of the tokens. Each turn of the window loop proposes a window, reads its rows
and verifies it. `Step` records a turn (`engine/trace/steps.py`).

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
    """A decoder breaks a rule of the window loop; the message says which one."""


@dataclass(frozen=True)
class Plan:
    """The order of a decode.

    A model numbers the tokens of its pictures by *slots*: raster order, with forced tokens between
    them. A decode numbers the tokens that it fills in by *positions*, in the order in which it
    fills them in. `engine/plan.py` makes the plans. A row of a forward pass that asks for a token
    has its query in the slot before that token's.

    With `fronts`, several rows of the grid are drawn at once. A token's slot, not the time at which
    it was committed, then decides which other tokens see it. A window's row stands where its query
    stands. It sees every committed token in an earlier slot, and only those uncommitted tokens that
    it follows.

    Raises ValueError where the columns have different lengths.
    """

    cells: tuple[int, ...]  # of each position its grid cell; -1 of a forced one
    slots: tuple[int, ...]  # its slot
    forced: tuple[int, ...]  # the id forced there, or -1
    stride: int  # how many positions a row of the grid is from the next; all, where there are none
    known: tuple[tuple[int, int], ...] = ()  # slots and ids there before the start, as read
    infilling: Infilling | None = None
    ahead: bool = False  # whether a row may ask for any position; else for that behind its token
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
    def root(self) -> int:
        """Slot of the token before the first position; -1 for the prompt's last token."""
        return self.known[-1][0] if self.known else -1


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a forward pass, root first.

    `DecodeState.laid_out` makes them from a window. A decoder that draws several rows of the grid
    at once makes them itself. Raises ContractError where their lengths differ.
    """

    fed: Tensor  # the ids that are read [R]
    asked: Tensor  # the positions whose distributions they give [R]; the plan's length for padding

    def __post_init__(self) -> None:
        _fit("a pass asks for a position with each row", fed=self.fed, asked=self.asked)


@dataclass(slots=True)
class Window:
    """The drafts that a pass verifies, as `propose` returns them.

    Each row has the draft for the position that it asks for, and the distribution q from which that
    draft was drawn. The last row's position has no draft: its q is 0 and its token means nothing. A
    pass without drafts has no rows here.

    In a chain each row reads the draft of the row before. In a tree the drafts are one of its
    paths, or none, and the rows after the root are its nodes. In an infilling a node gives the
    distribution at its depth, whichever node it follows.

    Raises ContractError where drafts and q have different lengths.
    """

    drafts: Tensor  # [R]
    q: Tensor  # [R, V]
    nodes: Tensor | None = None  # of a tree: tokens [N]
    depths: Tensor | None = None  # how far below the root each is [N]
    parents: Parents = None  # the rows that its 1 + N rows follow
    rows: Rows | None = None  # where the decoder lays out the pass itself

    def __post_init__(self) -> None:
        _fit("a window has a draft and its q in each row", drafts=self.drafts, q=self.q)


class Groups(NamedTuple):
    """The group (GSD) or neighbourhood (LANTERN) of each draft.

    Under typical acceptance it holds the draft alone, its p(x) and the threshold.
    """

    counts: Tensor  # how many tokens [R]; 0 where there is no group
    masses: Tensor  # those under p and q whose ratio is the acceptance probability [R, 2]
    tokens: Tensor  # the nearest, the draft first, -1 for none [R, up to TOP]


class Candidates(NamedTuple):
    """The candidates of a tree, level by level; a level is one position."""

    tokens: Tensor  # in the order tried, -1 where none was [levels, K]
    tests: Tensor  # p, q, acceptance probability and uniform [levels, K, 4]


@dataclass(slots=True)
class Diagnostics:
    """The facts that a rule considered on a tree besides the drafts; they are only recorded.

    For a chain, `WindowDecoder.groups` and `WindowDecoder.shift` give the same facts.
    """

    candidates: Candidates | None = None
    # Where the window has no drafts of its own: what those on the path were drawn from [R, V], and
    # the shift of their nodes' tests [R].
    q: Tensor | None = None
    shift: Tensor | None = None
    groups: Groups | None = None


@dataclass(slots=True)
class Verification:
    """The result of a decoder's rule on a window, as `verify` returns it, on the device.

    Row i is position n + i, or the window's row i where there is a `rank`. Raises ContractError
    where the columns have different lengths.
    """

    count: Tensor  # committed positions, 0-dim
    tokens: Tensor  # the committed ones, then the drafts of the next window [R]
    q: Tensor  # each of these drafts is now a sample of its row [R, V]
    status: Tensor  # a Status each [R]
    p: Tensor  # the model's distribution at each position [R, V]
    acceptance: Tensor  # the probability that the rule accepts this very draft [R]
    uniform: Tensor  # the number drawn against it [R]; NaN: the rule did not come to it
    drafts: Tensor | None = None  # what was verified [R], -1 for nothing; None: the window's
    path: Tensor | None = None  # the window row that leads to each position; None: row i to n + i
    redraws: bool = True  # whether positions behind the committed ones keep or get a draft
    places: Tensor | None = None  # the position of each row, where they do not follow one another
    # The loop sorts the rows by this [R]: 0 commits, 1 is another position, 2 is padding. None: the
    # rows are sorted already.
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
    outcome: Tensor  # how many positions are committed, then the path, where it can leave the chain


def _fit(words: str, **columns: Tensor) -> None:
    if len({column.shape[0] for column in columns.values()}) > 1:  # faster than their len()
        sizes = ", ".join(f"{name} {list(column.shape)}" for name, column in columns.items())
        raise ContractError(f"{words}: {sizes}")
