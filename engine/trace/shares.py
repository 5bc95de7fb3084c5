"""Shares: numbers from 0 to 1, stored in a u16 as round(65534 x); NONE stands for no number."""

from __future__ import annotations

import numpy as np

ONE, NONE = 2**16 - 2, 2**16 - 1  # the share of 1; what a u16 holds where there is no number


def quantise(values: np.ndarray) -> np.ndarray:
    """Return numbers from 0 to 1 as shares (u16); NaN becomes NONE."""
    return np.where(np.isnan(values), NONE, np.rint(values.clip(0, 1) * ONE)).astype("<u2")


def quantise_test(acceptance: np.ndarray, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return acceptance probabilities and uniform numbers as shares that compare as the numbers do.

    If rounding would change a test's outcome, its uniform number moves by one unit.
    """
    accepted, a, u = uniform < acceptance, quantise(acceptance), quantise(uniform)
    a = np.where(accepted, np.maximum(a, 1), a)
    u = np.where(accepted, np.minimum(u, a - 1), u)
    return a, np.where(uniform >= acceptance, np.maximum(u, a), u).astype("<u2")


def share_values(shares: np.ndarray) -> np.ndarray:
    """Return shares as float64; NONE becomes NaN."""
    return np.where(shares == NONE, np.nan, shares / ONE)
