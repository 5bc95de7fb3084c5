"""A model's decoding with static shapes, its steps captured, against windows that shrink."""

from __future__ import annotations

import torch

from engine.decoders import DECODERS
from engine.models.base import ImageModel
from tests.engine.recorded_graph import capture

SETTINGS = {
    "ar": {},
    "fpi": {"window": 5},
    "sjd": {"window": 6, "init": "vertical repeat"},
    "scd": {"window": 6},
    "gsd": {"window": 6, "G": 4},
    "lantern": {"drafter": "jacobi", "window": 5},
    "sjd-pac": {"window": 16, "K": 2, "D": 3},
}


def static_differences(model: ImageModel, prompt: str) -> dict[str, tuple[list[int], list[int]]]:
    """By decoder, the tokens of either where they are not the same."""
    decoders = {
        name: DECODERS[name](model, DECODERS[name].Settings(**settings))
        for name, settings in SETTINGS.items()
    }
    shrinking = {name: decoder.generate(prompt, 5) for name, decoder in decoders.items()}
    model.static, model.capture = True, lambda: capture
    try:
        captured = {name: decoder.generate(prompt, 5) for name, decoder in decoders.items()}
    finally:
        model.static, model.capture = False, None
    assert torch.tensor(list(captured.values())).shape == (len(SETTINGS), model.length)
    return {
        name: (shrinking[name], captured[name])
        for name in SETTINGS
        if shrinking[name] != captured[name]
    }
