"""The window loop's bookkeeping: what it keeps, refreshes and fills up."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import Tensor

from engine.decoders.decode_state import DecodeState, Verification, Window
from engine.decoders.fpi import FixedPoint
from engine.decoders.gsd import GSD
from engine.decoders.jacobi import Jacobi
from engine.decoders.sjd import SJD
from engine.decoders.window import WindowDecoder
from tests.engine.decoders.driving import ACCEPT, REJECT, TOY, FixedNoise, point_mass, verify_chain
from tests.toy import Toy


class KeepsWindows(SJD):
    """Keeps its windows and their p."""

    def __init__(self, model: Toy, window: int) -> None:
        super().__init__(model, SJD.Settings(window=window))
        self.windows: list[Window] = []
        self.p: list[Tensor] = []

    def propose(self, state: DecodeState) -> Window:
        self.windows.append(super().propose(state))
        return self.windows[-1]

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        self.p.append(p)
        return super().verify(state, window, p)


class KeepsRows(Toy):
    """Keeps which rows each step kept."""

    def keep(self, ctx: object, rows: list[int], frontier: int) -> None:
        self.kept = [*getattr(self, "kept", []), list(rows)]
        super().keep(ctx, rows)


def two_steps(
    monkeypatch: pytest.MonkeyPatch, accept: list[bool]
) -> tuple[KeepsWindows, KeepsRows]:
    """Two steps of SJD with L = 6, whose drafts pass as said."""
    u = [[ACCEPT if ok else REJECT, 0.4, 0.6] for ok in accept] + [[0.5, 0.4, 0.6]]
    # so that every row of the window has a distribution of its own
    noise = FixedNoise(verify=u, fresh=[[0.1], [0.6], [0.3], [0.9], [0.9], [0.1]])
    monkeypatch.setattr("engine.decoders.decode_state.Noise", lambda seed, device: noise)
    toy = KeepsRows((3, 4), 4)
    decoder = KeepsWindows(toy, 6)
    steps = decoder.steps("", 0)
    next(steps), next(steps)
    steps.close()
    return decoder, toy


def test_a_rejection_commits_keeps_refreshes_and_fills_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """First failure at the third draft: 3 tokens committed, rows root, d1, d2 kept, y3 .. y5 with q
    = p3 .. p5, 2 fresh."""
    decoder, toy = two_steps(monkeypatch, [True, True, False, True, True])
    assert toy.kept[0] == [0, 1, 2]
    first, second = decoder.windows
    assert len(first.drafts) == len(second.drafts) == 5
    assert second.q[:3].equal(decoder.p[0][3:])
    assert second.q[3:].sort(-1).values.tolist() == [[0, 0, 0, 1]] * 2
    assert second.q[3:].argmax(-1).equal(second.drafts[3:])


def test_full_acceptance_commits_a_bonus_and_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, toy = two_steps(monkeypatch, [True] * 5)
    assert toy.kept[0] == [0, 1, 2, 3, 4, 5]
    second = decoder.windows[1]
    assert len(second.drafts) == 5
    assert second.q.argmax(-1).equal(second.drafts)
    assert second.q.amax(-1).tolist() == [1] * 5


def test_forced_tokens_take_their_place_in_the_window() -> None:
    """Rows of 4 codes and an end of line; 3 tokens committed and L = 6: of rows 3 .. 8 only row 1
    is forced (position 4)."""
    toy = Toy((3, 4), 4, forced=True)
    decoder = SJD(toy, SJD.Settings(window=6))
    state = DecodeState(decoder, "", 0)
    state.frontier = 3
    state.n.fill_(3)
    window, fed, positions = decoder._propose(state)
    assert positions.tolist() == [3, 4, 5, 6, 7, 8]
    assert state.forced(positions).tolist() == [False, True, False, False, False, False]
    assert fed[2] == 9  # the draft at position 4 is the end of line itself
    assert window.q[1].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("decoder", [Jacobi, FixedPoint, SJD, GSD])
def test_a_forced_position_never_stops_a_chain(decoder: type[WindowDecoder]) -> None:
    p = torch.stack([point_mass(0, 4)] * 2)
    verification = verify_chain(decoder(TOY), p, point_mass(0, 4), [0], verify=[[1 - 2**-24] * 3])
    assert verification.count == 2


@pytest.mark.parametrize("static", [False, True])
def test_a_lane_that_has_ended_leaves_nothing_to_the_collector(
    monkeypatch: pytest.MonkeyPatch, static: bool
) -> None:
    states = []

    class Kept(DecodeState):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)
            states.append(weakref.ref(self))

    monkeypatch.setattr("engine.decoders.window.DecodeState", Kept)
    model = Toy((2, 3), 4)
    model.static = static
    gc.disable()
    try:
        for decoder in (SJD, FixedPoint):
            decoder(model).generate("", 0)
    finally:
        gc.enable()
    assert [state() for state in states] == [None, None]
