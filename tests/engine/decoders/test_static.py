"""Static shapes: with windows that keep their width to the image's end, captured as graphs or not,
every decoder records the very steps that it records with windows that shrink."""

from __future__ import annotations

import pytest
import torch

from engine.decoders import DECODERS
from engine.decoders.jacobi_window import INIT_SCHEMES
from engine.decoders.tree import READINGS
from engine.trace import Step
from tests.engine.recorded_graph import capture_toy
from tests.toy import Toy

CASES = [
    ("ar", {}),
    *(("sjd", {"window": 7, "init": init}) for init in INIT_SCHEMES),
    ("sjd", {"window": 2}),
    ("sjd", {"window": 40, "fresh": "uniform"}),
    ("fpi", {"window": 6}),
    ("jacobi", {"window": 6}),
    ("gsd", {"window": 6, "G": 3}),
    ("gsd", {"window": 9, "reading": "code"}),
    ("lantern", {"drafter": "jacobi", "window": 6, "delta": 0.3}),
    ("lantern", {"depth": 4}),
    *(("sjd-pac", {"window": 20, "K": 2, "D": 3, "tree": reading}) for reading in READINGS),
    ("sjd-pac", {"window": 16, "K": 3, "D": 2, "AC": False}),
    ("sjd-pac", {"window": 9, "PD": False}),
    ("sjd-pac", {}),
]
GRIDS = [((4, 5), False), ((3, 4), True), ((1, 2), False), ((1, 1), False)]


def steps(
    name: str, settings: dict[str, object], grid: tuple[int, int], forced: bool, seed: int, how: str
) -> list[Step]:
    model = Toy(grid, 8, forced=forced)
    model.static = how != "shrinking"
    model.capture = capture_toy if how == "captured" else None
    decoder = DECODERS[name](model, DECODERS[name].Settings(**settings))
    with torch.inference_mode():
        return list(decoder.steps("", seed))


def facts(step: Step) -> list[object]:
    """All that is recorded of a step, but not its seconds."""
    return [part.tobytes() for part in (step.positions, step.committed)] + [step.before, step.after]


@pytest.mark.parametrize("how", ["padded", "captured"])
@pytest.mark.parametrize(("grid", "forced"), GRIDS)
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_static_shapes_change_nothing(
    name: str, settings: dict[str, object], grid: tuple[int, int], forced: bool, how: str
) -> None:
    for seed in range(2):
        expected = steps(name, settings, grid, forced, seed, "shrinking")
        found = steps(name, settings, grid, forced, seed, how)
        assert [facts(step) for step in found] == [facts(step) for step in expected]
        assert found[-1].after == Toy(grid, 8, forced=forced).length
