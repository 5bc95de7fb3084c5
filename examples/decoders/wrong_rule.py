"""A decoder that is wrong on purpose, to learn from: SJD, but a rejected draft is resampled from p.

It looks right: drafts are accepted with SJD's probability, and the model's own sample replaces a
rejected one. But accepted drafts already give token y its share min(p, q)(y), and the rejected
ones, a share TV(p, q), add all of p again. So y is committed with probability
min(p, q)(y) + TV(p, q) p(y) instead of p(y): too often where q has more than p. Only the residual
R(p, q) should be added. `PHOTO_FINISH_DECODERS=examples/decoders/wrong_rule.py make run` puts the
decoder on the page, and its pictures look fine."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, JacobiWindowSettings, window_knob
from engine.decoders.speculate import chain_acceptance, speculate


@dataclass(frozen=True, slots=True)
class WrongSettings(JacobiWindowSettings):
    window: int = window_knob(16)


class WrongRule(JacobiWindowDecoder):
    name, title = "wrong-rule", "Wrong rule"
    idea = "Accepts a guess with min(1, p / q), else draws from p, and should not."
    paper = "none: wrong on purpose"
    badge = Badge.SAME_DISTRIBUTION
    Settings = WrongSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        return speculate(state, window, p, chain_acceptance(window, p), lambda draft, p, q: p)
