"""Grouped speculative decoding (So et al., 2025): SJD that accepts a token if its group's mass is
right."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.decoders.base import Badge
from engine.decoders.refill import RefillDecoder, RefillSettings
from engine.decoders.run import Run
from engine.decoders.speculate import ratio, speculate
from engine.decoders.verdict import Evidence, Verdict, Window
from engine.distributions import gather, residual
from engine.settings import knob
from engine.trace.steps import TOP

CODE_HALF = 7  # the released code has no G: it takes ranks idx - 7 to idx + 6


@dataclass(frozen=True, slots=True)
class GSDSettings(RefillSettings):
    """G = 10, d = 0.5 and delta = 0.15 are the paper's (Sec. 5). The published d is a squared
    distance of one model's embeddings and means nothing elsewhere: here distances are squared L2 in
    the codebook, scaled so that an average pair is 0.5 apart."""

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


class GSD(RefillDecoder):
    """Around the draft x, tokens are sorted by p and those of ranks [rank(x) - G // 2, rank(x) + G
    // 2) taken, less those too far from x in the codebook (d) or in probability (delta): the group
    C. Accept x with probability min(1, sum_C p / sum_C q) (Alg. 3 and 5); refuse as SJD does. The
    law changes: groups are centred on the draft."""

    name, title, order = "gsd", "GSD", 4
    idea = "A guess passes if tokens much like it are as likely together as they were in the draft."
    paper = "So et al., Grouped Speculative Decoding, ICCV 2025"
    badge = Badge.CHANGED_DISTRIBUTION
    Settings = GSDSettings

    def judge(self, run: Run, window: Window, p: Tensor) -> Verdict:
        acceptance = group_acceptance(
            p[:-1], window.laws, window.drafts, self.model.codebook, self.settings
        )
        verdict = speculate(run, window, p, acceptance, lambda draft, p, q: residual(p, q))
        verdict.explain = lambda: group_evidence(
            p[:-1], window.laws, window.drafts, self.model.codebook, self.settings
        )
        return verdict


def group_acceptance(
    p: Tensor, q: Tensor, x: Tensor, codebook: Tensor, settings: GSDSettings
) -> Tensor:
    """Acceptance probabilities [H] of drafts x [H] under laws p and q [H, V]; codebook [V, D]."""
    members, included = group(p, x, codebook, settings)
    grouped = ratio(
        (p.gather(-1, members) * included).sum(-1), (q.gather(-1, members) * included).sum(-1)
    )
    # a group that would begin before the first rank falls back to SJD's rule
    if settings.reading == "code":
        low = _rank(p.argsort(dim=-1, stable=True), x) < CODE_HALF
        return torch.where(low, ratio(gather(p, x), gather(q, x)), grouped)
    return grouped


def group_evidence(
    p: Tensor, q: Tensor, x: Tensor, codebook: Tensor, settings: GSDSettings
) -> Evidence:
    """Each draft's group, those of nearest rank first; none where the code's reading falls back to
    SJD's rule."""
    members, included = group(p, x, codebook, settings)
    # From x outwards: its own column, the rank below it, the one above it, and so on; who is not in
    # the group comes last.
    size = members.shape[1]
    outwards = (torch.arange(size, device=p.device) - size // 2).abs()
    nearest = torch.where(included, outwards, size).argsort(dim=-1, stable=True)[:, :TOP]
    count = included.sum(-1)
    if settings.reading == "code":
        count = torch.where(_rank(p.argsort(dim=-1, stable=True), x) < CODE_HALF, 0, count)
    return Evidence(
        kin_count=count,
        kin_p=(p.gather(-1, members) * included).sum(-1),
        kin_q=(q.gather(-1, members) * included).sum(-1),
        kin_tokens=torch.where(included, members, -1).gather(-1, nearest),
    )


def group(p: Tensor, x: Tensor, codebook: Tensor, settings: GSDSettings) -> tuple[Tensor, Tensor]:
    """The group of each draft: tokens [H, size] and whether each is in it, bool [H, size]; x itself
    always is."""
    code = settings.reading == "code"
    half = CODE_HALF if code else settings.G // 2
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
    """Where token x [H] stands in order [H, V]."""
    return (order == x[:, None]).int().argmax(-1)
