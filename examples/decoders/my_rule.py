"""Your own decoder as a lane beside the published ones: SJD, written out.
`PHOTO_FINISH_DECODERS=examples/decoders/my_rule.py make run` puts it on the page."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, JacobiWindowSettings, window_knob
from engine.decoders.speculate import chain_acceptance, speculate


@dataclass(frozen=True, slots=True)
class MySettings(JacobiWindowSettings):
    window: int = window_knob(24)


class MyRule(JacobiWindowDecoder):
    name, title = "my-rule", "My rule"
    idea = "Accepts a guess with min(1, p / q), else draws what p has more than q."
    paper = "Leviathan et al., ICML 2023, Alg. 1"
    badge = Badge.SAME_DISTRIBUTION
    Settings = MySettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        return speculate(state, window, p, chain_acceptance(window, p))
