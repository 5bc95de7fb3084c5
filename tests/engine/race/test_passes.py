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
    """Half way through the picture, of layers as wide as the model's, and its head."""
    timed = []
    monkeypatch.setattr(
        passes, "_seconds_a_weight", lambda dtype, *window: timed.append(window) or 2**-40
    )
    seconds = lane_seconds(CARD, torch.bfloat16, parse_lane(lane))
    assert seconds == 576 * (1_230_000_000 + 16384 * 2048) / 2**40
    assert timed == [(2048, rows, 288)]


def test_a_row_takes_as_long_as_its_inputs(monkeypatch) -> None:
    timed = []
    monkeypatch.setattr(passes, "_seconds_a_weight", lambda *pass_: timed.append(pass_) or 1.0)
    pass_seconds(CARDS["randar-l"], torch.float32, 3)
    assert timed == [(torch.float32, 1024, 6, 256)]


@pytest.mark.parametrize(
    ("name", "width"),
    [("llamagen-b-256", 768), ("llamagen-xl-384", 1280), ("emu3", 4096), ("simplear-512", 896)],
)
def test_the_width_is_taken_from_the_layers_weights(monkeypatch, name, width) -> None:
    monkeypatch.setattr(passes, "_seconds_a_weight", lambda *_: 1.0)
    card = CARDS[name]
    found = (pass_seconds(card, torch.float32, 1) - card.layers) / card.codes
    assert found == pytest.approx(width, rel=0.25)


def test_a_pass_is_timed_once(monkeypatch) -> None:
    monkeypatch.setattr(passes, "_MOST", 2**16)
    monkeypatch.setattr(passes, "_WIDEST", 64)
    passes._seconds_a_weight.cache_clear()
    seconds = {pass_seconds(CARD, torch.float32, 3) for _ in range(5)}
    passes._seconds_a_weight.cache_clear()
    assert len(seconds) == 1
    assert 0 < seconds.pop() < float("inf")
