"""95% intervals: Student's t for a mean, Wilson's score interval for a share."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np

NORMAL = 1.959964  # the two-sided 95% point of the normal distribution
# The two-sided 95% points of Student's t for 1, 2, .. degrees of freedom.
_T = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
)


def student(freedom: int) -> float:
    """Return the two-sided 95% quantile of Student's t with `freedom` degrees of freedom, to 1e-3.

    For few degrees of freedom the quantile is in a table. Beyond the table it is an expansion in
    the normal distribution's quantile (Abramowitz & Stegun 26.7.5).
    """
    if freedom <= len(_T):
        return _T[freedom - 1]
    z, n = NORMAL, freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )


def mean(values: Sequence[float]) -> dict[str, float]:
    """Return {"mean": .., "plus_minus": ..}: the mean and the half-width of its 95% interval.

    A single value has no half-width, so that key is missing.
    """
    n, estimate = len(values), {"mean": round(statistics.fmean(values), 4)}
    if n > 1:
        spread = student(n - 1) * statistics.stdev(values) / math.sqrt(n)
        estimate["plus_minus"] = round(spread, 4)
    return estimate


def mean_text(estimate: Mapping[str, float]) -> str:
    """Return the result of `mean` as text: "3.00 ± 0.04"."""
    known = f" ± {estimate['plus_minus']:.2f}" if "plus_minus" in estimate else ""
    return f"{estimate['mean']:.2f}{known}"


def wilson(right: np.ndarray, trials: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper ends of Wilson's intervals for the shares `right / trials`.

    Where a share is NaN, both ends of its interval are NaN.
    """
    share, z2 = right / trials, NORMAL**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = NORMAL / (1 + z2 / trials) * np.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    return (middle - half).clip(0), (middle + half).clip(None, 1)
