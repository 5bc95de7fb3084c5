"""What goes into a judgement and what comes out of it: a window of drafts, a verdict, and evidence
for those who watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(slots=True)
class Window:
    """What one forward pass is fed: drafts [H] for positions n, n + 1, .., with the laws [H, V]
    they were drawn from.

    A tree adds `side` nodes behind them: their tokens, and for all 1 + H + S rows the row each
    follows.
    """

    drafts: Tensor
    laws: Tensor
    side: Tensor | None = None
    side_depths: Tensor | None = None
    parents: tuple[int, ...] | None = None


@dataclass(slots=True)
class Evidence:
    """What a rule can say of its judgement beyond the verdict. kin_count, kin_p, kin_q [H + 1] and
    kin_tokens [H + 1, up to TOP], -1 for none: the tokens that spoke for each draft, see
    `records.Kin`; siblings [levels, K, 6]: token, p, q, acceptance, uniform, and 1 if it was
    tried."""

    kin_count: Tensor | None = None
    kin_p: Tensor | None = None
    kin_q: Tensor | None = None
    kin_tokens: Tensor | None = None
    siblings: Tensor | None = None


@dataclass(slots=True)
class Verdict:
    """What a decoder's rule made of a window; all on the device, row i for position n + i, H + 1
    rows.

    count: how many positions are committed (0-dim); tokens: their tokens, then the drafts that
    stay; laws [H + 1, V]: what each remaining draft is now a sample of; status: a Status each;
    drafts: what was judged, -1 for nothing; p: the law at each position; acceptance: the
    probability with which the rule accepts that draft, NaN where none is judged; uniform: the
    number drawn against it, NaN where it did not come to that; path: the window rows that lead to
    the committed positions (None: row i leads to position n + i); standing: whether the drafts that
    are not committed stay for the next window; explain: more for those who watch, worked out when
    nobody is charged for it.
    """

    count: Tensor
    tokens: Tensor
    laws: Tensor
    status: Tensor
    drafts: Tensor
    p: Tensor
    acceptance: Tensor
    uniform: Tensor
    path: Tensor | None = None
    standing: bool = True
    explain: Callable[[], Evidence] | None = None
