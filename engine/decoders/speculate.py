"""Speculative verification of a chain (Leviathan et al. 2023, Alg. 1, as SJD, GSD and LANTERN use
it)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.decoders.run import Run
from engine.decoders.verdict import Verdict, Window
from engine.distributions import sample
from engine.randomness import Purpose
from engine.trace import Status


def leading(passed: Tensor) -> Tensor:
    """How many of bool [H] are true before the first that is not (0-dim)."""
    return passed.int().cumprod(0).sum()


def padded(values: Tensor, fill: float) -> Tensor:
    """[H] to [H + 1]: the last row of a window has no draft."""
    return torch.cat([values, values.new_full((1,), fill)])


def outcome(first: Tensor, drafts: int, device: torch.device) -> Tensor:
    """Status [H + 1] of a chain of H drafts whose first refused one is number `first` (H: none
    was)."""
    i = torch.arange(drafts + 1, device=device)
    status = torch.where(i < first, int(Status.ACCEPTED), int(Status.REFINED))
    return torch.where(
        i == first, torch.where(first < drafts, int(Status.RESAMPLED), int(Status.FRESH)), status
    )


def speculate(
    run: Run,
    window: Window,
    p: Tensor,
    acceptance: Tensor,
    refused: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> Verdict:
    """Accepts drafts in order, each with its `acceptance` [H]; the first refused one is replaced by
    a draw from `refused(draft, p, q)` ([1], [1, V], [1, V] to [1, V]), or, if none was, the last
    row gives one more token. What lies behind is redrawn from its newer law, which from then on is
    its q (SJD, Eq. 1 to 3)."""
    drafts = window.drafts
    u = run.noise.uniform(Purpose.VERIFY, run.positions(len(p)), run.step, 3)
    first = leading(u[:-1, 0] < acceptance)
    tokens = torch.where(
        torch.arange(len(p), device=p.device) < first, padded(drafts, 0), sample(p, u[:, 2])
    )
    if len(drafts):
        at = first.clamp_max(len(drafts) - 1).view(1)
        replacement = sample(refused(drafts[at], p[at], window.laws[at]), u[at, 1])
        tokens[at] = torch.where(first < len(drafts), replacement, tokens[at])
    status = outcome(first, len(drafts), p.device)
    tested = torch.arange(len(p), device=p.device) <= first.clamp_max(len(drafts) - 1)
    uniform = torch.where(tested, u[:, 0], torch.nan)
    return Verdict(
        first + 1, tokens, p, status, padded(drafts, -1), p, padded(acceptance, torch.nan), uniform
    )


def ratio(p: Tensor, q: Tensor) -> Tensor:
    """min(1, p / q), the acceptance probability of every speculative rule; no legal draft has q =
    0."""
    return (p / q.clamp_min(1e-30)).clamp_max(1)
