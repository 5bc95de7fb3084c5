"""Parameters that `make test-exact` alone tries."""

from __future__ import annotations

import pytest


def further(*values: object) -> list[object]:
    """A parameter of each value, or of each tuple of values, with the mark `exact`."""
    every = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*each, marks=pytest.mark.exact) for each in every]
