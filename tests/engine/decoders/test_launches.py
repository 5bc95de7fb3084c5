"""What a step takes of a GPU beside its forward pass, with windows that keep their width:
docs/performance.md has the table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from engine import clock
from engine.decoders import DECODERS, WHOLE, collect, window
from engine.decoders.recorder import StepRecorder
from tests.engine.decoders.test_static import WithoutValues
from tests.engine.recorded_graph import Recorder
from tests.pages import page, table
from tools.judge.toys import Toy

PARTS = ("propose", "verify", "commit", "record")


def launches(name: str) -> Counter[str]:
    """Of a step with drafts on the meta device: the window's rows, the operations of each part that
    are launched (no views), and the new tensors."""
    found: Counter[str] = Counter()

    def counted(part: str, function: Any, *inputs: Any) -> Any:
        with Recorder(copied=part == "commit") as made:  # no graph is made of it
            result = function(*inputs)
        for operation, _, _, results in made.operations:
            aliases = [each.alias_info for each in operation._schema.returns]
            if any(alias is not None and not alias.is_write for alias in aliases):
                continue  # a view
            new = [each for each in tree_leaves(results) if isinstance(each, Tensor)]
            found["new tensors"] += 0 if any(aliases) else len(new)
            found[part] += "empty" not in operation.name()
        return result

    def step(run: Any) -> None:
        def part_of(part: str, _: object, function: Any, *inputs: Any) -> Any:
            return function(*inputs) if part == "forward" else run(part, function, *inputs)

        turn = decoder.take_turn(state, part_of)
        observe = StepRecorder(decoder, state).observe
        run("record", observe, state, turn.window, turn.verification)
        run("commit", state.commit, turn.verification, [0])
        found["rows"] = len(turn.rows.fed)

    with torch.inference_mode():
        decoder = DECODERS[name](WithoutValues(forced=False))
        state = decoder.begin("", 0)
        step(lambda _, function, *inputs: function(*inputs))  # makes what never changes
        step(counted)
    return found


def waits(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Copies to the host and waits for the device, of every step of a picture."""
    found: Counter[str] = Counter()
    real = clock.StepClock.wait

    def to_host(values: Tensor) -> Tensor:
        found["copies"] += 1
        return clock.to_host(values)

    def wait(self: clock.StepClock) -> None:
        found["waits"] += 1
        real(self)

    for module in (window, collect):
        monkeypatch.setattr(module, "to_host", to_host)
    monkeypatch.setattr(clock.StepClock, "wait", wait)
    model, steps = Toy((4, 5), 8), set()
    model.static = True
    for _ in DECODERS[name](model).steps("", 0):
        steps.add((found["copies"], found["waits"]))
        found.clear()
    (each,) = steps
    return each


@pytest.mark.parametrize("name", WHOLE)
def test_a_step_takes_what_the_documents_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = launches(name)
    parts = [found[part] for part in PARTS]
    expected = [found["rows"], *parts, sum(parts), found["new tensors"], *waits(name, monkeypatch)]
    rows = table(page("docs/performance.md"), "launches of")
    assert [name, *map(str, expected)] == next(
        [name, *counts] for title, *counts, _ in rows if title == DECODERS[name].title
    )
