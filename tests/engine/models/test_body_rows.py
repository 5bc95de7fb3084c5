"""Parallel rows with static shapes, on every family; what each row attends to is in
test_body_rows_traced.py."""

from __future__ import annotations

import pytest
import torch

from engine.decoders.rows import ParallelRows
from engine.graphs import Captures
from engine.models import body
from engine.settings import Sampling
from engine.trace import StepTable
from tests.engine.models.families import NAMES, TINY
from tests.engine.recorded_graph import capture


@pytest.mark.parametrize("name", NAMES)
@torch.inference_mode()
def test_static_shapes_and_captured_steps_change_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through two buckets of the cache and more, and through the end of guidance; again, which
    captures nothing; and with another seed."""
    monkeypatch.setattr(body, "BUCKET", 16)
    tiny = TINY[name]
    sampling = Sampling(guidance=2.0, guided_tokens=7, top_k=8)
    decoder = ParallelRows(tiny.model, ParallelRows.Settings(c=2, window=3), sampling)

    def drawn(seed: int) -> tuple[list[int], bytes]:
        table = StepTable.join([step.rows for step in decoder.steps(tiny.prompts[0], seed)])
        return table.tokens, table.places.tobytes()

    expected = [drawn(seed) for seed in (5, 6)]
    forced = [fixed >= 0 for fixed in tiny.forced_ids]
    for tokens, _ in expected:
        assert all(
            token == fixed if is_forced else token < tiny.card.codes
            for token, fixed, is_forced in zip(tokens, tiny.forced_ids, forced, strict=True)
        )
    monkeypatch.setattr(tiny.model, "static", True)
    assert drawn(5) == expected[0]
    monkeypatch.setattr(tiny.model, "captures", Captures(lambda: capture))
    for seed in (5, 6, 5):
        assert drawn(seed) == expected[seed - 5]
