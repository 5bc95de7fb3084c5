"""Grouped speculative decoding (So et al., ICCV 2025): SJD that accepts a token by the probability
of its group."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.jacobi_window import JacobiWindowDecoder, SpeculativeSettings
from engine.decoders.speculate import acceptance_probability, speculate
from engine.decoders.window import DecodeState, Diagnostics, Verification, Window
from engine.distributions import gather, residual
from engine.settings import knob
from engine.trace.steps import TOP

RELEASED_HALF = 7  # the released code has no G: it takes ranks idx - 7 to idx + 6


@dataclass(frozen=True, slots=True)
class GSDSettings(SpeculativeSettings):
    """The paper's: d = 0.5 and delta = 0.15 (Sec. 5), G = 10 (Table 1). Its d is a squared distance
    between one model's embeddings and means nothing elsewhere: here distances are squared L2 in the
    codebook, scaled so that an average pair is 0.5 apart."""

    G: int = knob(
        10,
        "Group size: how many tokens of similar probability stand in for one another.",
        low=1,
        high=100,
    )
    d: float = knob(
        0.5,
        "Leaves out tokens that look different: an average pair of codes is 0.5 apart.",
        low=0.0,
        high=10.0,
    )
    delta: float = knob(
        0.15, "Leaves out tokens whose probability differs by more.", low=0.0, high=1.0
    )
    order: str = knob(
        "ascending",
        "Which neighbour an even group gets more of: less or more probable.",
        choices=("ascending", "descending"),
    )
    reading: str = knob(
        "paper",
        "The rule as the paper states it, or as its released code does it (G is 14 there).",
        choices=("paper", "code"),
    )


class GSD(JacobiWindowDecoder):
    """Sort tokens by p. The group C of a draft x has ranks [rank(x) - G // 2, rank(x) + G // 2),
    without tokens too far from x in the codebook (d) or in probability (delta). Accept x with
    probability min(1, sum_C p / sum_C q); on rejection resample as SJD does (Alg. 3 and 5).

    The distribution changes: groups are centred on the draft, not a partition as in Theorem 1.
    rank(x) is where x itself stands among equal probabilities, so a draft with p(x) = 0 may have
    tokens of top-k in its group and be accepted, which is rare.
    """

    name, title = "gsd", "GSD"
    idea = "A guess passes if tokens much like it are as likely together as they were in the draft."
    paper = "So et al., Grouped Speculative Decoding, ICCV 2025"
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = GSDSettings
    settings: GSDSettings

    def verify(self, state: DecodeState, window: Window, p: Tensor) -> Verification:
        acceptance = group_acceptance(
            p[:-1], window.q, window.drafts, self.model.codebook, self.settings
        )
        verification = speculate(state, window, p, acceptance, lambda draft, p, q: residual(p, q))
        verification.diagnostics = lambda: group_diagnostics(
            p[:-1], window.q, window.drafts, self.model.codebook, self.settings
        )
        return verification


def group_acceptance(
    p: Tensor, q: Tensor, x: Tensor, codebook: Tensor, settings: GSDSettings
) -> Tensor:
    """Acceptance probabilities [H] of drafts x [H] under p and q [H, V]; codebook [V, D]."""
    members, included = group(p, x, codebook, settings)
    grouped = acceptance_probability(
        (p.gather(-1, members) * included).sum(-1), (q.gather(-1, members) * included).sum(-1)
    )
    # The code falls back to SJD's rule where a group would begin before the first rank.
    if settings.reading == "code":
        low = _rank(p.argsort(dim=-1, stable=True), x) < RELEASED_HALF
        return torch.where(low, acceptance_probability(gather(p, x), gather(q, x)), grouped)
    return grouped


def group_diagnostics(
    p: Tensor, q: Tensor, x: Tensor, codebook: Tensor, settings: GSDSettings
) -> Diagnostics:
    """Each draft's group, nearest ranks first; a count of 0 where the code's reading falls back to
    SJD's rule."""
    members, included = group(p, x, codebook, settings)
    # From x outwards: its own column, the rank below it, the one above it, and so on; tokens
    # outside the group come last.
    size = members.shape[1]
    outwards = (torch.arange(size, device=p.device) - size // 2).abs()
    nearest = torch.where(included, outwards, size).argsort(dim=-1, stable=True)[:, :TOP]
    count = included.sum(-1)
    if settings.reading == "code":
        count = torch.where(_rank(p.argsort(dim=-1, stable=True), x) < RELEASED_HALF, 0, count)
    masses = ((dist.gather(-1, members) * included).sum(-1) for dist in (p, q))
    tokens = torch.where(included, members, -1).gather(-1, nearest)
    return Diagnostics(torch.cat([torch.stack([count, *masses], -1), tokens], -1))


def group(p: Tensor, x: Tensor, codebook: Tensor, settings: GSDSettings) -> tuple[Tensor, Tensor]:
    """Tokens [H, size] around each draft's rank, and whether each is in the group, bool [H, size];
    the draft itself always is."""
    code = settings.reading == "code"
    half = RELEASED_HALF if code else settings.G // 2
    order = p.argsort(dim=-1, descending=not code and settings.order == "descending", stable=True)
    offsets = (
        torch.arange(-half, half, device=p.device)
        if half
        else torch.zeros(1, dtype=torch.long, device=p.device)
    )
    ranks = _rank(order, x)[:, None] + offsets
    exists = (ranks >= 0) & (ranks < p.shape[-1])
    members = order.gather(-1, ranks.clamp(0, p.shape[-1] - 1))
    gap = (p.gather(-1, members) - gather(p, x)[:, None]).abs()
    apart = (codebook[members] - codebook[x][:, None]).square().sum(-1) / (
        4 * codebook.var(0, correction=0).sum()
    )
    close = (
        (gap < settings.delta) & (apart < settings.d)
        if code
        else (gap <= settings.delta) & (apart <= settings.d)
    )
    return members, exists & (close | (members == x[:, None]))


def _rank(order: Tensor, x: Tensor) -> Tensor:
    """Index of each token x [H] in order [H, V]."""
    return (order == x[:, None]).int().argmax(-1)
