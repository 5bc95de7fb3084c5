"""Speculative verification of a chain (Leviathan et al. 2023, Alg. 1), as SJD, GSD and LANTERN use
it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.decoders.window import DecodeState, Verification, Window
from engine.distributions import sample
from engine.randomness import Purpose
from engine.records import Status


def acceptance_probability(p: Tensor, q: Tensor) -> Tensor:
    """min(1, p / q), elementwise; no draft is ever drawn with q = 0."""
    return (p / q.clamp_min(1e-30)).clamp_max(1)


def count_leading(accepted: Tensor) -> Tensor:
    """How many of bool [H] are true before the first that is not (0-dim)."""
    return accepted.int().cumprod(0).sum()


def pad_end(values: Tensor, fill: float) -> Tensor:
    """[H] to [H + 1]: the last row of a window has no draft."""
    return torch.cat([values, values.new_full((1,), fill)])


def chain_status(first: Tensor, drafts: int, device: torch.device) -> Tensor:
    """Status [H + 1] of a chain of H drafts whose first rejected one is number `first` (H: none
    was)."""
    i = torch.arange(drafts + 1, device=device)
    status = torch.where(i < first, int(Status.ACCEPTED), int(Status.REFINED))
    return torch.where(
        i == first, torch.where(first < drafts, int(Status.RESAMPLED), int(Status.FRESH)), status
    )


def speculate(
    state: DecodeState,
    window: Window,
    p: Tensor,
    acceptance: Tensor,
    replacement: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> Verification:
    """Accepts drafts in order, draft i with probability `acceptance[i]` (SJD, Eq. 1).

    The first rejected one is resampled from `replacement(draft, p, q)`, of shapes [1], [1, V],
    [1, V] to [1, V], not normalised (Eq. 2); if none is, the last row gives a bonus token. Drafts
    behind are redrawn from p, which becomes their q (Eq. 3).
    """
    drafts = window.drafts
    u = state.noise.uniform(Purpose.VERIFY, state.positions(len(p)), state.step, 3)
    first = count_leading(u[:-1, 0] < acceptance)
    tokens = torch.where(
        torch.arange(len(p), device=p.device) < first, pad_end(drafts, 0), sample(p, u[:, 2])
    )
    if len(drafts):
        at = first.clamp_max(len(drafts) - 1).view(1)
        resampled = sample(replacement(drafts[at], p[at], window.q[at]), u[at, 1])
        tokens[at] = torch.where(first < len(drafts), resampled, tokens[at])
    status = chain_status(first, len(drafts), p.device)
    tested = torch.arange(len(p), device=p.device) <= first.clamp_max(len(drafts) - 1)
    uniform = torch.where(tested, u[:, 0], torch.nan)
    return Verification(
        first + 1,
        tokens,
        p,
        status,
        pad_end(drafts, -1),
        p,
        pad_end(acceptance, torch.nan),
        uniform,
    )
