"""Block verification of kept drafts: two lossless parts that are not lossless together.

Block verification (Sun et al., ICLR 2025, arXiv 2403.10444, Alg. 2) requires a pass's drafts to be
independent of one another given their q. SCD's maximal coupling (arXiv 2510.24211) keeps a draft
for the next pass with probability min(1, p / q), where p depends on the drafts before that one. So
which later drafts are kept depends on the earlier ones. In block verification the test of a later
draft decides about earlier drafts too. Here the later draft itself depends on those earlier drafts,
and block verification does not allow for that. Tested one by one, kept drafts are fine: each test
then decides about its own draft alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.block import verify_block
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings, window_knob
from engine.decoders.speculate import keep_coupled
from engine.numerics.randomness import Purpose


@dataclass(frozen=True, slots=True)
class KeptBlockSettings(SpeculativeSettings):
    window: int = window_knob(32)


class KeptBlock(JacobiWindowDecoder):
    name, title = "kept-block", "Block with kept drafts"
    idea = "Keeps the guesses that still fit, and tests them together."
    paper = "Sun et al., ICLR 2025 (arXiv 2403.10444), with So et al., 2026 (arXiv 2510.24211)"
    badge = Badge.SAME_DISTRIBUTION
    Settings = KeptBlockSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        u = state.uniform(Purpose.COUPLING, len(p), 2)
        return keep_coupled(state, window, p, verify_block(state, window, p), u)
