"""Static shapes: with windows that keep their width to the image's end, captured as graphs or not,
every decoder records the very steps that it records with windows that shrink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.core import Plan, Verification, Window
from engine.decoders import DECODERS, WHOLE
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import INIT_SCHEMES
from engine.decoders.recorder import StepRecorder
from engine.graphs import Captures
from engine.models.base import planned
from engine.models.slots import Slot
from engine.trace import Step
from engine.trace.steps import recorded
from tests.engine.recorded_graph import capture_toy
from tests.infill_toys import NeighbourToy
from tests.variants import further
from tools.judge.toys import Toy, ToyContext, infilling

# Every decoder is tested with its defaults; these are further settings.
KNOBS: dict[str, list[dict[str, object]]] = {
    "sjd": [
        *({"window": 7, "init": init} for init in INIT_SCHEMES),
        {"window": 2},
        {"window": 40, "fresh": "uniform"},
        {"window": 7, "verification": "block"},
    ],
    "fpi": [{"window": 6}],
    "jacobi": [{"window": 6}],
    "scd": [
        {"window": n, "coupling": name}
        for n in (2, 6)
        for name in ("gumbel", "maximal", "threshold")
    ],
    "sjd-plus-plus": [{"window": 6, "fresh": "uniform"}],
    "sjd-relaxed": [
        {"window": 6, "relax": relax}
        for relax in ("amplify", "add", "anneal", "entropy", "typical", "runs")
    ],
    "gsd": [{"window": 6, "G": 3}, {"window": 9, "G": 14}],
    "lantern": [
        {"drafter": "jacobi", "window": 6, "delta": 0.3},
        {"depth": 4},  # the drafter reads as many tokens as were committed
        {"drafts": "tree", "depth": 3, "width": 2, "nodes": 7, "delta": 0.3},
    ],
    "sjd-pac": [
        {"window": 20, "K": 2, "D": 3},
        {"window": 16, "K": 3, "D": 2, "AC": False},
        {"window": 9, "K": 1},
        {"window": 12, "K": 2, "D": 3, "AC": False, "verification": "traversal"},
    ],
    "auto-correct": [{"rounds": 1}, {"rounds": 2}, {"rounds": 9}],
    "zipar": [{"s": 1}, {"s": 2}, {"s": 9}],
    "rows": [
        {"c": 1, "window": 2, "draws": "fresh"},
        {"c": 2, "window": 3},
        {"c": 2, "window": 9, "lower_rows": "postponed"},
        {"c": 1, "window": 4, "reading": "code"},
        {"c": 3, "window": 4, "lower_rows": "postponed", "reading": "code", "draws": "fresh"},
        {"c": 256},
    ],
    "assd": [{"k": 3}, {"k": 3, "drafts": "n-gram"}],
}
CASES = [(name, settings) for name in DECODERS for settings in [{}, *KNOBS.get(name, [])]]
GRID = (3, 4), True  # with forced tokens, on which all settings are tested
OTHER_GRIDS = [((4, 5), False), ((1, 2), False), ((1, 1), False)]


def model_of(name: str, grid: tuple[int, int], forced: bool) -> tuple[Toy, Plan]:
    """With forced tokens; or, where the decoder races on infillings alone, with known cells."""
    if not DECODERS[name].infills:
        toy = Toy(grid, 8, forced=forced)
        return toy, toy.plan
    mask = [not (forced and cell % 3 == 1) for cell in range(grid[0] * grid[1])]
    return planned(NeighbourToy(grid, 8), infilling(mask, "spread", 8))


def steps(
    name: str,
    settings: dict[str, object],
    model: Toy,
    plan: Plan,
    how: str = "shrinking",
    seed: int = 0,
) -> list[Step]:
    model.static = how != "shrinking"
    model.captures = Captures(lambda: capture_toy) if how == "captured" else None
    decoder = DECODERS[name](model, DECODERS[name].Settings(**settings), plan=plan)
    with torch.inference_mode():
        return list(decoder.steps("", seed))


def keep_contexts(model: Toy) -> None:
    """A toy's captured pass is that of its context: a slot has one for each plan, used again."""
    start, contexts = model.start, {}

    def again(prompt: str, guidance: float, guided: int, plan: Plan, slot: Slot) -> ToyContext:
        new = start(prompt, guidance, guided, plan)
        context = contexts.setdefault((slot, plan), new)
        vars(context).update(vars(new))
        return context

    model.start = again


@pytest.mark.parametrize(
    ("name", "settings", "grid", "forced"),
    [
        *((name, settings, *GRID) for name, settings in CASES),
        *further(*((name, {}, *grid) for name in DECODERS for grid in OTHER_GRIDS)),
    ],
)
def test_static_shapes_change_nothing(
    name: str, settings: dict[str, object], grid: tuple[int, int], forced: bool
) -> None:
    model, plan = model_of(name, grid, forced)
    expected = steps(name, settings, model, plan)
    assert expected[-1].after == plan.length
    keep_contexts(model)
    for how, seed in (("padded", 0), ("captured", 1), ("captured", 0)):  # the last one is replayed
        found = steps(name, settings, model, plan, how, seed)
        if seed == 0:
            assert recorded(found) == recorded(expected), how


# No copy that waits


class WithoutValues(Toy):
    """A toy on the meta device, whose tensors have no values: reading one on the host raises."""

    def __init__(self, *, forced: bool) -> None:
        super().__init__((4, 5), 64, forced=forced)
        self.device = torch.device("meta")
        self.static = True
        self.drafter = DrafterWithoutValues()
        self.codebook = self.codebook.to(self.device)

    def forward(self, ctx: object, tokens: Tensor, *_: object) -> Tensor:
        return torch.empty(len(tokens), 64, device=self.device)


class DrafterWithoutValues:
    def extend(self, ctx: object, rows: Sequence[int], tokens: Tensor) -> Tensor:
        return torch.empty(64, device="meta")

    def next(self, ctx: object, token: Tensor) -> Tensor:
        return torch.empty(64, device="meta")


# LANTERN's tree is known to the host, which waits for it and walks it.
WITHOUT_WAITS = [
    (name, settings)
    for name, settings in CASES
    if name in WHOLE and settings.get("drafts") != "tree"
]


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The copies to the device, by `Tensor.to` or from Python's numbers."""
    made: list[str] = []
    real_to, real_tensor = Tensor.to, torch.tensor

    def to(tensor: Tensor, *args: object, **kwargs: object) -> Tensor:
        moved = real_to(tensor, *args, **kwargs)
        if moved.device != tensor.device:
            made.append(f"to {tuple(tensor.shape)}")
        return moved

    def tensor(values: object, **kwargs: object) -> Tensor:
        made.append(f"tensor {values}")
        return real_tensor(values, **kwargs)

    monkeypatch.setattr(Tensor, "to", to)
    monkeypatch.setattr(torch, "tensor", tensor)
    return made


def plainly(part: str, key: object, function: Callable[..., Any], *inputs: Any) -> Any:
    return function(*inputs)


@pytest.mark.parametrize(
    ("name", "settings", "forced"),
    [
        *((name, settings, True) for name, settings in WITHOUT_WAITS),
        *further(*((name, {}, False) for name in WHOLE)),
    ],
)
def test_nothing_is_copied_between_host_and_device_within_a_step(
    copies: list[str], name: str, settings: dict[str, object], forced: bool
) -> None:
    with torch.inference_mode():
        decoder = DECODERS[name](WithoutValues(forced=forced), DECODERS[name].Settings(**settings))
        state = decoder.begin("", 0)
        for count in (1, 3):  # the first window, and one with drafts kept
            copies.clear()
            turn = decoder.take_turn(state, plainly)
            verification = turn.verification
            record = StepRecorder(decoder, state).observe(state, turn.window, verification)
            assert record.flat.device.type == "meta"
            for tensor in (turn.rows.fed, verification.p, verification.tokens, turn.outcome):
                assert tensor.device.type == "meta"
            # A window of one row has no draft, and its first pass begins one row.
            count = 1 if name == "zipar" else min(count, len(verification.tokens))
            state.commit(verification, list(range(count)))
    # In the second step: what never changes is there after the first. Where several rows are drawn
    # at once, it ends with what the next one reads, which the host has laid out.
    assert len(copies) == (name in ("zipar", "rows")), copies


def test_reading_a_value_on_the_host_is_noticed() -> None:
    class Reads(DECODERS["sjd"]):
        def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
            verification = super().verify(state, window, p)
            verification.tokens[verification.count - 1]  # an index without a dimension
            return verification

    with torch.inference_mode():
        decoder = Reads(WithoutValues(forced=False))
        state = decoder.begin("", 0)
        with pytest.raises(RuntimeError, match=r"item\(\) cannot be called on meta tensors"):
            decoder.take_turn(state, plainly)
