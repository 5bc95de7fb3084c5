"""Knobs that say that they need another really do nothing without it."""

from __future__ import annotations

import pytest
import torch

from engine.decoders import DECODERS
from engine.race.request import parse_value
from engine.settings import knobs
from tools.judge.toys import Toy

OTHER = {"eagle": "jacobi", "jacobi": "eagle", "chain": "tree", "tree": "chain"}
OTHER |= {"delta": "lambda", "lambda": "delta", "add": "amplify"}
OTHER |= {"entropy": "amplify", "typical": "amplify", "threshold": "gumbel"}
NEEDY = [
    (name, *knob)
    for name, decoder in DECODERS.items()
    for knob in knobs(decoder.Settings)
    if knob[1].needs
]


@pytest.mark.parametrize(("decoder", "name", "spec", "default"), NEEDY)
def test_a_knob_without_what_it_needs_does_nothing(decoder, name, spec, default) -> None:
    other, value = spec.needs
    kind = DECODERS[decoder]
    known = {found: (each, standard) for found, each, standard in knobs(kind.Settings)}
    assert parse_value(known[other][1], value) in known[other][0].choices
    others = spec.choices or (default - 1 if default - 1 >= spec.low else spec.high,)
    changed = next(other for other in others if other != default)

    def tokens(**settings: object) -> list[int]:
        decode = kind(Toy((3, 4), 16), kind.Settings(**settings))
        with torch.inference_mode():
            return [token for seed in range(4) for token in decode.generate("", seed)]

    without = {other: OTHER[value]}
    assert tokens(**without) == tokens(**without, **{name: changed})
