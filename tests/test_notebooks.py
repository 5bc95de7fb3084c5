"""The notebooks in examples/, run as they stand, but for the model."""

from __future__ import annotations

import json

import pytest
from scipy.stats import chi2

from engine import models
from tests.pages import page
from tools.judge.toys import Toy

FAILS = 1e-6  # how often a right notebook would fail, on another seed


def test_acceptance_is_what_the_theory_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a toy whose distributions differ more than the embedded model's do."""
    toy = Toy((12, 12), 16)
    toy.logits *= 3
    monkeypatch.setattr(models, "load", {"embedded": toy}.__getitem__)
    cells = json.loads(page("examples/acceptance.ipynb"))["cells"]
    assert all(not cell["outputs"] for cell in cells if cell["cell_type"] == "code")
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    found = names["found"]
    assert list(found) == ["SJD", "GSD"]
    assert [trace.name for trace in names["figure"].data] == ["1 - TV", *found]
    trials, promise, share, *_ = found["SJD"]
    assert len(trials) == 10
    assert trials.sum() > 400
    # of trials with other chances around their bin's mean it is smaller
    square = trials * (share - promise) ** 2 / (promise * (1 - promise))
    assert square.sum() < chi2.isf(FAILS, len(trials))
    assert share[-1] - share[0] > 0.8
    trials, promise, share, *_ = found["GSD"]
    assert (trials * (share - promise)).sum() > 0
