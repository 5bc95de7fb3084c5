from __future__ import annotations

import pytest
import torch

from engine.models.supply.card import CARDS
from engine.race import passes
from engine.race.passes import lane_seconds, pass_seconds
from engine.race.request import parse_lane

CARD = CARDS["janus-pro-1b"]


@pytest.mark.parametrize(
    ("lane", "rows"),
    [
        *(("ar", 1), ("scd", 32), ("sjd:window=8", 8), ("sjd-pac", 64)),
        *(("rows", 96), ("rows:window=2", 48), ("rows:window=50", 50)),
    ],
)
def test_a_lane_takes_a_pass_of_its_window_for_each_token(monkeypatch, lane, rows) -> None:
    """With both rows of guidance."""
    monkeypatch.setattr(passes, "_seconds_a_weight", lambda dtype, rows: rows / 2**40)
    seconds = lane_seconds(CARD, torch.bfloat16, parse_lane(lane))
    assert seconds == 576 * 1_230_000_000 * 2 * rows / 2**40


def test_a_row_takes_as_long_as_its_inputs(monkeypatch) -> None:
    monkeypatch.setattr(passes, "_seconds_a_weight", lambda dtype, rows: rows / 2**40)
    card = CARDS["randar-l"]
    assert pass_seconds(card, torch.float32, 3) == card.layers * 2 * 2 * 3 / 2**40


def test_a_pass_is_timed_once(monkeypatch) -> None:
    monkeypatch.setattr(passes, "_WEIGHT", (64, 64))
    passes._seconds_a_weight.cache_clear()
    seconds = {pass_seconds(CARD, torch.float32, 3) for _ in range(5)}
    passes._seconds_a_weight.cache_clear()
    assert len(seconds) == 1
    assert 0 < seconds.pop() < float("inf")
