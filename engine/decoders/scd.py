"""Speculative coupled decoding (So et al., ICML 2026): SJD whose redrawn drafts are coupled with
those before them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings, window_knob
from engine.decoders.speculate import chain_acceptance, keep_coupled, speculate
from engine.numerics.randomness import Purpose
from engine.settings import knob


@dataclass(frozen=True, slots=True)
class SCDSettings(SpeculativeSettings):
    """L = 32: SJD gains nothing beyond L = 16, SCD up to 64."""

    window: int = window_knob(32)
    coupling: str = knob(
        "gumbel",
        "What keeps a redrawn guess the same: one noise for all passes, or keeping what fits.",
        choices=("gumbel", "maximal"),
    )


class SCD(JacobiWindowDecoder):
    """Verification is SJD's. Behind its end a draft x ~ q becomes a sample of the newer p that is
    mostly x again. `gumbel`: argmax_v log p_i(v) + G_i(v), vanilla AR's G_i in every pass,
    unchanged with probability at least (1 - TV) / (1 + TV). `maximal`: x with probability
    min(1, p(x) / q(x)), else a sample of R(p, q); unchanged with probability 1 - TV, the most that
    one redraw allows.

    It is lossless. Which passes redraw position i, from which distributions, and which pass
    verifies it depend on tokens and numbers of earlier positions alone, and G_i and the coupling's
    numbers are used at position i only. So given all earlier positions a draft is a sample of its
    q, however it is coupled with the drafts before it, and SJD's test commits a sample of p by
    fresh numbers. G_i may serve all drafts of a position, and also the bonus, since no draft of its
    position was tested. It may not serve the replacement of a rejected draft, which was G_i's
    choice."""

    name, title = "scd", "SCD"
    idea = "SJD whose guesses change only as far as their distributions do."
    paper = "So et al., Speculative Coupled Decoding, ICML 2026 (arXiv 2510.24211)"
    badge = Badge.SAME_DISTRIBUTION
    Settings = SCDSettings
    settings: SCDSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        maximal, samples = self.settings.coupling == "maximal", None
        if not maximal:
            samples = (p.log() + state.gumbel(len(p))).argmax(-1)
        verification = speculate(state, window, p, chain_acceptance(window, p), samples=samples)
        if not maximal:
            return verification
        u = state.uniform(Purpose.COUPLING, len(p), 2)
        return keep_coupled(state, window, p, verification, u)
