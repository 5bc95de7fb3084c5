"""SJD with a relaxed test: the baselines of GSD and LANTERN, and the tests of other papers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.core import Groups, Verification, Window
from engine.decoders.base import Badge
from engine.decoders.decode_state import DecodeState
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings
from engine.decoders.runs import verify_runs
from engine.decoders.shift import committed_by_residual
from engine.decoders.speculate import acceptance_probability, speculate
from engine.numerics.distributions import exact, gather
from engine.settings import knob

NU = 0.7  # how fast Cool-SD's factor falls from one draft to the next
LEAST = 0.05  # entropy's s where p is certain, which raises p the most


@dataclass(frozen=True, slots=True)
class RelaxedSettings(SpeculativeSettings):
    """Settings of the relaxations.

    The defaults k = 2 and e = 0.1 are the milder values in GSD's Table 1. The default of `eps` is
    Medusa's, and that of `nats` is from the code of entropy-aware acceptance, about ln 8192. With
    relax = anneal (Cool-SD), `k` is the factor of the window's first draft.
    """

    relax: str = knob(
        "amplify",
        "How p is raised in p / q: times k, plus e, times a factor that falls along the window, or"
        " the more the surer the model is. typical asks p alone, by a threshold; runs tests drafts"
        " together while p does not fall.",
        choices=("amplify", "add", "anneal", "entropy", "typical", "runs"),
    )
    k: float = knob(2.0, "The factor of amplify; where anneal begins.", low=1.0, high=100.0)
    e: float = knob(0.1, "What add adds to p.", low=0.0, high=1.0, needs=("relax", "add"))
    nats: float = knob(
        9.0,
        "The entropy of p, in nats, at which entropy hardly raises p.",
        low=1.0,
        high=100.0,
        needs=("relax", "entropy"),
    )
    eps: float = knob(
        0.09,
        "The most that typical's threshold can be; where p is flat it is less.",
        low=0.0,
        high=1.0,
        needs=("relax", "typical"),
    )


class RelaxedSJD(JacobiWindowDecoder):
    """Accepts a draft x with a raised probability.

    * `amplify`: min(1, k p(x) / q(x)) (GSD, Table 1).
    * `add`: min(1, (p(x) + e) / q(x)) (GSD, Table 1). It also accepts tokens that p rules out.
    * `anneal`: min(1, w_i p(x) / q(x)) with w_i = max(1, k exp(-nu i)) for the window's draft i =
      0, 1, .. and nu = 0.7 (Cool-SD, AAAI 2026, arXiv 2601.09212).
    * `entropy`: min(1, p(x) / (s q(x))) with s = min(1, H(p) / nats + 0.05), where H is the entropy
      in nats (entropy-aware acceptance, NeurIPS 2025, arXiv 2510.09012).
    * `typical`: Medusa's typical acceptance (Cai et al., ICML 2024, arXiv 2401.10774), which
      ignores q. Accept x if p(x) > min(eps, delta exp(-H(p))), where delta is the square root of
      eps; on rejection sample from p.
    * `runs`: SJD-SV's acceptance, which tests several drafts together (see `verify_runs`).

    On rejection all rules except `typical` resample from the residual R(p, q). If a draft is tested
    alone and accepted with probability a, the best replacement is a sample of norm(max(p - q a, 0))
    (Cool-SD). This is R(p, q) if a is nowhere below SJD's acceptance probability. `amplify` with
    k = 1 and `add` with e = 0 are SJD.

    The tests differ from the papers in three ways. Where a draft is rejected, Medusa takes p's
    likeliest token; here the token is sampled. Cool-SD's w_i has a constant factor exp(-mu) whose
    value is not published; here it is 1. Cool-SD's w_i may fall below 1, and then its test rejects
    drafts that SJD accepts, and still commits SJD's distribution. Here w_i stays at least 1.
    """

    name, title, default = "sjd-relaxed", "Relaxed SJD", False
    idea = "SJD with a plainer test, which lets the distribution change."
    paper = (
        "baselines of GSD (Table 1); Cool-SD, AAAI 2026; Medusa, ICML 2024; entropy-aware"
        " acceptance, NeurIPS 2025; SJD-SV, ICML 2026"
    )
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = RelaxedSettings
    settings: RelaxedSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        x = window.drafts
        if self.settings.relax == "typical":
            return self._verify_typical(state, window, p)
        if self.settings.relax == "runs":
            return verify_runs(state, window, p)
        raised = self._raised(gather(p, x), p, state.offsets(len(x)))
        acceptance = acceptance_probability(raised, gather(window.q, x))
        return speculate(state, window, p, acceptance)

    def _verify_typical(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        mass = gather(p, window.drafts)
        threshold = typical_threshold(p, self.settings.eps)[:, 0]
        acceptance = (mass > threshold).to(p.dtype)
        return speculate(state, window, p, acceptance, lambda draft, p, q: p)

    def groups(self, p: Tensor, q: Tensor, x: Tensor) -> Groups | None:
        if self.settings.relax != "typical":
            return None
        mass, threshold = gather(p, x), typical_threshold(p, self.settings.eps)[:, 0]
        return Groups(torch.ones_like(x), torch.stack([mass, threshold], -1), x[:, None])

    def committed(self, p: Tensor, q: Tensor, i: Tensor) -> Tensor:
        if self.settings.relax == "typical":
            accepted = exact(q) * (p > typical_threshold(p, self.settings.eps))
            return accepted + (1 - accepted.sum(-1, keepdim=True)) * exact(p)
        if self.settings.relax == "runs":
            return super().committed(p, q, i)
        p, q = exact(p), exact(q)
        raised = self._raised(p, p, i[:, None])
        return committed_by_residual(p, q, acceptance_probability(raised, q))

    def _raised(self, mass: Tensor, p: Tensor, i: Tensor) -> Tensor:
        """Return the raised `mass`, which replaces p(x) in p(x) / q(x).

        Args:
            mass: p(x) of one token x in each row of p, as [R]; or p itself.
            p: the model's distributions [R, V].
            i: index of each draft in its window, [R] or [R, 1], with as many dimensions as `mass`.
        """
        s = self.settings
        if s.relax == "add":
            return mass + s.e
        if s.relax == "amplify":
            return mass * s.k
        if s.relax == "entropy":
            least = (entropy(p) / s.nats + LEAST).clamp_max(1)
            return mass / least.view_as(i)
        return mass * (s.k * torch.exp(-NU * i)).clamp_min(1)


def entropy(p: Tensor) -> Tensor:
    """Return the entropy in nats of distributions p [R, V], as [R, 1]."""
    total: Tensor = torch.special.entr(p).sum(-1, keepdim=True)
    return total


def typical_threshold(p: Tensor, eps: float) -> Tensor:
    """Return min(eps, sqrt(eps) exp(-H)), as [R, 1]; H is the entropy of each row of p [R, V]."""
    return (math.sqrt(eps) * torch.exp(-entropy(p))).clamp_max(eps)
