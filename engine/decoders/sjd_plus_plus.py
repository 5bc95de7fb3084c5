"""SJD++ (Teng et al., 2025), as others implement it: SJD that keeps later drafts by a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.core import Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings
from engine.decoders.speculate import chain_acceptance, speculate
from engine.numerics.distributions import gather
from engine.settings import knob


def tau_knob(needs: tuple[str, str] | None = None) -> Any:
    return knob(
        0.5, "A guess stays while p / q is more than this.", low=0.0, high=10.0, needs=needs
    )


@dataclass(frozen=True, slots=True)
class SJDPlusPlusSettings(SpeculativeSettings):
    """SJD++'s settings. Nobody has published a value for `tau`."""

    tau: float = tau_knob()


class SJDPlusPlus(JacobiWindowDecoder):
    """Verifies as SJD does, and keeps a later draft x if p(x) / q(x) > tau, else redraws it from p.

    Either way p becomes the draft's q. But the draft is now no sample of p: tokens with p > tau q
    are kept too often. The next test uses p as the draft's q all the same, so the image's
    distribution changes. The shift of a single test depends on all earlier passes, so no shift is
    recorded. SCD with `coupling` = threshold keeps the same drafts and is lossless.

    The paper's text was not at hand. The rule is read from a third party's code (phymhan/nanochat,
    `generate_sjd`).
    """

    name, title, default = "sjd-plus-plus", "SJD++", False
    idea = "SJD that keeps the guesses of which the model is still sure."
    paper = "Teng et al., SJD++, 2025 (arXiv 2512.07503), as others implement it"
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = SJDPlusPlusSettings
    settings: SJDPlusPlusSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        verification = speculate(state, window, p, chain_acceptance(window, p))
        return keep_above(state, window, p, verification, self.settings.tau)


def keep_above(
    state: DecodeState, window: Window, p: Tensor, v: Verification, tau: float
) -> Verification:
    """Put the draft x back into `v` at each uncommitted position where p(x) > tau q(x); return `v`.

    The other uncommitted positions keep the tokens of `v`, which are samples of p [R, V].
    """
    offsets, room = state.offsets(len(p)), state.room.clamp_max(len(p) - 1)
    later = (offsets >= v.count) & (offsets < room)
    above = gather(p, window.drafts) > tau * gather(window.q, window.drafts)
    v.tokens = torch.where(later & above, window.drafts, v.tokens)
    return v


def kept_above(p: Tensor, q: Tensor, tau: float) -> Tensor:
    """Return the distributions [R, V] of drafts x ~ q after `keep_above`.

    Let c be the probability that a draft is not kept: the sum of q where p <= tau q. After
    `keep_above` the draft is y with probability q(y) + c p(y) where p(y) > tau q(y), else c p(y).
    q(y) counts the drafts that were y and are kept, c p(y) those that are redrawn as y.
    """
    kept = torch.where(p > tau * q, q, 0)
    return kept + (q.sum(-1, keepdim=True) - kept.sum(-1, keepdim=True)) * p
