"""The bench of large grids, on small ones."""

from __future__ import annotations

import json

import pytest

from tests.tools.bench.test_bench import run_bench
from tools.bench import grids


def test_the_figures_are_those_of_the_lanes_and_of_the_grid() -> None:
    lines, err = run_bench("--grids", "3,5", "--lanes", "ar,zipar:s=2,rows:c=2,rows:c=5")
    found = json.loads(lines[-1])["grids"]
    assert list(found) == ["3 x 3", "5 x 5"]
    assert sum(line.startswith(tuple(found)) for line in err) == 8
    for grid, runs in found.items():
        side = int(grid[0])
        assert runs["ar"]["passes"] == side**2
        assert runs["ar"]["rows"] == 1
        assert runs["zipar:s=2"]["passes"] == side + (side - 1) * 2
        assert 1 < runs["rows:c=5"]["rows"] <= 8
        assert runs["rows:c=5"]["shift"] == pytest.approx(0, abs=1e-4)
        assert side <= runs["rows:c=2"]["passes"] <= runs["rows:c=5"]["passes"] <= side**2
        assert all(one["milliseconds"] > 0 for one in runs.values())
    card = [line for line in lines if line.startswith("| 5 x 5 | rows:c=2 |")]
    assert f"| {found['5 x 5']['rows:c=2']['passes']} |" in card[0]


def test_the_weights_are_the_same_at_every_call() -> None:
    one, other = (grids.random_model(3).network.lm_head.weight for _ in range(2))
    assert one.equal(other)
