from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, t

from engine.numerics.intervals import mean, mean_text, student, wilson


def test_a_means_interval_is_students() -> None:
    assert mean([3.0]) == {"mean": 3.0}
    assert [mean_text(mean(values)) for values in ([3], [3, 3])] == ["3.00", "3.00 ± 0.00"]
    two = mean([1.0, 2.0])
    assert two["plus_minus"] == pytest.approx(12.706 * statistics.stdev([1, 2]) / 2**0.5, abs=1e-3)


@pytest.mark.parametrize("freedom", [1, 2, 15, 16, 20, 40, 500])
def test_students_points_are_scipys(freedom: int) -> None:
    assert student(freedom) == pytest.approx(t.ppf(0.975, freedom), abs=6e-4)


@given(st.integers(1, 500), st.data())
def test_wilson_agrees_with_scipy(trials: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, trials))
    low, high = wilson(np.array([right]), np.array([trials]))
    known = binomtest(right, trials).proportion_ci(0.95, "wilson")
    assert (low[0], high[0]) == pytest.approx((known.low, known.high), abs=1e-6)
