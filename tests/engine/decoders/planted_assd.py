"""ASSD with one bug each, which the exact enumeration must catch."""

from __future__ import annotations

from torch import Tensor

from engine.core import Verification, Window
from engine.decoders import assd, speculate
from engine.decoders.assd import ASSD
from engine.decoders.decode_state import DecodeState
from engine.numerics.randomness import Purpose
from engine.trace import Status
from tests.engine.decoders.planted import Spoilt


def replaced_from_p(draft: Tensor, p: Tensor, q: Tensor) -> Tensor:
    return p


class ResampledFromP(ASSD):
    """A rejected draft is resampled from p."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if window.parents is not None:
            return super().verify(state, window, p)
        acceptance = assd.chain_acceptance(window, p)
        return speculate.speculate(state, window, p, acceptance, replaced_from_p, redraws=False)


class TolerantAcceptance(ASSD):
    """Accepts with min(1, p / q + 0.1) (App. F.4)."""

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        if window.parents is not None:
            return super().verify(state, window, p)
        acceptance = (assd.chain_acceptance(window, p) + 0.1).clamp_max(1.0)
        return speculate.speculate(state, window, p, acceptance, redraws=False)


class UniformQ(ASSD):
    """Drafts are verified as if drawn from a uniform distribution."""

    def propose(self, state: DecodeState) -> Window:
        window = super().propose(state)
        window.q[:-1] = 1 / window.q.shape[-1]
        return window


class NextRowsQ(ASSD):
    """Each draft is verified with the q of the one behind it."""

    def propose(self, state: DecodeState) -> Window:
        window = super().propose(state)
        if window.parents is None:
            window.q[:-1] = window.q[:-1].roll(-1, 0)
        return window


class BonusFromQ(Spoilt, ASSD):
    """A chain of drafts all accepted is followed by a sample of its last draft's q."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        count = len(window.drafts) - 1
        full = window.parents is None and int(v.count) == count
        if full and int(state.room) >= count and v.status[count - 1] == Status.ACCEPTED:
            u = state.uniform(Purpose.FRESH, 1, 1)[:, 0]
            v.tokens[count] = speculate.sample(window.q[count - 1 : count], u)[0]
            v.count = v.count + 1


class RejectedKept(Spoilt, ASSD):
    """A rejected draft is committed all the same."""

    def spoil(self, v: Verification, state: DecodeState, window: Window, p: Tensor) -> None:
        if window.parents is None:
            v.tokens[: len(window.drafts) - 1] = window.drafts[:-1]
