"""The distributions of rejected drafts, as a trace's file stores them.

These distributions are most of the bytes of a race's file. So they are rounded, but stay exact
enough to judge a draft again.

A rule accepts a draft x by a ratio: the probability of x and its neighbours under p, divided by
their probability under q. The divisor is at least q(x), so values are rounded to steps that are
fractions of q(x). p(x) and q(x) themselves are exact. GSD ranks tokens by p, so rounding keeps
every token on its side of x: below x, above x, or equal to x. `engine.race.rejudge` judges
rejections as they are stored, so that a race and its file give the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.trace.rows import DTYPES, SUPPORT
from engine.trace.shares import NONE
from engine.trace.steps import StepTable

# A row for each rejection: how many tokens it lists, its uniform number, p(x) and q(x).
HEAD = np.dtype([("count", "<u2"), ("uniform", "<f4"), ("p", "<f4"), ("q", "<f4")])
# A row for each token that a rejection lists: the token's number minus that of the row before (or
# minus 0), modulo 2**16, and the codes of its p and q. Where p(x) > 0, the code of p is one more if
# p equals p(x), and two more if p is larger.
LISTED = np.dtype([("gap", "<u2"), ("p", "<u2"), ("q", "<u2")])

# A code n stands for c ((1 + (n mod 4096) / 4096) 2^(n div 4096) - 1): steps of c / 4096 near 0,
# and of 1 / 4096 of a value well above c. The scale c is the power of 2 at
# or below q(x), times P_SCALE or Q_SCALE.
P_SCALE, Q_SCALE = np.float32(2**-6), np.float32(2**-1)
LEAST = np.float32(2**-8)  # a smaller q(x) counts as this, so that codes of p up to 1 fit 16 bits
_DROPPED = 11  # the bits of a float32's 23 that a code leaves out
_EXPONENT = np.uint32(0x7F800000)


@dataclass(frozen=True, eq=False)
class Rounded:
    """Rejections as they are stored: rows of HEAD and of LISTED."""

    heads: np.ndarray
    listed: np.ndarray

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rounded):
            return NotImplemented
        return np.array_equal(self.heads, other.heads) and np.array_equal(self.listed, other.listed)


def rounded(table: StepTable) -> Rounded:
    """Return the table's rejections as they are stored.

    Tokens whose p and q round to 0 are left out.
    """
    rows = table.rejections
    known = rows["tokens"] != NONE
    is_draft = known & (rows["tokens"] == _drafts(table))
    heads = np.zeros(len(rows), HEAD)
    for name in ("p", "q"):
        heads[name] = np.where(is_draft, rows[name], 0).max(-1, initial=0)
    own, p = heads["p"][:, None], rows["p"].clip(0)
    p_scale, q_scale = (scale[:, None] for scale in _scales(heads))
    side = (p >= own).astype("<u2") + (p > own)
    p_codes = _codes(p, p_scale) + np.where(own > 0, side, 0).astype("<u2")
    q_codes = _codes(rows["q"], q_scale)
    kept = known & (is_draft | (p_codes > 0) | (q_codes > 0))
    heads["count"], heads["uniform"] = kept.sum(-1), rows["uniform"]
    listed = np.zeros(kept.sum(), LISTED)
    listed["gap"] = np.diff(rows["tokens"][kept], prepend=np.uint16(0))
    listed["p"], listed["q"] = p_codes[kept], q_codes[kept]
    return Rounded(heads, listed)


def restored(stored: Rounded, table: StepTable) -> np.ndarray:
    """Return the rows of `rejections` from their stored form.

    `table` has each rejected draft x. In `stored`, the number of tokens that a rejection lists must
    be at most SUPPORT, these numbers must add up to the rows of `stored.listed`, and p(x) and q(x)
    must be between 0 and 1.
    """
    heads, listed = stored.heads, stored.listed
    kept = np.arange(SUPPORT) < heads["count"][:, None]
    rows = np.zeros(len(heads), DTYPES["rejections"])
    rows["uniform"], rows["tokens"] = heads["uniform"], NONE
    rows["tokens"][kept] = np.cumsum(listed["gap"], dtype="<u2")
    own, p_scale, q_scale = (
        np.repeat(values, heads["count"]) for values in (heads["p"], *_scales(heads))
    )
    code, here = listed["p"], _codes(own, p_scale)
    below = np.minimum(_values(code, p_scale), np.nextafter(own, np.float32(0)))
    above = np.maximum(_values(code - np.uint16(2), p_scale), np.nextafter(own, np.float32(2)))
    beside = np.where(code <= here, below, np.where(code == here + 1, own, above))
    rows["p"][kept] = np.where(own > 0, beside, _values(code, p_scale))
    rows["q"][kept] = _values(listed["q"], q_scale)
    is_draft = kept & (rows["tokens"] == _drafts(table))
    for name in ("p", "q"):
        rows[name] = np.where(is_draft, heads[name][:, None], rows[name])
    return rows


def as_stored(table: StepTable) -> np.ndarray:
    """Return the table's rejections as they are read back from its file."""
    return restored(rounded(table), table)


def _drafts(table: StepTable) -> np.ndarray:
    """Return the draft x of each rejection [N, 1]."""
    drafts: np.ndarray = table.positions["draft"][table.rejecting, None]
    return drafts


def _scales(heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the scales with which p and q of each rejection are rounded, each [N].

    A smaller scale means finer steps. Each scale is a power of 2 times P_SCALE or Q_SCALE. The
    power is the largest that is not above q(x), or LEAST for a smaller q(x). If p(x) = 0, GSD does
    not rank tokens around x. Then p needs no finer steps than q, and has q's scale.
    """
    power = (np.maximum(heads["q"], LEAST).view("<u4") & _EXPONENT).view("<f4")
    q_scale = power * Q_SCALE
    return np.where(heads["p"] > 0, power * P_SCALE, q_scale), q_scale


def _codes(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the codes (u2) that store the probabilities `values`, rounded at scales `scale`.

    These codes are not tokens: each stands for a rounded probability.
    """
    bits = (values.clip(0) + scale).view("<u4") - scale.view("<u4")
    codes: np.ndarray = (bits + (1 << _DROPPED - 1) >> _DROPPED).astype("<u2")
    return codes


def _values(codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the exact float32 values that `codes` stand for, at scales `scale`."""
    bits = (codes.astype("<u4") << _DROPPED) + scale.view("<u4")
    values: np.ndarray = bits.view("<f4") - scale
    return values
