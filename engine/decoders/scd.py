"""Speculative coupled decoding (So et al., ICML 2026): SJD with coupled redraws.

A redrawn draft is coupled with the draft that it replaces.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings, window_knob
from engine.decoders.sjd_plus_plus import keep_above, kept_above, tau_knob
from engine.decoders.speculate import chain_acceptance, keep_coupled, speculate
from engine.numerics.randomness import Purpose
from engine.settings import knob


@dataclass(frozen=True, slots=True)
class SCDSettings(SpeculativeSettings):
    """SCD's settings.

    The default window is L = 32: SJD gains nothing beyond L = 16, but SCD gains up to L = 64.
    """

    window: int = window_knob(32)
    coupling: str = knob(
        "gumbel",
        "What keeps a redrawn guess the same: one noise for all passes, keeping what fits, or"
        " keeping what is above a threshold, as SJD++ does.",
        choices=("gumbel", "maximal", "threshold"),
    )
    tau: float = tau_knob(needs=("coupling", "threshold"))


class SCD(JacobiWindowDecoder):
    """Verifies as SJD does, and redraws later drafts so that most of them stay the same.

    The draft x ~ q of position i is redrawn with the newer p of that position. The new draft is a
    sample of the draft's next q, which is p unless `coupling` = threshold. `coupling` says what
    the new draft is:

    * `gumbel`: argmax_v log p(v) + G_i(v). G_i is the Gumbel noise with which vanilla AR draws
      position i; it is the same in every pass. The draft stays with probability at least
      (1 - TV) / (1 + TV), where TV is TV(p, q).
    * `maximal`: x with probability min(1, p(x) / q(x)), else a sample of the residual R(p, q). The
      draft stays with probability 1 - TV, the most that one redraw allows.
    * `threshold`: x if p(x) > tau q(x), else a sample of p. The next q is the distribution of the
      new draft (`kept_above`). SJD++ keeps the same drafts, but takes p as the next q, which is not
      lossless.

    SCD is lossless. Three things depend on the tokens and numbers of earlier positions alone: which
    passes redraw position i, from which distributions they do so, and which pass verifies it. G_i
    and the coupling's numbers are used at position i only. Given all earlier positions, a draft is
    therefore a sample of its q, however it is coupled with the drafts before it. So SJD's test,
    with fresh numbers, commits a sample of p.

    G_i may draw all drafts of a position, and the bonus token too, because no draft of that
    position was tested. G_i may not draw the replacement of a rejected draft, because G_i drew the
    rejected draft itself.
    """

    name, title = "scd", "SCD"
    idea = "SJD whose guesses change only as far as their distributions do."
    paper = "So et al., Speculative Coupled Decoding, ICML 2026 (arXiv 2510.24211)"
    badge = Badge.SAME_DISTRIBUTION
    Settings = SCDSettings
    settings: SCDSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        coupling, samples = self.settings.coupling, None
        if coupling == "gumbel":
            samples = (p.log() + state.gumbel(len(p))).argmax(-1)
        verification = speculate(state, window, p, chain_acceptance(window, p), samples=samples)
        if coupling == "maximal":
            u = state.uniform(Purpose.COUPLING, len(p), 2)
            return keep_coupled(state, window, p, verification, u)
        if coupling == "threshold":
            has_draft = state.offsets(len(p)) < state.room.clamp_max(len(p) - 1)
            kept = kept_above(p, window.q, self.settings.tau)
            verification.q = torch.where(has_draft[:, None], kept, p)
            return keep_above(state, window, p, verification, self.settings.tau)
        return verification
