"""The window loop: what never ends a chain, and what a lane leaves. What it keeps,
refreshes and fills up, test_exact.py decodes by."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import Tensor

from engine.core import ContractError, Verification, Window
from engine.decoders.decode_state import DecodeState
from engine.decoders.fpi import FixedPoint
from engine.decoders.gsd import GSD
from engine.decoders.jacobi import Jacobi
from engine.decoders.sjd import SJD
from engine.decoders.window import WindowDecoder
from tests.engine.decoders.driving import TOY, point_mass
from tools.judge.one_pass import verify_chain
from tools.judge.toys import Toy


@pytest.mark.parametrize("decoder", [Jacobi, FixedPoint, SJD, GSD])
def test_a_forced_position_never_stops_a_chain(decoder: type[WindowDecoder]) -> None:
    p = torch.stack([point_mass(0, 4)] * 2)
    verification = verify_chain(decoder(TOY), p, point_mass(0, 4), [0], verify=[[1 - 2**-24] * 3])
    assert verification.count == 2


@pytest.mark.parametrize(
    ("committed", "words"),
    [(0, "position 0 on committed nothing"), (9, "committed 9 tokens, of a picture of 6")],
)
def test_a_pass_that_commits_nothing_or_too_much_ends_the_lane(committed: int, words: str) -> None:
    """It would go on for ever, or behind the picture's end."""

    class Wrong(SJD):
        def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
            verification = super().verify(state, window, p)
            verification.count = torch.full_like(verification.count, committed)
            return verification

    with pytest.raises(ContractError, match=words):
        Wrong(Toy((2, 3), 4)).generate("", 0)


@pytest.mark.parametrize("static", [False, True])
def test_a_lane_that_has_ended_leaves_nothing_to_the_collector(
    monkeypatch: pytest.MonkeyPatch, static: bool
) -> None:
    states = []

    class Kept(DecodeState):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)
            states.append(weakref.ref(self))

    monkeypatch.setattr(WindowDecoder, "State", Kept)
    model = Toy((2, 3), 4)
    model.static = static
    gc.disable()
    try:
        for decoder in (SJD, FixedPoint):
            decoder(model).generate("", 0)
    finally:
        gc.enable()
    assert [state() for state in states] == [None, None]
