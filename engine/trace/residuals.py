"""Residuals: fields of `positions` minus their expected values; most are 0 and compress well.

The expected values follow from other fields and from the previous row of the same position.
Differences are modulo 2**16, so that any row is read back as it was written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.trace.rows import TOP, Source
from engine.trace.shares import NONE, ONE
from engine.trace.steps import StepTable


def residuals(table: StepTable) -> np.ndarray:
    """Return the rows of `positions`, with the fields of EXPECTED as residuals."""
    differences, expected = table.positions.copy(), _Expected(table, table.positions)
    for name, expect in EXPECTED.items():
        differences[name] -= expect(expected)
    return differences


def positions_of(table: StepTable) -> np.ndarray:
    """Return the rows of `positions`, computed from a table whose `positions` are residuals.

    The table must have passed `check_refs`.
    """
    rows = table.positions.copy()
    expected = _Expected(table, rows)
    for name, expect in EXPECTED.items():
        rows[name] += expect(expected)
    return rows


@dataclass(frozen=True, eq=False)
class _Expected:
    """Computes the expected values of the fields in EXPECTED.

    `rows` are the `positions` of `table`. While residuals are read back, the fields of `rows` whose
    values were not computed yet still hold residuals.
    """

    table: StepTable
    rows: np.ndarray

    @cached_property
    def likeliest(self) -> tuple[np.ndarray, np.ndarray]:
        """The likeliest tokens of each row's q, and their shares, both [N, TOP].

        A row's Source says where its tokens and shares are stored.
        """
        source, table = self.table.source, self.table
        tokens = np.full((len(self.rows), TOP), NONE, "<u2")
        shares = np.zeros_like(tokens)
        certain, before, own = (
            source == each for each in (Source.CERTAIN, Source.BEFORE, Source.OWN)
        )
        tokens[certain, 0], shares[certain, 0] = self.rows["draft"][certain], ONE
        tokens[before] = self.rows["top"][self.table.earlier[before]]
        shares[before] = self.rows["top_shares"][self.table.earlier[before]]
        tokens[own], shares[own] = table.distributions["top"], table.distributions["top_shares"]
        return tokens, shares

    def draft(self) -> np.ndarray:
        return np.where(
            self.table.earlier < 0, NONE, self.rows["token"][self.table.earlier]
        ).astype("<u2")

    def top1(self) -> np.ndarray:
        shares: np.ndarray = self.rows["top_shares"][:, 0]
        return shares

    def top1_draft(self) -> np.ndarray:
        nothing = self.table.source == Source.NONE
        return np.where(nothing, NONE, self.likeliest[1][:, 0]).astype("<u2")

    def p(self) -> np.ndarray:
        return self._share(self.rows["top"], self.rows["top_shares"])

    def q(self) -> np.ndarray:
        latest = self.rows[self.table.earlier]
        same = (self.table.source == Source.BEFORE) & (latest["draft"] == self.rows["draft"])
        return np.where(same, latest["p"], self._share(*self.likeliest)).astype("<u2")

    def acceptance(self) -> np.ndarray:
        p, q = (self.rows[name].astype(np.int64) for name in ("p", "q"))
        ratio = np.minimum(ONE, (ONE * p + q // 2) // np.maximum(q, 1))
        return np.where((p == NONE) | (q == NONE), NONE, ratio).astype("<u2")

    def _share(self, tokens: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return each draft's share in `shares` [N, TOP], the shares of `tokens` [N, TOP].

        The share is 0 if the draft is not among its row's tokens, and NONE without a draft.
        """
        draft = self.rows["draft"]
        share = (shares * (tokens == draft[:, None])).sum(-1)
        return np.where(draft == NONE, NONE, share).astype("<u2")


# Ordered so that a field's expected values depend only on fields before it, and on fields that are
# stored as they are.
EXPECTED: dict[str, Callable[[_Expected], np.ndarray]] = {
    name: getattr(_Expected, name)
    for name in ("draft", "top1", "top1_draft", "p", "q", "acceptance")
}
